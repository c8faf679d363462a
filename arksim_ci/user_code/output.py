"""What the user's code prints, as lines for our log."""

from __future__ import annotations

from collections.abc import Callable

MAX_LINE = 2_000
"""Characters of a line that are kept."""
MAX_LINES = 5_000
"""Lines of one worker process that are kept; the rest is read and dropped."""


class OutputLog:
    """Cuts bytes into lines, takes the teeth out of them and hands them on with a prefix.

    Control, zero-width and bidirectional characters become spaces, and `##[` is broken up, so that no line is a workflow command.
    """

    def __init__(self, log: Callable[[str], None], prefix: str = "user code: ") -> None:
        self._log = log
        self._prefix = prefix
        self._line = bytearray()
        self._lines = 0
        self._traces: set[int] = set()
        self.last = ""
        """The last line, made harmless."""

    def feed(self, data: bytes) -> None:
        """Take what was printed, in pieces of any size."""
        first, *rest = data.split(b"\n")
        self._append(first)
        for piece in rest:
            self.end()
            self._append(piece)

    def end(self) -> None:
        """End the current line."""
        line = self._line.decode("utf-8", "replace")
        self._line.clear()
        self.write(line)

    def write(self, line: str) -> None:
        """Hand on one line of text."""
        if not line.strip():
            return
        self._lines += 1
        self.last = harmless(line)
        if self._lines <= MAX_LINES:
            self._log(self._prefix + self.last)
        elif self._lines == MAX_LINES + 1:
            self._log(f"{self._prefix}(more than {MAX_LINES} lines; the rest is not shown)")

    def write_trace(self, trace: str) -> None:
        """Hand on a traceback, once: what failed is asked again, and most often fails in the same place."""
        if hash(trace) not in self._traces:
            self._traces.add(hash(trace))
            for line in trace.splitlines():
                self.write(line)

    def _append(self, piece: bytes) -> None:
        # Four bytes a character at most; what is beyond the kept length is never stored.
        room = 4 * (MAX_LINE + 1) - len(self._line)
        self._line += piece[: max(room, 0)]


def harmless(line: str) -> str:
    """One line of printable text, cut at MAX_LINE characters."""
    cut = line if len(line) <= MAX_LINE else line[:MAX_LINE] + "... (cut)"
    shown = "".join(char if char.isprintable() else " " for char in cut)
    return shown.replace("##[", "## [").rstrip()
