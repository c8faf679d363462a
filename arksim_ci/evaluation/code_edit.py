"""Makes a proposed change to the text of a file: finds what is to be replaced, replaces it, writes the unified diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from arksim_ci.evaluation.source_secrets import HIDDEN
from arksim_ci.evaluation.sources import SourceFile, bodies
from arksim_ci.llm.questions.recommendation import Replacement

NEAR: Final = 3
"""Most lines that a hint may be off where the text to replace stands at several places."""

_CONTEXT: Final = 3
_HUNK: Final = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@\n")


class Refused(Exception):
    """A change can't be made. The text says why, in words that help to propose a better one."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """Characters `start` to `end` of the lines joined by `\\n`, and what replaces them."""

    start: int
    end: int
    new: str


def edited(file: SourceFile, replacements: Sequence[Replacement]) -> str:
    """The text of a file after all replacements. Line ends stay as they are; new lines end as the line that they replace.

    Raises:
        Refused: what is to be replaced is missing, ambiguous, hidden as a secret, or replaced twice.
    """
    lines = bodies(file.text)
    known = "\n".join(file.shown)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    edits = sorted(
        (_edit(file, known, lines, starts, replacement) for replacement in replacements), key=lambda edit: edit.start
    )
    for first, second in pairwise(edits):
        if second.start < first.end or second.start == first.start:
            raise Refused("two replacements of this change touch the same text; make them one")
    return _with_edits(file.text, edits)


def unified_diff(name: str, before: str, after: str, hidden: frozenset[int] = frozenset()) -> str:
    """The change as a unified diff with `a/` and `b/` names, as `git apply` and `patch -p1` read it.

    Three lines of context, or fewer where a line that holds a secret (`hidden`, numbered from 1) would be among them.

    Raises:
        Refused: such a line would be shown all the same.
    """
    old, new = _lines(before), _lines(after)
    secrets = {old[number - 1] for number in hidden}
    prefix, suffix = _in_common(old, new)
    skipped = max(prefix - _CONTEXT, 0)
    old, new = (lines[skipped : len(lines) - max(suffix - _CONTEXT, 0)] for lines in (old, new))
    for context in range(_CONTEXT, -1, -1):
        diff = list(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context))
        if not any(line[1:] in secrets for line in diff[2:]):
            shifted = (_shifted(line, skipped) for line in diff)
            return "".join(
                line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in shifted
            )
    raise Refused("its diff would show a line that holds a secret")


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """First and last line (from 1, of the text before) that a change touches; for an insertion, the line that it follows."""
    old, new = _lines(before), _lines(after)
    prefix, suffix = _in_common(old, new)
    last = len(old) - suffix
    return (prefix + 1, last) if last > prefix else (max(prefix, 1), max(prefix, 1))


def _in_common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines two texts have in common at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    prefix = next((number for number in range(most) if old[number] != new[number]), most)
    most -= prefix
    suffix = next((number for number in range(most) if old[-1 - number] != new[-1 - number]), most)
    return prefix, suffix


def _shifted(line: str, skipped: int) -> str:
    """A line of a diff of the end of a file, counted from the file's beginning: `@@ -1,3 +1,3 @@` becomes `@@ -11,3 +11,3 @@`."""
    found = _HUNK.match(line)
    if not found:
        return line
    return f"@@ -{int(found[1]) + skipped}{found[2] or ''} +{int(found[3]) + skipped}{found[4] or ''} @@\n"


def _edit(file: SourceFile, known: str, lines: Sequence[str], starts: Sequence[int], replacement: Replacement) -> _Edit:
    old, new = (text.replace("\r\n", "\n") for text in (replacement.old, replacement.new))
    if not old.strip("\n"):
        raise Refused('"old" is empty, so there is no telling where the change belongs')
    has_end = old.endswith("\n")
    if has_end:
        old, new = old[:-1], new.removesuffix("\n")
    first, column = _place(file, known, old, replacement.start_line)
    last = first + old.count("\n")
    touched = range(first, last + 1)
    secret = next((number + 1 for number in touched if number + 1 in file.hidden), None)
    if secret is not None:
        raise Refused(f"line {secret} holds a secret that was not shown, so it can't be part of a change")
    if file.hidden and new.count(HIDDEN) > old.count(HIDDEN):
        raise Refused(f"it would write {HIDDEN}, which stands for a secret that was not shown, into the file")
    start = starts[first] + column
    end = start + len(old)
    end_of_line = starts[last] + len(lines[last])
    if not new and column == 0 and end == end_of_line:
        # whole lines go, with a line end: their own, or the one before them where the file ends without any
        return (
            _Edit(start, end + 1, "")
            if last + 1 < len(lines) or file.text.endswith("\n")
            else _Edit(max(start - 1, 0), end, "")
        )
    if end == end_of_line and not has_end:
        new = new.removesuffix("\n")
    return _Edit(start, end, new)


def _place(file: SourceFile, known: str, old: str, hint: int) -> tuple[int, int]:
    """Line (from 0) and column at which `old` begins.

    The place at the hinted line counts, or else the only one within `NEAR` lines of it; the hint is not needed where there is only one.
    """
    found = []
    at = known.find(old)
    while at >= 0:
        line = known.count("\n", 0, at)
        found.append((line, at - (known.rfind("\n", 0, at) + 1)))
        at = known.find(old, at + 1)
    if not found:
        raise Refused(f"the text to replace (at line {hint}) does not stand in {file.name}")
    if len(found) > 1:
        exact = [place for place in found if place[0] + 1 == hint]
        near = exact or [place for place in found if abs(place[0] + 1 - hint) <= NEAR]
        if len(near) != 1:
            listed = ", ".join(str(line + 1) for line, _ in found[:5])
            raise Refused(
                f"the text to replace stands {len(found)} times in {file.name} (lines {listed}), and line {hint} does not "
                "tell which is meant; replace a longer text"
            )
        found = near
    return found[0]


def _with_edits(text: str, edits: Sequence[_Edit]) -> str:
    """Make the edits, counted in lines joined by `\\n`, in a text with line ends of its own."""
    lines = _lines(text)
    usual = "\r\n" if sum(line.endswith("\r\n") for line in lines) * 2 > len(lines) else "\n"
    plain = "".join(_body(line) + ("\n" if line.endswith("\n") else "") for line in lines)
    ends = [line[len(_body(line)) :] for line in lines]
    made, position, number = [], 0, 0

    def keep(until: int) -> None:
        nonlocal position, number
        for piece in re.split(r"(\n)", plain[position:until]):
            made.append(ends[number] if piece == "\n" else piece)
            number += piece == "\n"
        position = until

    for edit in edits:
        keep(edit.start)
        end = ends[number] if number < len(ends) and ends[number] else usual
        made.append(edit.new.replace("\n", end))
        number += plain.count("\n", edit.start, edit.end)
        position = edit.end
    keep(len(plain))
    return "".join(made)


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only `\\n` ends one: that is how diffs count."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _body(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line
