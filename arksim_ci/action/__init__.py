"""The action: the same run inside of GitHub. Reads the inputs, runs, publishes, returns the exit code."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from arksim_ci.action.problems import report_crash, report_problems
from arksim_ci.action.world import World, real_world
from arksim_ci.config.errors import ConfigError
from arksim_ci.gates.exit_codes import EXIT_CONFIG_ERROR, EXIT_INTERNAL_ERROR
from arksim_ci.github.context import MOUNTED, ON_THE_RUNNER, read_context
from arksim_ci.github.inputs import given_secrets
from arksim_ci.github.workflow import LogHandler, Workflow
from arksim_ci.process import collect_garbage_rarely
from arksim_ci.redaction import redactor

if TYPE_CHECKING:
    from arksim_ci.github.context import GitHubContext

__all__ = ["main", "run"]


def main() -> int:
    """Run the action in this process. SIGINT and SIGTERM end the run in order.

    Returns:
        The documented exit code.
    """
    import asyncio  # noqa: PLC0415

    async def live() -> int:
        return await run(real_world())

    collect_garbage_rarely()
    # What a library says once the run is over must not reach the runner as it is.
    logging.getLogger().addHandler(logging.NullHandler())
    return asyncio.run(live())


async def run(world: World) -> int:
    """Run the action.

    Args:
        world: every side effect: variables, output, clock, network.

    Returns:
        The exit code of the step.
    """
    context = read_context(world.environment, ON_THE_RUNNER if world.job_python else MOUNTED)
    workflow = Workflow(world.stream, context.output_file, context.summary_file)
    secrets = given_secrets(world.environment, context)
    workflow.mask(secrets.api_key)
    workflow.redact = redactor(secrets)
    handler = LogHandler(workflow)
    # At the root: a warning of a library may repeat what an agent said, and stderr is read for commands, too.
    root, package = logging.getLogger(), logging.getLogger("arksim_ci")
    level = package.level
    root.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        return await _run(world, context, workflow)
    except ConfigError as error:
        report_problems(error, workflow, context.workspace)
        return EXIT_CONFIG_ERROR
    except Exception as error:
        report_crash(error, workflow)
        return EXIT_INTERNAL_ERROR
    finally:
        workflow.end_group()
        root.removeHandler(handler)
        package.setLevel(level)


async def _run(world: World, context: GitHubContext, workflow: Workflow) -> int:
    from arksim_ci.action.job import Job, read_job  # noqa: PLC0415

    job: Job = read_job(world, context, workflow)
    try:
        if job.inputs.command == "comment":
            from arksim_ci.action.other_run import comment_on_other_run  # noqa: PLC0415

            return await comment_on_other_run(job)
        from arksim_ci.action.gate import run_gate  # noqa: PLC0415

        return await run_gate(job)
    finally:
        await job.close()
