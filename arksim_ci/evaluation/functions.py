"""Finds functions in source code of any language, by their usual words and by indentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_NAMED: Final = re.compile(
    r"^\s*(?:(?:export|default|async|public|private|protected|internal|static|pub(?:\([^)]*\))?|final|abstract|inline|open"
    r"|override|suspend|unsafe|data|sealed|local)\s+)*"
    r"(?:def|function\*?|func|fun|fn|sub|proc|class|interface|struct|impl|trait|module|object)\s+"
    r"(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)"
)
_ASSIGNED: Final = re.compile(
    r"(?:\b(?:const|let|var)\s+)?(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=]+)?[:=]\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|\w+\s*=>|lambda\b)"
)
_METHOD: Final = re.compile(
    r"^\s*(?:(?:public|private|protected|internal|static|final|async|override|virtual|export)\s+)*"
    r"(?:[\w<>\[\],.?*&: ]+\s+)?(?P<name>[A-Za-z_$~][\w$]*)\s*\([^;]*\)[^;=]*\{\s*$"
)
_LONGEST_LINE: Final = 500
"""A longer line defines nothing that a person would look for."""
_NOT_NAMES: Final = frozenset({"if", "for", "while", "switch", "catch", "with", "match", "return", "else", "do", "try"})


def defined_at(line: str) -> str | None:
    """The name of the function or class that a line begins to define."""
    if len(line) > _LONGEST_LINE or line.lstrip().startswith(("#", "//", "*", "/*")):
        return None
    for pattern in (_NAMED, _ASSIGNED, _METHOD):
        found = pattern.search(line)
        if found and found["name"] not in _NOT_NAMES:
            return found["name"]
    return None


def enclosing(lines: Sequence[str], number: int) -> str | None:
    """The functions and classes around a line (counted from 1), outermost first: `SupportAgent.answer`."""
    index = min(number, len(lines)) - 1
    while index >= 0 and not lines[index].strip():
        index -= 1
    if index < 0:
        return None
    names = [name] if (name := defined_at(lines[index])) else []
    indentation = _indentation(lines[index])
    for line in reversed(lines[:index]):
        if indentation == 0:
            break
        if line.strip() and _indentation(line) < indentation and not _closes(line):
            indentation = _indentation(line)
            if name := defined_at(line):
                names.append(name)
    return ".".join(reversed(names)) or None


def span(lines: Sequence[str], name: str) -> tuple[int, int] | None:
    """First and last line (counted from 1) of a function's definition; of the first one, where there are several.

    Args:
        lines: without line ends.
        name: may be dotted; the last part counts.
    """
    wanted = name.rsplit(".", 1)[-1]
    first = next((index for index, line in enumerate(lines) if defined_at(line) == wanted), None)
    if first is None:
        return None
    last = first
    for index in range(first + 1, len(lines)):
        line = lines[index]
        if line.strip():
            depth = _indentation(line) - _indentation(lines[first])
            if depth < 0 or (depth == 0 and not _closes(line)):
                break
            last = index
    return first + 1, last + 1


def _indentation(line: str) -> int:
    text = line.expandtabs(4)
    return len(text) - len(text.lstrip())


def _closes(line: str) -> bool:
    """Whether a line only ends what an earlier one began: `) -> str:`, `}`."""
    return line.lstrip().startswith((")", "]", "}"))
