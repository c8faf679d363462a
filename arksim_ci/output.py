"""The output folder: which names are ours, and how a file gets there whole or not at all.

Only the names below are ever written or deleted, and never through a symbolic link: the folder may be the workspace, with
files in it that a pull request brought.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

VERDICT: Final = "verdict.json"
EVALUATION: Final = "evaluation.json"
SIMULATION: Final = "simulation.json"
RECOMMENDATIONS: Final = "recommendations.json"
FOCUS: Final = "focus"
JOURNAL: Final = "journal.jsonl"
AGENT_LOG: Final = "agent.log"
REPORTS: Final = (
    "final_report.html",
    "final_report.md",
    "agent_performance_per_convo.csv",
    "agent_performance_per_turn.csv",
    "unique_errors.csv",
    "junit.xml",
    "results.sarif",
)
RESULT_FILES: Final = (VERDICT, EVALUATION, SIMULATION, RECOMMENDATIONS, *REPORTS)
"""What a run writes anew each time, besides the focus files."""

_FOCUS_NAME = re.compile(r"error_[1-9][0-9]*\.json|all_failures\.json")


def is_focus_name(name: str) -> bool:
    """Whether a file of this name is a focus file of a run."""
    return _FOCUS_NAME.fullmatch(name) is not None


class OutputRefused(Exception):
    """The output folder, or a file in it, can't be used. The text says which and why."""


class OutputFolder:
    """A folder for results.

    Args:
        path: the folder, absolute. It is made when the first file is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Make the folder and see that it can be written to, before anything is spent.

        Raises:
            OutputRefused: it can't be made or written to, or is a symbolic link.
        """
        _make_folder(self.path)
        try:
            handle, name = tempfile.mkstemp(prefix=".arksim-", dir=self.path)
        except OSError as error:
            raise OutputRefused(
                f"{self.path}: can't be written to ({error.strerror}); choose another folder"
            ) from error
        os.close(handle)
        Path(name).unlink()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the folder to this run, as long as it goes on: two at once would mix their results.

        Raises:
            OutputRefused: another run writes to it now.
        """
        handle = _lock(self.path)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def clear(self, keep: Iterable[str] = ()) -> None:
        """Delete the results of an earlier run, so that nothing old is ever mixed in.

        Raises:
            OutputRefused: an old file can't be deleted.
        """
        kept = set(keep)
        stale = [self.path / name for name in RESULT_FILES if name not in kept]
        try:
            for path in (*stale, *self.focus_files()):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # other people's files may stand in it
                (self.path / FOCUS).rmdir()
        except OSError as error:
            raise OutputRefused(f"{error.filename}: an old result can't be deleted ({error.strerror})") from error

    def focus_files(self) -> list[Path]:
        """The focus files that are there, by number."""
        folder = self.path / FOCUS
        if folder.is_symlink() or not folder.is_dir():
            return []
        found = [path for path in folder.iterdir() if is_focus_name(path.name)]
        return sorted(found, key=lambda path: (len(path.name), path.name))

    def write(self, name: str, text: str) -> Path:
        """Write one of our files: a temporary file, then a rename.

        Raises:
            OutputRefused: the folder is full, not writable, or a link.
        """
        return write_whole(self.path / name, text)


def write_whole(path: Path, text: str) -> Path:
    """Write a file whole or not at all, readable for everyone, never through a symbolic link.

    Lone surrogates, which JSON can carry but UTF-8 can not, become question marks.

    Raises:
        OutputRefused: the folder is full, not writable, or the file or its folder is a link.
    """
    _make_folder(path.parent)
    if path.is_symlink():
        raise OutputRefused(f"{path}: is a symbolic link; results are never written through one")
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=".arksim-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise OutputRefused(f"{path}: can't be written ({error.strerror})") from error
    return path


def _lock(path: Path) -> int | None:
    """Open a folder and lock it, until it is closed; None where the system or the file system can't do that.

    Raises:
        OutputRefused: somebody else has locked it.
    """
    handle = None
    try:
        import fcntl  # noqa: PLC0415  (not on Windows)

        handle = os.open(path, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        if handle is not None:
            os.close(handle)
        raise OutputRefused(
            f"{path}: another run writes to it now; wait for its end, or choose another folder"
        ) from error
    except (ImportError, OSError):
        pass
    return handle


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(folder.lstat().st_mode):
            raise OutputRefused(f"{folder}: is a symbolic link; results are never written through one")
    except FileExistsError as error:
        raise OutputRefused(f"{folder}: is a file, not a folder") from error
    except OSError as error:
        raise OutputRefused(f"{folder}: can't be made ({error.strerror})") from error
