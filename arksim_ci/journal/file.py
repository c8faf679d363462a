"""The journal as a file: begun, continued, appended to line by line, never through a symbolic link."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arksim_ci.journal.lines import Recorded, encoded, read_lines

_TAIL_BYTES = 1 << 16


def read_journal(path: Path) -> Recorded | None:
    """Read a journal; None where there is none, or what is there is no journal of ours."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            return read_lines(file)
        except OSError:
            return None


class Journal:
    """A journal that is being written. Each line is in the file when `append` returns, whatever then happens to the process.

    A disk that refuses a line costs the run nothing but the journal: it is given up, once, and `trouble` says why.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.trouble = ""
        """Why nothing is written any more; "" as long as it is."""

    @classmethod
    def begin(cls, path: Path, header: Mapping[str, Any]) -> Journal:
        """Begin a new journal in place of whatever stands there; a link is replaced, not followed.

        Raises:
            OSError: the file can't be made.
        """
        path.unlink(missing_ok=True)
        journal = cls(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644))
        journal.append(header)
        return journal

    @classmethod
    def go_on(cls, path: Path) -> Journal:
        """Append to the journal that is there. A last line that was torn is cut off.

        Raises:
            OSError: the file can't be opened.
        """
        journal = cls(os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW))
        try:
            os.ftruncate(journal._handle, _end_of_last_line(journal._handle))
        except OSError:
            journal.close()
            raise
        return journal

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one line."""
        if self.trouble:
            return
        try:
            data = memoryview(encoded(line))
            while data:
                data = data[os.write(self._handle, data) :]
        except (OSError, ValueError) as error:
            self.trouble = getattr(error, "strerror", None) or str(error)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def _end_of_last_line(handle: int) -> int:
    """Where the last whole line ends."""
    end = os.fstat(handle).st_size
    while end > 0:
        start = max(end - _TAIL_BYTES, 0)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
