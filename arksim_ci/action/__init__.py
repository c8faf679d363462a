"""The action: the same run inside of GitHub. Reads the inputs, runs, publishes, returns the exit code."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

from arksim_ci.action.problems import report_problems
from arksim_ci.action.world import World, real_world
from arksim_ci.config.errors import ConfigError
from arksim_ci.gates.exit_codes import EXIT_CONFIG_ERROR, EXIT_INTERNAL_ERROR
from arksim_ci.github.context import MOUNTED, ON_THE_RUNNER, read_context
from arksim_ci.github.outputs import ending_outputs
from arksim_ci.github.workflow import Annotation, LogHandler, Workflow

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
    handler = LogHandler(workflow)
    package = logging.getLogger("arksim_ci")
    level = package.level
    package.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        return await _run(world, context, workflow)
    except ConfigError as error:
        report_problems(error, workflow, context.workspace)
        return EXIT_CONFIG_ERROR
    except Exception as error:
        workflow.log(traceback.format_exc())
        workflow.annotate(Annotation("error", f"{type(error).__name__}: {error}", "arksim: internal error"))
        workflow.outputs(ending_outputs(EXIT_INTERNAL_ERROR))
        return EXIT_INTERNAL_ERROR
    finally:
        workflow.end_group()
        package.removeHandler(handler)
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
