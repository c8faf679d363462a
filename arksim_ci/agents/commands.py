"""How the user's commands are run: bash, in the workspace, in the job's environment without our tokens, with a Python of their own first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from arksim_ci.config.environment import without_tokens

BASH: Final = ("/bin/bash", "-eo", "pipefail", "-c")
"""As GitHub runs a `run:` step; the absolute path holds whatever PATH the job exported."""

_STANDARD_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class SetUpFailed(Exception):
    """What the run needs could not be set up; the text says what failed, and how it ended."""


def with_last_lines(cause: str, last_lines: str) -> str:
    """A cause with what was printed last below it."""
    return f"{cause} The last lines:\n{last_lines}" if last_lines else f"{cause} It printed nothing."


def user_environment(environment: Mapping[str, str], python: Path | None) -> dict[str, str]:
    """The environment of the user's commands.

    As a venv's `activate` script leaves it: the venv is first in PATH, PYTHONHOME is gone. The standard folders are in PATH even where
    the job's own leaves them out.

    Args:
        environment: the job's variables.
        python: the interpreter of the user's venv; None where the job's own Python and PATH stay what they are.
    """
    inner = without_tokens(environment)
    folders = [*inner.get("PATH", "").split(os.pathsep), *_STANDARD_FOLDERS]
    if python is not None:
        inner.pop("PYTHONHOME", None)
        inner["VIRTUAL_ENV"] = str(python.parent.parent)
        folders.insert(0, str(python.parent))
    inner["PATH"] = os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))
    inner.setdefault("PYTHONUNBUFFERED", "1")  # else an agent's last words are lost when it is stopped
    inner.setdefault("PYTHONDONTWRITEBYTECODE", "1")  # no files of root's in a self-hosted runner's workspace
    return inner
