"""The action as steps of the job itself, run by the job's own Python: the gate, then, after the uploads, what is published.

The inputs come as one JSON object in `INPUT_JSON`: as text of a script they could be commands, and `INPUT_*` is out of reach for the
user's commands and for a configuration.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from arksim_ci.action import run
from arksim_ci.action.hand_over import KINDS, read_state, with_urls
from arksim_ci.action.job import read_job
from arksim_ci.action.world import Later, World, real_world
from arksim_ci.config.environment import hide_our_environment
from arksim_ci.config.errors import ConfigError
from arksim_ci.github.context import read_context
from arksim_ci.github.inputs import OF_THE_COMPOSITE, variable
from arksim_ci.github.outputs import url_outputs
from arksim_ci.github.publish import Publisher
from arksim_ci.github.workflow import LogHandler, Workflow
from arksim_ci.process import collect_garbage_rarely
from arksim_ci.redaction import redactor

INPUTS: Final = "INPUT_JSON"
JOB_PYTHON: Final = "INPUT_JOB_PYTHON"
"""The variable with the path of the Python in which the user's Python runs."""
JOB_INDEX: Final = "INPUT_JOB_INDEX"
"""The variable with the number of the matrix's leg, from 0."""
_OUTPUT_OF_KIND: Final = {"report": "report-url", "evaluation": "artifact-url", "focus": "focus-artifact-url"}


def main(step: str) -> int:
    """Run a step: `gate` or `publish`.

    Returns:
        The exit code of the step, which is not the gate's: that one is the output `step-exit-code`, with which the last step ends.
    """
    hide_our_environment()
    collect_garbage_rarely()
    # What a library says once the step is over must not reach the runner as it is.
    logging.getLogger().addHandler(logging.NullHandler())

    async def live() -> int:
        world = real_world()
        return await (gate(world) if step == "gate" else publish(world))

    return asyncio.run(live())


async def gate(world: World) -> int:
    """Run the gate; leave what is to be uploaded and published to the steps that follow."""
    context = read_context(world.environment)
    folder = Path(tempfile.mkdtemp(prefix="arksim-", dir=context.runner_temp))
    job_python = Path(world.environment[JOB_PYTHON])
    code = await run(
        replace(
            world,
            environment=environment_of(world.environment),
            user_venv=folder / "user",
            job_python=job_python,
            later=Later(folder, _suffix(world.environment.get(JOB_INDEX, ""))),
        )
    )
    trouble = Workflow(world.stream, context.output_file, None).outputs({"step-exit-code": str(code)})
    return code if trouble else 0


async def publish(world: World) -> int:
    """Publish what the gate left, with links to what was uploaded. What fails is said, and changes nothing."""
    variables = world.environment
    context = read_context(variables)
    workflow = Workflow(world.stream, context.output_file, context.summary_file)
    handler = LogHandler(workflow)
    package = logging.getLogger("arksim_ci")
    package.addHandler(handler)
    try:
        handed = read_state(Path(variables["INPUT_HAND_OVER"]))
        job = read_job(replace(world, environment=environment_of(variables)), context, workflow)
    except (OSError, ValueError, ConfigError) as error:
        workflow.warning(f"nothing can be published: {error}")
        package.removeHandler(handler)
        return 1
    try:
        workflow.redact = redactor(job.secrets())
        urls, focus_name = _uploaded(variables, workflow)
        workflow.outputs(url_outputs({_OUTPUT_OF_KIND[kind]: url for kind, url in urls.items()}))
        publisher = Publisher(workflow, handed.event, context.repository, job.client, None, workflow.redact)
        await publisher.publish(with_urls(handed.publication, urls, focus_name), world.stop)
        return 0
    finally:
        await job.close()
        package.removeHandler(handler)


def environment_of(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as the Docker action finds them: each input in a variable of its own.

    Args:
        variables: the step's own; whatever else begins with `INPUT_` there is no input of ours.

    Raises:
        ValueError: `INPUT_JSON` is no JSON object.
    """
    given = json.loads(variables.get(INPUTS, "{}"))
    if not isinstance(given, dict):
        raise ValueError(f"{INPUTS} is no JSON object")
    kept = {name: value for name, value in variables.items() if not name.startswith("INPUT_")}
    inputs = {variable(name): str(value) for name, value in given.items() if name not in OF_THE_COMPOSITE}
    return {**kept, **inputs}


def _suffix(job_index: str) -> str:
    """What a taken name gets: another one in each leg of a matrix, from `-2` on."""
    return f"-{int(job_index) + 2}" if job_index.isascii() and job_index.isdigit() and len(job_index) < 5 else "-2"


def _uploaded(variables: Mapping[str, str], workflow: Workflow) -> tuple[dict[str, str], str]:
    """Where each artifact is, and the focus artifact's name; says what was not uploaded."""
    urls, focus_name = {}, ""
    for kind in KINDS:
        name, again, url, url_again = (
            variables.get(f"INPUT_{kind.upper()}_{part}", "") for part in ("NAME", "AGAIN_NAME", "URL", "AGAIN_URL")
        )
        urls[kind] = url or url_again
        if kind == "focus":
            focus_name = name if url else again
        if name and not urls[kind]:
            workflow.warning(f"the artifact {name} was not uploaded; its files are in the workspace")
        elif not url and url_again:
            workflow.log(f"The name {name} was taken, the artifact is {again}")
        if urls[kind]:
            workflow.log(f"{_OUTPUT_OF_KIND[kind]}: {urls[kind]}")
    return urls, focus_name
