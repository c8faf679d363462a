"""What a stranger's artifact may not do to us."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile
from pathlib import Path

import pytest

from arksim_ci.github.artifact_unpack import ArtifactUnsafe, Limits, unpack

WANTED = {"evaluation.json", "verdict.json"}
SMALL = Limits(file_bytes=1000, total_bytes=1500, entries=10)


def make(entries: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that stand in it twice
        for entry, content in entries:
            archive.writestr(entry, content)
    return target


def test_wanted_files_are_unpacked_and_all_others_left_alone(tmp_path: Path) -> None:
    names = [
        "verdict.json",
        "evaluation.json",
        "evil.py",
        "../../verdict.json",
        "/verdict.json",
        "focus/verdict.json",
        "d/",
    ]
    assert unpack(make([(name, name.encode()) for name in names]), tmp_path, WANTED, Limits()) == sorted(WANTED)
    assert {path.name: path.read_text() for path in tmp_path.rglob("*")} == {name: name for name in WANTED}


def test_a_bomb_is_stopped_whatever_it_says_of_its_size(tmp_path: Path) -> None:
    bomb = make([("verdict.json", b"\0" * 50_000_000)])
    with pytest.raises(ArtifactUnsafe, match="larger than it may be"):
        unpack(bomb, tmp_path, WANTED, Limits(file_bytes=1_000_000))
    assert (tmp_path / "verdict.json").stat().st_size <= 1_000_000


def test_all_files_together_have_a_limit(tmp_path: Path) -> None:
    with pytest.raises(ArtifactUnsafe, match=r"verdict\.json .* larger"):
        unpack(make([("evaluation.json", b"x" * 900), ("verdict.json", b"x" * 900)]), tmp_path, WANTED, SMALL)


def test_too_many_entries(tmp_path: Path) -> None:
    with pytest.raises(ArtifactUnsafe, match="11 entries; 10 are allowed"):
        unpack(make([(str(number), b"") for number in range(11)]), tmp_path, WANTED, SMALL)


def test_a_directory_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(ArtifactUnsafe, match="too many entries"):
        unpack(make([(str(number), b"") for number in range(1000)]), tmp_path, WANTED, SMALL)


def test_a_wanted_name_may_be_no_link(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("verdict.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(ArtifactUnsafe, match="no plain file"):
        unpack(make([(link, b"/etc/passwd")]), tmp_path, WANTED, Limits())
    assert list(tmp_path.iterdir()) == []


def test_a_name_may_stand_in_it_once(tmp_path: Path) -> None:
    with pytest.raises(ArtifactUnsafe, match="twice"):
        unpack(make([("verdict.json", b"{}"), ("verdict.json", b"[]")]), tmp_path, WANTED, Limits())


def test_other_ways_to_pack_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactUnsafe, match="packed in a way"):
        unpack(make([("verdict.json", b"{}")], zipfile.ZIP_LZMA), tmp_path, WANTED, Limits())
    encrypted = bytearray(make([("verdict.json", b"{}")]).getvalue())
    directory = encrypted.rindex(b"PK\x01\x02")
    encrypted[directory + 8] |= 1
    with pytest.raises(ArtifactUnsafe, match="encrypted"):
        unpack(io.BytesIO(encrypted), tmp_path, WANTED, Limits())


def broken() -> list[bytes]:
    good = make([("verdict.json", b"{}" * 100)]).getvalue()
    flipped = bytearray(good)
    flipped[45] ^= 0xFF
    return [b"", b"PK", b"<html>", good[:-10], good[40:], bytes(flipped), b"PK\x05\x06" + b"\0" * 18 + b"junk" * 10_000]


@pytest.mark.parametrize("content", broken(), ids=lambda content: f"{len(content)}-bytes")
def test_a_broken_zip_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    try:
        found = unpack(io.BytesIO(content), tmp_path, WANTED, Limits())
    except ArtifactUnsafe:
        return
    assert found == []


def test_a_file_that_lies_there_already_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    into = tmp_path / "into"
    into.mkdir()
    (into / "verdict.json").symlink_to(outside)
    with pytest.raises(FileExistsError):
        unpack(make([("verdict.json", b"{}")]), into, WANTED, Limits())
    assert not outside.exists()
