"""Checks a proposed change to the agent's source before anyone sees it."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from arksim_ci.evaluation.code_edit import Refused, changed_lines, edited, unified_diff
from arksim_ci.evaluation.functions import enclosing
from arksim_ci.evaluation.sources import SourceFile
from arksim_ci.llm.questions.recommendation import ProposedChange, Replacement
from arksim_ci.schema.recommendation import CodeFix

MAX_REPLACEMENTS: Final = 20
MAX_LINES: Final = 200
MAX_CHARACTERS: Final = 20_000
"""A larger change is a rewrite, which nobody reviews in a comment."""

_NAME_LIMIT: Final = 200
_SEEN: Final = "\n\t\u200c\u200d"
"""Control and format characters that belong into texts: line end, tab, and the joiners of Persian, Hindi and emoji."""


def check_change(
    change: ProposedChange, files: Mapping[str, SourceFile], read: Callable[[SourceFile], str | None]
) -> CodeFix:
    """Turn a proposed change into a code fix.

    Args:
        change: as the LLM proposed it.
        files: the source files that were read, by name; a change may touch no other.
        read: gives the text of a file as it is on disk now; None where it is gone.

    Raises:
        Refused: it can't be made to the file as it is, or the result is not what a code fix may be. The text begins with the file.
    """
    shown = " ".join(change.file.split())[:_NAME_LIMIT] or "(no file)"
    try:
        return _checked(change, _file(change.file, files), read)
    except Refused as refused:
        raise Refused(f"{shown}: {refused}") from None


def location(fix: CodeFix, file: SourceFile) -> str:
    """Where a code fix belongs, for people: `agent.py:12-14 in SupportAgent.answer`."""
    lines = f"{fix.start_line}" if fix.start_line == fix.end_line else f"{fix.start_line}-{fix.end_line}"
    function = enclosing(file.shown, fix.start_line)
    return f"{fix.file}:{lines}{f' in {function}' if function else ''}"


def _file(name: str, files: Mapping[str, SourceFile]) -> SourceFile:
    """The file that a name means.

    Raises:
        Refused: it is none of those that were read.
    """
    if name.removeprefix("./") in files:
        return files[name.removeprefix("./")]
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or name.startswith("\\"):
        raise Refused("an absolute path; name a file as its excerpt does")
    if ".." in re.split(r"[/\\]", name):
        raise Refused("leads out of the given paths; name a file as its excerpt does")
    last = PurePosixPath(name.replace("\\", "/")).name
    alike = sorted(known for known in files if PurePosixPath(known).name == last)
    meant = f" (is {alike[0]} meant?)" if alike else ""
    raise Refused(f"not one of the files in code_file_path and code_paths{meant}")


def _checked(change: ProposedChange, file: SourceFile, read: Callable[[SourceFile], str | None]) -> CodeFix:
    now = read(file)
    if now is None:
        raise Refused("the file is gone, or is no longer a text file")
    if now != file.text:
        raise Refused("the file has changed since it was read")
    replacements = [each for each in change.replacements if each.old != each.new]
    if not replacements:
        raise Refused("it changes nothing")
    _reviewable(replacements)
    after = edited(file, replacements)
    if after == file.text:
        raise Refused("it changes nothing")
    if not after.strip():
        raise Refused("it deletes the whole file")
    if problem := _no_longer_parses(file.name, file.text, after):
        raise Refused(f"the file no longer parses with it: {problem}")
    first, last = changed_lines(file.text, after)
    diff = unified_diff(file.name, file.text, after, file.hidden)
    return CodeFix(module=change.module, file=file.name, start_line=first, end_line=last, diff=diff)


def _reviewable(replacements: Sequence[Replacement]) -> None:
    """See that a person can read what would be written.

    Raises:
        Refused: it is too much, or holds characters that nobody sees.
    """
    if len(replacements) > MAX_REPLACEMENTS:
        raise Refused(f"it has {len(replacements)} replacements, at most {MAX_REPLACEMENTS} are allowed")
    for texts in ([each.old for each in replacements], [each.new for each in replacements]):
        lines = sum(text.count("\n") + 1 for text in texts)
        if lines > MAX_LINES or sum(map(len, texts)) > MAX_CHARACTERS:
            raise Refused(
                f"it is too large to review; at most {MAX_LINES} lines and {MAX_CHARACTERS:,} characters may be replaced or written"
            )
    for each in replacements:
        unseen = next((char for char in each.new.replace("\r\n", "\n") if _unseen(char) and char not in each.old), None)
        if unseen:
            raise Refused(f"it would write an invisible character (U+{ord(unseen):04X}) into the file")


def _unseen(character: str) -> bool:
    """Whether a character is a control or format character, a lone surrogate, or a line end of no programming language."""
    return character not in _SEEN and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _no_longer_parses(name: str, before: str, after: str) -> str:
    """Why a text no longer parses, or nothing. A file that did not parse before, or of another language, is not held to it."""
    parse = _PARSERS.get(PurePosixPath(name).suffix.lower())
    if parse is None or _mistake(parse, before):
        return ""
    return _mistake(parse, after)


def _mistake(parse: Callable[[str], object], text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        return f"{error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:
        return " ".join(str(error).split())[:300] or type(error).__name__
    return ""


def _parse_yaml(text: str) -> None:
    import yaml  # noqa: PLC0415  (needed only where YAML is changed)

    try:
        for _ in yaml.compose_all(text, Loader=yaml.SafeLoader):
            pass
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _parse_toml(text: str) -> None:
    import tomllib  # noqa: PLC0415  (needed only where TOML is changed)

    tomllib.loads(text)


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".py": ast.parse,
    ".pyi": ast.parse,
    ".json": json.loads,
    ".ipynb": json.loads,
    ".toml": _parse_toml,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}
