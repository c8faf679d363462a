"""The user's own packages, for custom agents, metrics and commands: in a venv apart from ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from arksim_ci.agents.command_log import CommandLog
from arksim_ci.agents.commands import SetUpFailed, user_environment, with_last_lines
from arksim_ci.agents.process_group import ProcessGroup, how_it_ended

_SHOW_PACKAGES: Final = """
import sys
folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for folder in folders:
        print(f"import site; site.addsitedir({folder!r})", file=file)
"""
"""Run by the job's Python: writes the file by which a venv sees that Python's packages, editable installs included, behind its own."""


class RequirementsNotInstalled(SetUpFailed):
    """The file of the input `requirements` could not be installed."""


async def install_requirements(
    requirements_file: Path,
    venv: Path,
    *,
    workspace: Path,
    environment: Mapping[str, str],
    redact: Callable[[str], str],
    log: Callable[[str], None],
    job_python: Path | None = None,
) -> Path:
    """Install a requirements file and return the interpreter of the venv that has it.

    What pip downloads and builds stays in the runner's tool cache, where there is one; pip still asks for newer versions, so that a
    gate never tests an agent with packages of last month.

    Args:
        requirements_file: as pip reads it; relative paths in it start from the workspace.
        venv: the venv's folder; it is made where it is not there.
        workspace: the working directory of pip.
        environment: the job's variables; pip's own (PIP_INDEX_URL, ...) count.
        redact: replaces secrets in what pip printed.
        log: takes a line about what is done.
        job_python: the Python to make the venv of, whose packages stay visible behind those of the file; None: ours, with none of its
            packages.

    Raises:
        RequirementsNotInstalled: with the last lines of what was printed.
    """
    python = await make_venv(venv, workspace=workspace, environment=environment, redact=redact, base=job_python)
    cache = pip_cache(environment)
    log(f"Installing {requirements_file.name} for the user's Python" + (f" (cache: {cache})" if cache else ""))
    pip = [str(python), "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    pip += ["--cache-dir", str(cache)] if cache else ["--no-cache-dir"]
    await _run(
        [*pip, "-r", str(requirements_file)],
        f"`requirements`: pip could not install {requirements_file}",
        workspace,
        user_environment(environment, python),
        redact,
    )
    if job_python:
        await _run(
            [str(job_python), "-c", _SHOW_PACKAGES, str(_packages_of(venv) / "packages_of_the_job.pth")],
            f"the packages of {job_python} can't be made visible",
            workspace,
            user_environment(environment, None),
            redact,
        )
    return python


def pip_cache(environment: Mapping[str, str]) -> Path | None:
    """The folder for what pip downloads and builds, in the runner's tool cache; None where no tool cache can be written to.

    A container action is told of the runner's tool cache, but sees it only where it was mounted.
    """
    folder = Path(environment.get("RUNNER_TOOL_CACHE", ""))
    usable = folder.is_absolute() and folder.is_dir() and os.access(folder, os.W_OK)
    return folder / "arksim-action" / "pip" if usable else None


def is_in_venv(python: Path) -> bool:
    """Whether an interpreter is that of a venv."""
    return (python.parent.parent / "pyvenv.cfg").is_file()


async def make_venv(
    venv: Path,
    *,
    workspace: Path,
    environment: Mapping[str, str],
    redact: Callable[[str], str],
    base: Path | None = None,
) -> Path:
    """The interpreter of a plain venv with pip, which is made where it is not there. `base` is the Python to make it of; None: ours.

    Raises:
        RequirementsNotInstalled: it can't be made.
    """
    python = venv / "bin" / "python"
    if not python.is_file():
        base = base or Path(sys.executable)
        await _run(
            [str(base), "-I", "-m", "venv", str(venv)],
            f"no environment for the user's Python could be made in {venv}",
            workspace,
            user_environment(environment, None),
            redact,
        )
    return python


def _packages_of(venv: Path) -> Path:
    """Where a venv's packages are."""
    (folder,) = venv.glob("lib/python*/site-packages")
    return folder


async def _run(
    arguments: Sequence[str],
    failure: str,
    workspace: Path,
    environment: Mapping[str, str],
    redact: Callable[[str], str],
) -> None:
    log = CommandLog(None, redact)
    try:
        group = await ProcessGroup.start(arguments, folder=workspace, environment=environment, on_line=log.line)
    except OSError as error:
        raise RequirementsNotInstalled(f"{failure}: {error.strerror}.") from error
    try:
        code = await group.exit_code()
        await group.output_read()
    finally:
        await group.stop()
    if code != 0:
        raise RequirementsNotInstalled(with_last_lines(f"{failure} ({how_it_ended(code)}).", log.last_lines()))
