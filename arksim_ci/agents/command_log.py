"""What the user's commands print: every line redacted, in a file for the artifact, and the last ones for an error message."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

LARGEST_FILE: Final = 32 * 1024 * 1024
"""Bytes; what is printed beyond is not kept."""
LAST_LINES: Final = 20

_LONGEST_SHOWN = 400
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[^\S\n ]|[\x00-\x1f\x7f-\x9f]")


class CommandLog:
    """Takes lines and keeps them.

    Args:
        path: the file, made anew and never through a link; None keeps the last lines only.
        redact: replaces secrets in a text.

    Raises:
        OSError: the file can't be made.
    """

    def __init__(self, path: Path | None, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._left = LARGEST_FILE
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            self._file = os.fdopen(handle, "wb", 0)

    def line(self, printed: bytes) -> None:
        """Keep a line that a command printed."""
        text = self._redact(printed.decode("utf-8", "replace"))
        if text.strip():
            self._last.append(text)
        self._write(text)

    def note(self, sentence: str) -> None:
        """Keep a sentence of ours, marked as such."""
        self._write(f"[arksim] {self._redact(sentence)}")

    def last_lines(self) -> str:
        """The last lines, each behind a bar, without control characters: fit to stand in an error message."""
        shown = (_CONTROL.sub(" ", line).rstrip()[:_LONGEST_SHOWN] for line in self._last)
        return "\n".join(f"  | {line}" for line in shown)

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()

    def _write(self, text: str) -> None:
        if not self._file or self._left <= 0:
            return
        data = text.encode("utf-8", "replace") + b"\n"
        self._left -= len(data)
        if self._left <= 0:
            data = f"[arksim] The log is cut here: it may have {LARGEST_FILE // 1024 // 1024} MB.\n".encode()
        self._file.write(data)
