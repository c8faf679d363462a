"""Plain YAML with a line for every key. Tags, several documents, duplicate keys and bombs are refused."""

from __future__ import annotations

import re

import yaml

from arksim_ci.config.document import KeyPath, dotted
from arksim_ci.config.errors import ConfigError, Problem

MAX_DEPTH = 50
MAX_VALUES = 100_000
"""More values than this, after aliases are filled in, are taken for an alias bomb."""

_Loader: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# The scalars of YAML 1.1 as PyYAML reads them, so that a file means here what it means to ArkSim. Dates and sexagesimal
# numbers stay text; `1e3` is a number.
_BOOLEANS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def load(text: str, source: str) -> tuple[object, dict[KeyPath, int]]:
    """Parse one YAML document.

    Args:
        text: the YAML.
        source: its name in messages.

    Returns:
        The value, and the line (from 1) of each key and list item by its path.

    Raises:
        ConfigError: with the line, where the text is no YAML, or more than plain YAML.
    """
    try:
        _check_events(text, source)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(_syntax_problem(error, text, source)) from error
    reader = _Reader(source)
    value = None if node is None else reader.value(node, (), 1)
    if reader.problems:
        raise ConfigError(*reader.problems)
    return value, reader.lines


def scalar(text: str) -> str | int | float | bool | None:
    """What a plain scalar means.

    Raises:
        ValueError: it is not finite, or a number with too many digits.
    """
    if text in _NULLS:
        return None
    if text.lower() in _BOOLEANS and text in (text.lower(), text.upper(), text.capitalize()):
        return _BOOLEANS[text.lower()]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a finite number")
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        number = float(text.replace("_", ""))
        if abs(number) == float("inf"):
            raise ValueError("the number is too large")
        return number
    return text


def _integer(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if len(digits) > 300:
        raise ValueError("the number has too many digits")
    if digits.startswith(("0b", "0x")):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if digits.startswith("0") else 10)


def _check_events(text: str, source: str) -> None:
    """Refuse, before anything recursive runs, what a plain configuration never holds."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise ConfigError(Problem("a second YAML document begins here (`---`); only one is read", source, line))
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise ConfigError(Problem(f"is nested more than {MAX_DEPTH} levels deep", source, line))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        tag = getattr(event, "tag", None)
        if tag is not None:
            name = tag.replace("tag:yaml.org,2002:", "!!")[:60]
            message = f"YAML tags ({name}) are not supported; write the plain value, in quotes where it is text"
            raise ConfigError(Problem(message, source, line))


def _syntax_problem(error: yaml.YAMLError, text: str, source: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        parts = (error.problem, error.context)
        message = ", ".join(part for part in parts if part) or "no further detail"
        line = None if mark is None else min(mark.line + 1, text.count("\n") + 1)
        if line is not None and re.match(r" *\t", text.split("\n")[line - 1]):
            message += "; indent with spaces, not with a tab"
        return Problem(f"is not valid YAML: {message}", source, line)
    if isinstance(error, yaml.reader.ReaderError):
        found = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]", text)
        line = text.count("\n", 0, found.start()) + 1 if found else None
        return Problem("is not valid YAML: it holds a control character", source, line)
    return Problem("is not valid YAML", source)


class _Reader:
    """Turns nodes into values; keeps lines, and every problem that does not stop the reading."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._count = 0

    def value(self, node: yaml.Node, path: KeyPath, depth: int) -> object:
        self._count += 1
        line = node.start_mark.line + 1
        if self._count > MAX_VALUES:
            message = f"holds more than {MAX_VALUES:,} values once its aliases are filled in"
            raise ConfigError(Problem(message, self.source, line))
        if depth > MAX_DEPTH:
            raise ConfigError(Problem(f"is nested more than {MAX_DEPTH} levels deep", self.source, line))
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path, line)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._mapping(node, path, depth)

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath, line: int) -> object:
        text: str = node.value
        if node.style:
            return text
        try:
            return scalar(text)
        except ValueError as error:
            self.problems.append(Problem(str(error), self.source, line, dotted(path)))
            return None

    def _mapping(self, node: yaml.Node, path: KeyPath, depth: int) -> dict[str, object]:
        found: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem("a key must be text", self.source, line, dotted(path)))
                continue
            key: str = key_node.value
            if key == "<<" and not key_node.style:
                for base in self._merge_sources(value_node, path, depth):
                    merged = {**base, **merged}
                continue
            here = (*path, key)
            if key in found:
                message = f"this key stands twice, first in line {self.lines[here]}"
                self.problems.append(Problem(message, self.source, line, dotted(here)))
                continue
            self.lines[here] = line
            found[key] = self.value(value_node, here, depth + 1)
        return {**merged, **found}

    def _merge_sources(self, node: yaml.Node, path: KeyPath, depth: int) -> list[dict[str, object]]:
        value = self.value(node, (*path, "<<"), depth + 1)
        sources = value if isinstance(value, list) else [value]
        mappings = [source for source in sources if isinstance(source, dict)]
        if len(mappings) == len(sources):
            return mappings
        self.problems.append(Problem("`<<` merges mappings only", self.source, node.start_mark.line + 1, dotted(path)))
        return []
