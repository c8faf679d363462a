"""Whole texts as snapshot files, kept beside the tests that write them. `UPDATE_SNAPSHOTS=1` rewrites the files."""

from __future__ import annotations

import os
from pathlib import Path


def assert_matches(text: str, snapshot: Path) -> None:
    """Compare a text with its snapshot file, or write the file when asked to.

    Raises:
        AssertionError: The text differs, or there is no snapshot yet.
    """
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        snapshot.parent.mkdir(parents=True, exist_ok=True)
        snapshot.write_text(text, encoding="utf-8", newline="")
        return
    assert snapshot.exists(), f"There is no {snapshot.name} yet: run with UPDATE_SNAPSHOTS=1 and read what it says."
    assert text == snapshot.read_text(encoding="utf-8"), (
        f"{snapshot.name} differs: run with UPDATE_SNAPSHOTS=1 and read the diff."
    )
