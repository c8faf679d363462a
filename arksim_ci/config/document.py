"""A file that was read: its value, and the line at which each part of it stands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arksim_ci.config.errors import Problem

KeyPath = tuple[str | int, ...]
"""Where a value stands: keys of mappings and indexes of lists, from the outside in."""


@dataclass(frozen=True)
class Document:
    """A file's value. `source` is its name in messages, `lines` gives the lines of its parts; they are found when asked for."""

    source: str
    value: object
    lines: Callable[[], Mapping[KeyPath, int]] = field(repr=False, default=dict)

    def line(self, path: KeyPath) -> int | None:
        """The line, from 1, at which `path` stands, or the nearest part around it that has one."""
        lines = self.lines()
        for length in range(len(path), 0, -1):
            if path[:length] in lines:
                return lines[path[:length]]
        return None

    def problem(self, message: str, path: KeyPath = ()) -> Problem:
        """A problem at `path`, with its line and its dotted key."""
        return Problem(message=message, source=self.source, line=self.line(path), key=dotted(path))


ABSENT = object()
"""What `child` returns where there is nothing."""


def child(value: object, part: str | int) -> Any:
    """What stands at one key of a mapping or one index of a list, or `ABSENT`."""
    if isinstance(value, Mapping):
        return value.get(part, ABSENT)
    if isinstance(value, list | tuple) and isinstance(part, int) and 0 <= part < len(value):
        return value[part]
    return ABSENT


def dotted(path: KeyPath) -> str:
    """Write a path as people write it: `agent_config.api_config`, `code_paths[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def shown(path: Path) -> str:
    """A path as messages show it: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
