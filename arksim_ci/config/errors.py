"""How a bad configuration is reported: every problem at once, each with its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    `source` is the file, or `the command line`, or `input NAME`; `line` counts from 1, where it is known; `key` is the dotted key.
    `message` says what was found, what is allowed, and the nearest known name.
    """

    message: str
    source: str = ""
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        return ": ".join(part for part in (place, self.key, self.message) if part)


class ConfigError(Exception):
    """The configuration can't be used (exit code 2). Holds every problem that was found."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))
