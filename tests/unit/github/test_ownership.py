"""What a container made as root is given to the owner of the workspace, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arksim_ci.github.ownership import give_to_owner, missing_folders

OTHER = 12_345


def test_only_folders_that_are_not_there_are_made(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    wanted = [tmp_path / "a" / "b" / "c", tmp_path / "a", tmp_path / "link", tmp_path.parent / "outside"]
    assert missing_folders(wanted, tmp_path) == (tmp_path / "a" / "b", tmp_path / "a" / "b" / "c")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_go_to_the_workspace_s_owner_and_links_are_not_followed(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    for path in (outside, workspace / "ours", workspace / "theirs"):
        path.write_text("x")
    (workspace / "link").symlink_to(outside)
    os.chown(workspace, OTHER, OTHER)
    give_to_owner([workspace / "ours", workspace / "link", workspace / "gone", outside], workspace)
    assert (workspace / "ours").stat().st_uid == OTHER
    assert (workspace / "link").lstat().st_uid == OTHER
    assert outside.stat().st_uid == (workspace / "theirs").stat().st_uid == 0
