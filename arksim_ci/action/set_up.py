"""What the inputs ask for before the run: packages, a set-up, an agent. All of it ends with the run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from arksim_ci.action.job import Job
from arksim_ci.action.stopping import CANCELLED, unless_stopped
from arksim_ci.agents.commands import SetUpFailed
from arksim_ci.agents.process import IN_THE_IMAGE, AgentCommands, started
from arksim_ci.agents.requirements import install_requirements, is_in_venv, make_venv
from arksim_ci.config.model import RunConfig
from arksim_ci.config.variables import resolve_agent
from arksim_ci.github.workflow import Annotation
from arksim_ci.output import AGENT_LOG
from arksim_ci.pipeline.conclusion import Ending
from arksim_ci.schema.verdict import Command

IN_THE_JOB: Final = "commands are those that the job's earlier steps installed and put into PATH"


async def set_up(
    job: Job, config: RunConfig, command: Command, environment: Mapping[str, str], stack: AsyncExitStack
) -> Ending | None:
    """Install, set up and start.

    Args:
        job: the step.
        config: the run's settings.
        command: what is run; `evaluate` has no agent.
        environment: the job's variables, without ours.
        stack: stops what was started.

    Returns:
        How the run ends where this fails or is cancelled; None where all is well.
    """
    given = job.inputs
    if not (given.requirements or given.setup_command or given.agent_command):
        return None
    job.workflow.group("Setting up")
    try:
        done = await unless_stopped(job.world.stop, _work(job, config, command, environment, stack))
    except SetUpFailed as error:
        return failed(job, str(error), "arksim: the set-up failed")
    return None if done else CANCELLED


def failed(job: Job, cause: str, title: str) -> Ending:
    """End the run with a cause that its reader sees in full."""
    job.workflow.annotate(Annotation("error", cause, title))
    job.workflow.log(cause)
    return Ending("FAILED", cause)


async def _work(
    job: Job, config: RunConfig, command: Command, environment: Mapping[str, str], stack: AsyncExitStack
) -> bool:
    given, venv, workspace = job.inputs, job.world.user_venv, job.context.workspace
    redact, log = job.workflow.redact, job.workflow.log
    job_python = job.world.job_python
    python: Path | None
    if given.requirements:
        python = await install_requirements(
            given.requirements,
            venv,
            workspace=workspace,
            environment=environment,
            redact=redact,
            log=log,
            job_python=job_python,
        )
    elif job_python:
        python = job_python if is_in_venv(job_python) else None
    else:
        python = await make_venv(venv, workspace=workspace, environment=environment, redact=redact)
    agent = resolve_agent(config, environment) if command != "evaluate" else None
    commands = AgentCommands(
        setup=given.setup_command or None,
        agent=given.agent_command or None,
        health_url=given.agent_health_url or None,
        endpoint=agent.api_config.endpoint if agent and agent.api_config else "",
        startup_timeout_seconds=given.agent_startup_timeout_seconds,
        workspace=workspace,
        environment=environment,
        log_path=config.output_dir / AGENT_LOG,
        python=python,
        has=IN_THE_JOB if job_python else IN_THE_IMAGE,
    )
    await stack.enter_async_context(started(commands, redact=redact, log=log))
    return True
