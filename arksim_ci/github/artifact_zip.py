"""The zip of an artifact: exactly the files that were named, in one order, with no link followed and no clock in it."""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_PIECE: Final = 1024 * 1024
_FORBIDDEN: Final = re.compile(r'[":<>|*?\\\r\n\x00-\x1f]')


class FileRefused(Exception):
    """A file can't go into an artifact. The text names it and says why."""


def write_zip(target: IO[bytes], files: Mapping[str, Path], redact: Callable[[str], str] | None = None) -> None:
    """Write a zip. The same files give the same bytes.

    Args:
        target: an empty file.
        files: name in the zip (relative, with `/`) to file on disk.
        redact: applied to the text of every file; None leaves them as they are.

    Raises:
        FileRefused: a name is absolute, hidden or leads upwards; a file is missing, no regular file, or stands behind a
            symbolic link.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            _check_name(name)
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            with open_regular(files[name], depth=name.count("/")) as source:
                entry.file_size = os.fstat(source.fileno()).st_size
                with archive.open(entry, "w") as packed:
                    if redact:
                        packed.write(redacted(source.read(), redact))
                    else:
                        while piece := source.read(_PIECE):
                            packed.write(piece)


def open_regular(path: Path, depth: int = 0) -> IO[bytes]:
    """Open a regular file for reading. It, and the `depth` folders above it, may not be symbolic links.

    Raises:
        FileRefused: it is something else, or can't be read.
    """
    if any(parent.is_symlink() for parent in list(path.parents)[:depth]):
        raise FileRefused(f"{path} stands behind a symbolic link; links are not followed")
    try:
        # O_NONBLOCK: opening a named pipe must not wait for somebody who writes to it.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise FileRefused(f"{path} is a symbolic link; links are not followed") from None
        raise FileRefused(f"{path} can't be read ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileRefused(f"{path} is no regular file")
    return os.fdopen(handle, "rb")


def redacted(content: bytes, redact: Callable[[str], str]) -> bytes:
    """A file's bytes with the secrets in it replaced; bytes that are no UTF-8 stay as they are."""
    return redact(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _check_name(name: str) -> None:
    parts = name.split("/")
    if not all(parts) or any(part.startswith(".") for part in parts) or _FORBIDDEN.search(name):
        raise FileRefused(
            f"{name!r} can't be a name in an artifact: it must be relative, without hidden parts and without "
            'any of " : < > | * ? \\'
        )
