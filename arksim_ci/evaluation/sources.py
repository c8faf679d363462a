"""Reads the agent's source, for code fixes: which files, and what of them may be shown."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arksim_ci.evaluation.source_secrets import without_secrets

MAX_FILE_BYTES: Final = 500_000
"""A larger file is data or made by a program, not what a developer edits."""
MAX_FILES: Final = 1_000
MAX_BYTES: Final = 5_000_000
"""Most that is read of all files together."""

_FOREIGN_FOLDERS: Final = (
    "node_modules", "bower_components", "vendor", "third_party", "site-packages", "dist-packages", "venv", "env",
    "virtualenv", "__pycache__", "dist", "build", "target", "out", "coverage",
)  # fmt: skip
_FOREIGN_FILES: Final = (
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", ".lock", ".min.js", ".min.css", ".map",
)  # fmt: skip
_KEY_FILES: Final = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", "id_rsa", "id_ed25519", "id_ecdsa")
_NAMED_IN_A_NOTE: Final = 5


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file. `name` is relative to the root, with slashes; `text` is the file as it is, line ends kept.

    `shown` are its lines (without line ends) with secrets replaced; `hidden` numbers those (from 1) where something was.
    """

    name: str
    path: Path
    text: str
    shown: tuple[str, ...]
    hidden: frozenset[int]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that was not read, and why. `usual` tells that nobody would expect it to be read."""

    name: str
    reason: str
    usual: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """The agent's source. `asked` tells whether any was configured."""

    files: tuple[SourceFile, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    entry_function: str | None = None
    asked: bool = False

    def notes(self) -> list[str]:
        """What a reader should know of what was not read, in sentences."""
        unusual = [each for each in self.skipped if not each.usual]
        named = ", ".join(f"{each.name} ({each.reason})" for each in unusual[:_NAMED_IN_A_NOTE])
        more = f" and {len(unusual) - _NAMED_IN_A_NOTE} more" if len(unusual) > _NAMED_IN_A_NOTE else ""
        if self.asked and not self.files:
            why = f": {named}{more}" if named else ", there is no source file in them"
            return [f"There are no code fixes: nothing of code_file_path and code_paths could be read{why}."]
        return [f"Not read for code fixes: {named}{more}."] if unusual else []


def read_sources(
    given: Sequence[Path],
    *,
    root: Path,
    leave_out: Collection[Path] = (),
    redact: Callable[[str], str] = str,
    entry_function: str | None = None,
) -> Sources:
    """Read files, and every source file in folders, in any language.

    Args:
        given: files and folders, absolute.
        root: the repository, or the folder that all of it is in; nothing outside is read, by a link neither.
        leave_out: files and folders of the run itself (configuration, scenarios, results): a fix there would change the test.
        redact: replaces, in one line, the secrets that the run knows; whatever looks like a key or a password is replaced, too.
        entry_function: where the agent starts.
    """
    reader = _Reader(root.resolve(), {path.resolve() for path in leave_out})
    for path in given:
        reader.take(path, named=True)
    files = []
    for name, (path, text) in sorted(reader.found.items()):
        lines = bodies(text)
        shown = without_secrets(lines, name, redact)
        hidden = frozenset(
            number for number, pair in enumerate(zip(lines, shown, strict=True), 1) if pair[0] != pair[1]
        )
        files.append(SourceFile(name, path, text, shown, hidden))
    return Sources(tuple(files), tuple(reader.skipped), entry_function, asked=bool(given))


def source_root(config_file: Path, working_directory: Path, given: Sequence[Path]) -> Path:
    """The folder that names of source files start from.

    It is the repository of config.yaml; without one the working directory, where everything is in it, or else the nearest folder
    that has everything.
    """
    start = config_file.resolve().parent
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    places = [start, *(path.resolve().parent for path in given)]
    if all(place.is_relative_to(working_directory.resolve()) for place in places):
        return working_directory.resolve()
    return Path(os.path.commonpath(places))


def read_text(path: Path) -> str | None:
    """A source file as it is now, line ends kept; None where it is no longer a file of UTF-8 text."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        return path.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return None


def bodies(text: str) -> list[str]:
    """The lines of a text without their ends (`\\n` or `\\r\\n`). After a last line end comes no further line."""
    *lines, rest = text.split("\n")
    return [line.removesuffix("\r") for line in lines] + ([rest] if rest else [])


class _Reader:
    """Collects files. A link counts as what it leads to, so that each file is read once, under its real name."""

    def __init__(self, root: Path, leave_out: Collection[Path]) -> None:
        self.root = root
        self.leave_out = leave_out
        self.found: dict[str, tuple[Path, str]] = {}
        self.skipped: list[Skipped] = []
        self._seen: set[Path] = set()
        self._bytes = 0

    def take(self, path: Path, *, named: bool) -> None:
        """Read a file or a folder. `named`: the configuration names it, so it counts although a rule would pass it over."""
        try:
            real = path.resolve(strict=True)
            mode = real.stat().st_mode
        except (OSError, RuntimeError, ValueError) as error:
            self._skip(path, f"can't be read: {getattr(error, 'strerror', None) or 'a link that leads nowhere'}")
            return
        if real in self._seen:
            return
        self._seen.add(real)
        if not real.is_relative_to(self.root):
            self._skip(path, "outside of the repository" if named else "a link out of the repository")
        elif any(part.startswith(".") for part in real.relative_to(self.root).parts):
            self._skip(path, "hidden", usual=not named)
        elif any(real.is_relative_to(each) for each in self.leave_out):
            self._skip(path, "a file of the test itself", usual=not named)
        elif stat.S_ISDIR(mode):
            self._take_folder(path, real, named=named)
        elif not stat.S_ISREG(mode):
            self._skip(path, "not a regular file")
        elif reason := _foreign_file(real.name.lower(), named=named):
            self._skip(path, reason, usual=not named)
        else:
            self._take_file(path, real)

    def _take_folder(self, path: Path, real: Path, *, named: bool) -> None:
        if real.name.lower() in _FOREIGN_FOLDERS and not named:
            self._skip(path, "made by a tool, or somebody else's", usual=True)
            return
        for entry in _entries(real):
            if len(self.found) >= MAX_FILES:
                self._skip(path, f"the rest of it: there are more than {MAX_FILES:,} files")
                return
            self.take(entry, named=False)

    def _take_file(self, path: Path, real: Path) -> None:
        name = real.relative_to(self.root).as_posix()
        size = real.stat().st_size
        if size > MAX_FILE_BYTES:
            self._skip(path, f"larger than {MAX_FILE_BYTES // 1000:,} kB")
        elif self._bytes + size > MAX_BYTES:
            self._skip(path, f"the files before it fill {MAX_BYTES // 1_000_000} MB")
        elif any(unicodedata.category(character) in ("Cc", "Cs", "Cf") or character in '"\\' for character in name):
            self._skip(path, "its name can't stand in a diff")
        else:
            text = read_text(real)
            if text is None or "\0" in text:
                self._skip(path, "not text in UTF-8", usual=text is not None or _is_binary(real))
            elif text.strip():
                self._bytes += size
                self.found[name] = (real, text)

    def _skip(self, path: Path, reason: str, *, usual: bool = False) -> None:
        name = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name
        self.skipped.append(Skipped(name, reason, usual))


def _foreign_file(name: str, *, named: bool) -> str:
    if name.endswith(_KEY_FILES):
        return "holds keys"
    return "made by a tool" if name.endswith(_FOREIGN_FILES) and not named else ""


def _entries(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder.iterdir())
    except OSError:
        return


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(8192)
    except OSError:
        return False
