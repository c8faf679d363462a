"""The output folder holds one run's files, whole, and nobody else's are touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.output import OutputFolder, OutputRefused


def test_files_of_an_earlier_run_are_deleted_and_foreign_ones_stay(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    for name in ("verdict.json", "final_report.html", "focus/error_12.json", "focus/all_failures.json"):
        folder.write(name, "old")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "focus" / "error_x.json").write_text("mine")
    folder.clear()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "focus/error_x.json",
        "notes.txt",
    ]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    (out / "verdict.json").symlink_to(target)
    with pytest.raises(OutputRefused, match=r"verdict\.json: is a symbolic link"):
        OutputFolder(out).write("verdict.json", "{}")
    (tmp_path / "link").symlink_to(out)
    with pytest.raises(OutputRefused, match="is a symbolic link"):
        OutputFolder(tmp_path / "link").check()
    (out / "focus").symlink_to(tmp_path)
    (tmp_path / "all_failures.json").write_text("precious")
    OutputFolder(out).clear()
    with pytest.raises(OutputRefused, match="is a symbolic link"):
        OutputFolder(out).write("focus/error_1.json", "{}")
    assert target.read_text() == (tmp_path / "all_failures.json").read_text() == "precious"


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputRefused, match="out: is a file, not a folder"):
        OutputFolder(tmp_path / "out").check()


def test_text_that_utf_8_cannot_hold_is_written_all_the_same(tmp_path: Path) -> None:
    path = OutputFolder(tmp_path).write("final_report.md", "a\ud800b\r\n")
    assert path.read_bytes() == b"a?b\r\n"


def test_a_folder_is_one_runs_at_a_time(tmp_path: Path) -> None:
    refused = pytest.raises(OutputRefused, match="another run writes to it now")
    with OutputFolder(tmp_path).alone(), refused, OutputFolder(tmp_path).alone():
        pass
    with OutputFolder(tmp_path).alone():
        assert list(tmp_path.iterdir()) == []
