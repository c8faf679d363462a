"""Strict JSON: no duplicate keys, no NaN, no broken text; the lines of its parts are found when a message needs them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping

from arksim_ci.config.document import KeyPath, dotted
from arksim_ci.config.errors import ConfigError, Problem

MAX_DEPTH = 100

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|\n')
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def load(text: str, source: str) -> tuple[object, Callable[[], Mapping[KeyPath, int]]]:
    """Parse one JSON document.

    Args:
        text: the JSON.
        source: its name in messages.

    Returns:
        The value, and a function that gives the line (from 1) of each key and list item by its path.

    Raises:
        ConfigError: with line and column where the text is no JSON, with the line and the key for everything else.
    """
    lines = functools.cache(lambda: scan(text)[0])
    hooks = _Hooks()
    try:
        value = json.loads(
            text,
            object_pairs_hook=hooks.pairs,
            parse_constant=hooks.constant,
            parse_float=hooks.number,
            parse_int=hooks.integer,
        )
    except json.JSONDecodeError as error:
        raise ConfigError(_syntax_problem(error, source)) from error
    except RecursionError as error:
        raise ConfigError(Problem(_too_deep(), source)) from error
    if _depth_exceeds(value, MAX_DEPTH):
        raise ConfigError(Problem(_too_deep(), source))
    problems = []
    if hooks.duplicates:
        for path, line, first in scan(text)[1]:
            problems.append(Problem(f"this key stands twice, first in line {first}", source, line, dotted(path)))
    for literal in hooks.not_numbers:
        place = next((match.start() for match in _TOKEN.finditer(text) if match.group() == literal), 0)
        line = text.count("\n", 0, place) + 1
        problems.append(Problem(f"{literal[:20]} is not a number that JSON can hold", source, line))
    if _HALF_CHARACTER.search(text) and (broken := _broken_text_line(text)) is not None:
        message = r"holds half of a character pair (\ud800-\udfff without its other half)"
        problems.append(Problem(message, source, broken))
    if problems:
        raise ConfigError(*problems)
    return value, lines


def scan(text: str) -> tuple[dict[KeyPath, int], list[tuple[KeyPath, int, int]]]:
    """Find the line of each key and list item of valid JSON, and its duplicate keys as (path, line, first line)."""
    lines: dict[KeyPath, int] = {}
    duplicates: list[tuple[KeyPath, int, int]] = []
    path: list[str | int] = []
    line, key_expected = 1, False
    in_list: list[bool] = []

    def here() -> None:
        lines.setdefault(tuple(path), line)

    for match in _TOKEN.finditer(text):
        part = match.group()
        if part == "\n":
            line += 1
        elif part in "{[":
            here()
            in_list.append(part == "[")
            path.append(0 if part == "[" else "")
            key_expected = part == "{"
        elif part in "}]":
            in_list.pop()
            path.pop()
            key_expected = False
        elif part == ",":
            if in_list[-1]:
                path[-1] = int(path[-1]) + 1
            key_expected = not in_list[-1]
        elif part == ":":
            key_expected = False
        elif key_expected:
            path[-1] = json.loads(part)
            if tuple(path) in lines:
                duplicates.append((tuple(path), line, lines[tuple(path)]))
            here()
        else:
            here()
    return lines, duplicates


class _Hooks:
    """What the parser meets on its way and JSON forbids."""

    def __init__(self) -> None:
        self.duplicates = False
        self.not_numbers: list[str] = []

    def pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            self.duplicates = True
        return found

    def constant(self, literal: str) -> None:
        self.not_numbers.append(literal)

    def number(self, literal: str) -> float | None:
        number = float(literal)
        if abs(number) == float("inf"):
            self.not_numbers.append(literal)
            return None
        return number

    def integer(self, literal: str) -> int | None:
        if len(literal) > 300:
            self.not_numbers.append(literal)
            return None
        return int(literal)


def _syntax_problem(error: json.JSONDecodeError, source: str) -> Problem:
    reason = error.msg[:1].lower() + error.msg[1:]
    if error.pos >= len(error.doc.rstrip()):
        reason += "; the file ends too early" if error.doc.strip() else "; the file is empty"
    return Problem(f"is not valid JSON: {reason}, at column {error.colno}", source, error.lineno)


def _too_deep() -> str:
    return f"is nested more than {MAX_DEPTH} levels deep"


def _depth_exceeds(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        following: list[object] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(child for child in item.values() if isinstance(child, dict | list))
            elif isinstance(item, list):
                following.extend(child for child in item if isinstance(child, dict | list))
        if not following:
            return False
        level = following
    return True


def _broken_text_line(text: str) -> int | None:
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.startswith('"') and _HALF_CHARACTER.search(token):
            try:
                json.loads(token).encode()
            except UnicodeEncodeError:
                return text.count("\n", 0, match.start()) + 1
    return None
