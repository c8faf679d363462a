"""The examples that ship with the package: the sample agent and the starting point for a new project."""

from __future__ import annotations

from pathlib import Path


def examples_folder() -> Path:
    """Where the examples are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "examples"
    return installed if installed.is_dir() else package.parent / "examples"
