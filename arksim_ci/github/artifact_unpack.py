"""Unpacking what a stranger's run uploaded: only names that we know, only so many bytes, no links, no paths."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_PIECE: Final = 64 * 1024
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END: Final = struct.Struct("<4s4H2LH")
"""The last record of a zip, by PKWARE's APPNOTE 4.3.16; the sixth field is the size of its directory in bytes."""
_ENTRY_BYTES: Final = 1024


class ArtifactUnsafe(Exception):
    """An artifact is broken, too large, or made to do harm. The text says which."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a downloaded artifact may hold: bytes as they come, bytes of a file and of all files, number of entries."""

    download_bytes: int = 64 * 1024 * 1024
    file_bytes: int = 100 * 1024 * 1024
    total_bytes: int = 200 * 1024 * 1024
    entries: int = 2000


def unpack(packed: IO[bytes], into: Path, wanted: Collection[str], limits: Limits) -> list[str]:
    """Unpack the wanted files of a zip; all others are left alone, unread.

    Args:
        packed: the zip.
        into: an empty folder of ours.
        wanted: names at the top of the zip.
        limits: for what is unpacked.

    Returns:
        The names that were found, in alphabetical order.

    Raises:
        ArtifactUnsafe: the zip is none, is broken, holds a wanted name twice or as something else than a plain file, or
            breaks a limit.
    """
    found: list[str] = []
    total = 0
    _check_directory(packed, limits)
    try:
        with zipfile.ZipFile(packed) as archive:
            entries = archive.infolist()
            if len(entries) > limits.entries:
                raise ArtifactUnsafe(f"the artifact holds {len(entries)} entries; {limits.entries} are allowed")
            for entry in sorted(entries, key=lambda entry: entry.filename):
                if entry.filename not in wanted:
                    continue
                _check(entry, found)
                with archive.open(entry) as source, (into / entry.filename).open("xb") as target:
                    total += _copy(source, target, entry.filename, min(limits.file_bytes, limits.total_bytes - total))
                found.append(entry.filename)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ArtifactUnsafe(f"the artifact is no zip that can be read ({type(error).__name__})") from None
    return found


def _check_directory(packed: IO[bytes], limits: Limits) -> None:
    """Refuse a directory so large that reading it alone would fill the memory; `ZipFile` reads all of it at once."""
    size = packed.seek(0, os.SEEK_END)
    packed.seek(max(0, size - _END.size - 0xFFFF))
    tail = packed.read()
    start = tail.rfind(b"PK\x05\x06")
    if start < 0 or len(tail) - start < _END.size:
        raise ArtifactUnsafe("the artifact is no zip that can be read (it has no end record)")
    directory_bytes = _END.unpack_from(tail, start)[5]
    if directory_bytes > limits.entries * _ENTRY_BYTES or tail[max(0, start - 20) : start].startswith(b"PK\x06\x07"):
        raise ArtifactUnsafe(f"the artifact holds too many entries; {limits.entries} are allowed")


def _check(entry: zipfile.ZipInfo, found: list[str]) -> None:
    name = entry.filename
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if name in found:
        raise ArtifactUnsafe(f"the artifact holds {name} twice")
    if kind not in (0, stat.S_IFREG):
        raise ArtifactUnsafe(f"{name} in the artifact is no plain file")
    if entry.flag_bits & 0x1 or entry.compress_type not in _METHODS:
        raise ArtifactUnsafe(f"{name} in the artifact is encrypted, or packed in a way that is not read here")


def _copy(source: IO[bytes], target: IO[bytes], name: str, most: int) -> int:
    """Copy while counting: what a zip says about its sizes is not believed."""
    size = 0
    while piece := source.read(_PIECE):
        size += len(piece)
        if size > most:
            raise ArtifactUnsafe(f"{name} in the artifact is larger than it may be ({most} bytes are left for it)")
        target.write(piece)
    return size
