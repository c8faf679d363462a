"""Gives the files that a container made as root to the owner of the workspace: self-hosted runners can't delete them otherwise."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def missing_folders(paths: Iterable[Path], workspace: Path) -> tuple[Path, ...]:
    """The folders inside of the workspace that have to be made for these files or folders, seen before anything is written."""
    found = {
        folder
        for path in paths
        for folder in (path, *path.parents)
        if folder != workspace and folder.is_relative_to(workspace) and not os.path.lexists(folder)
    }
    return tuple(sorted(found))


def give_to_owner(made: Iterable[Path], workspace: Path) -> None:
    """Give files and folders inside of the workspace to its owner. Links are not followed; what is not ours to give stays."""
    with contextlib.suppress(OSError):
        owner = workspace.stat()
        if owner.st_uid == os.geteuid():
            return
        for path in made:
            if path.is_relative_to(workspace):
                with contextlib.suppress(OSError):
                    os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
