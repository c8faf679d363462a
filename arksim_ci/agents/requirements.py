"""The user's own packages, for custom agents, metrics and commands: in a venv apart from ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from arksim_ci.agents.command_log import CommandLog
from arksim_ci.agents.commands import SetUpFailed, user_environment, with_last_lines
from arksim_ci.agents.process_group import ProcessGroup, how_it_ended


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
) -> Path:
    """Install a requirements file and return the interpreter of the venv that has it.

    Args:
        requirements_file: as pip reads it; relative paths in it start from the workspace.
        venv: the venv's folder; it is made where it is not there.
        workspace: the working directory of pip.
        environment: the job's variables; pip's own (PIP_INDEX_URL, ...) count.
        redact: replaces secrets in what pip printed.
        log: takes a line about what is done.

    Raises:
        RequirementsNotInstalled: with the last lines of what was printed.
    """
    python = await make_venv(venv, workspace=workspace, environment=environment, redact=redact)
    log(f"Installing {requirements_file.name} for the user's Python")
    pip = [str(python), "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]
    await _run(
        [*pip, "-r", str(requirements_file)],
        f"`requirements`: pip could not install {requirements_file}",
        workspace,
        user_environment(environment, python),
        redact,
    )
    return python


async def make_venv(
    venv: Path, *, workspace: Path, environment: Mapping[str, str], redact: Callable[[str], str]
) -> Path:
    """The interpreter of a plain venv with pip, which is made where it is not there.

    Raises:
        RequirementsNotInstalled: it can't be made.
    """
    python = venv / "bin" / "python"
    if not python.is_file():
        base = Path(sys.executable)
        await _run(
            [str(base), "-I", "-m", "venv", str(venv)],
            f"no environment for the user's Python could be made in {venv}",
            workspace,
            user_environment(environment, base),
            redact,
        )
    return python


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
