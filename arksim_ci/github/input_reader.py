"""Reads the action's single inputs: what each allows, and an error that names it."""

from __future__ import annotations

import difflib
import hashlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from arksim_ci.config.errors import Problem
from arksim_ci.github.context import GitHubContext

_FORBIDDEN_IN_ARTIFACT_NAMES: Final = '":<>|*?\\/'
_LONGEST_NAME: Final = 200


def variable(name: str) -> str:
    """The variable in which the runner passes an input: hyphens stay, letters are upper-case."""
    return f"INPUT_{name.upper()}"


class InputReader:
    """Reads single inputs, and keeps what is wrong with them.

    Each method takes the input's name. Where the value is not allowed, that goes to `problems`, and what is returned is not to be used.

    Args:
        environment: the process's variables; an empty `INPUT_*` counts as unset.
        context: where the action runs; relative paths start from its workspace.
    """

    def __init__(self, environment: Mapping[str, str], context: GitHubContext) -> None:
        self._environment = environment
        self._workspace = context.workspace
        self._limits = context.limits
        self.problems: list[Problem] = []

    def text(self, name: str) -> str:
        """Any text, without its outer white space; empty where the input is unset."""
        return self._environment.get(variable(name), "").strip()

    def wrong(self, name: str, message: str) -> None:
        """Keep what is wrong with an input."""
        self.problems.append(Problem(message, f"input {name}"))

    def one_line(self, name: str) -> str:
        """A short text on one line."""
        value = self.text(name)
        if len(value) > _LONGEST_NAME or not value.isprintable():
            self.wrong(name, f"must be one line of at most {_LONGEST_NAME} printable characters")
            return ""
        return value

    def key(self, name: str, default: str) -> str:
        """A comment's key: names of workflows and jobs go into it, so any text will do. A long one ends in its digest."""
        text = self.text(name) or default
        line = " ".join(text.encode("utf-8", "replace").decode().split())
        if len(line) <= _LONGEST_NAME:
            return line
        return f"{line[: _LONGEST_NAME - 17]}-{hashlib.sha256(line.encode()).hexdigest()[:16]}"

    def header_value(self, name: str) -> str:
        """A key or token. The value itself is never repeated."""
        value = self.text(name)
        if not (value.isascii() and value.isprintable()) or " " in value:
            self.wrong(
                name, "holds a space, a line break or another character that no key has; check how the secret was saved"
            )
            return ""
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        """One of several words."""
        value = self.text(name) or default
        if value not in allowed:
            near = difflib.get_close_matches(value.lower().replace("_", "-"), allowed, n=1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            self.wrong(name, f'"{_short(value)}" is not allowed; allowed: {", ".join(allowed)}{hint}')
            return default
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """`true` or `false`, in any case of letters."""
        value = self.text(name).lower()
        if value not in ("", "true", "false"):
            self.wrong(name, f'"{_short(value)}" is not allowed; allowed: true, false')
        return {"true": True, "false": False}.get(value, default)

    def whole(self, name: str, lowest: int, highest: int) -> int:
        """A whole number in a range."""
        value = self.text(name)
        number = int(value) if re.fullmatch(r"\d{1,19}", value, re.ASCII) else -1
        if not lowest <= number <= highest:
            shown = f"{highest:,}" if highest < 10**6 else "any size"
            self.wrong(name, f'"{_short(value)}" is not allowed; allowed: a whole number from {lowest} to {shown}')
        return number

    def seconds(self, name: str, default: float, highest: float) -> float:
        """A number of seconds above 0."""
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError:
            number = math.nan
        if not 0 < number <= highest:
            self.wrong(
                name, f'"{_short(value)}" is not allowed; allowed: a number of seconds above 0, up to {highest:g}'
            )
        return number

    def url(self, name: str) -> str:
        """An address of HTTP."""
        value = self.text(name)
        try:
            parts = urlsplit(value)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            usable = False
        if value and (not usable or re.search(r"\s", value)):
            self.wrong(name, "must be a URL that begins with http:// or https:// and names a host")
            return ""
        return value

    def artifact_name(self, name: str) -> str:
        """The name of an artifact, by GitHub's rules."""
        value = self.one_line(name)
        bad = sorted({character for character in value if character in _FORBIDDEN_IN_ARTIFACT_NAMES})
        if bad:
            self.wrong(
                name, f"holds {' '.join(bad)}; an artifact's name can't hold {' '.join(_FORBIDDEN_IN_ARTIFACT_NAMES)}"
            )
        return value

    def path(self, name: str, *, required: bool = False) -> Path | None:
        """A file inside of the workspace; `required` files are looked for even where the input is unset."""
        value = self.text(name) or ("arksim/config.yaml" if required else "")
        if not value:
            return None
        if "\x00" in value or "\n" in value or re.search("[\ud800-\udc7f\udd00-\udfff]", value):
            self.wrong(name, "must be the path of one file, relative to the workspace")
            return None
        path = Path(os.path.normpath(self._workspace / value))
        if not path.is_relative_to(self._workspace):
            self.wrong(
                name,
                f'"{_short(value)}" is outside of the workspace; {self._limits}. Give a path relative to the workspace',
            )
        elif not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._workspace)):
            self.wrong(name, f'"{_short(value)}" leads out of the workspace through a symbolic link')
        return path


def _short(text: str) -> str:
    """What was found, for an error: one line, not too long."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown if len(shown) <= 100 else f"{shown[:100]}…"
