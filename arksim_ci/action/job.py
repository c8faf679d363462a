"""What every command of the action starts from: the inputs, the event, the way to GitHub."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from arksim_ci.action.world import World
from arksim_ci.github.artifacts import ArtifactUploader
from arksim_ci.github.client import GitHubClient
from arksim_ci.github.comments import Marker
from arksim_ci.github.context import GitHubContext
from arksim_ci.github.event import Event, read_event
from arksim_ci.github.inputs import Inputs, given_secrets, read_inputs
from arksim_ci.github.workflow import Workflow

LARGEST_EVENT = 25 * 1024 * 1024


@dataclass
class Job:
    """One step of a job on GitHub."""

    world: World
    context: GitHubContext
    workflow: Workflow
    inputs: Inputs
    event: Event
    payload: dict[str, Any] = field(repr=False)
    client: GitHubClient | None
    """None where there is no token."""

    @property
    def commit(self) -> str:
        """The commit under test: the pull request's own, not the merge that GitHub makes of it; empty if unknown."""
        return self.event.head_sha or self.context.sha

    def uploader(self) -> ArtifactUploader | None:
        """Uploads artifacts; None where none are wanted."""
        if not self.inputs.upload_artifacts:
            return None
        return ArtifactUploader(
            runtime_token=self.context.runtime_token,
            results_url=self.context.results_url,
            server_url=self.context.server_url,
            repository=self.context.repository,
            run_id=str(self.context.run_id),
            max_retention_days=self.context.retention_days,
            mask=self.workflow.mask,
            redact=self.workflow.redact,
            sleep=self.world.sleep,
            now=self.world.seconds,
        )

    def marker(self) -> Marker:
        """The marker of this run's comment."""
        return Marker(self.inputs.comment_key, self.context.run_number, self.context.run_attempt)

    def secrets(self) -> tuple[str, ...]:
        """The tokens and keys that this step was given directly."""
        return tuple(filter(None, given_secrets(self.world.environment, self.context)))

    async def close(self) -> None:
        """Close connections."""
        if self.client is not None:
            await self.client.close()


def read_job(world: World, context: GitHubContext, workflow: Workflow) -> Job:
    """Read the inputs and the event.

    Raises:
        ConfigError: with every input that is wrong.
    """
    inputs = read_inputs(world.environment, context)
    if inputs.warnings:  # GitHub shows ten warnings of a step: these take one
        workflow.warning("\n".join(inputs.warnings))
    payload = _payload(context, workflow)
    client = None
    if inputs.github_token and context.repository:
        client = GitHubClient(
            context.api_url,
            context.graphql_url,
            inputs.github_token,
            sleep=world.sleep,
            now=world.seconds,
            monotonic=world.monotonic,
        )
    event = read_event(context.event_name, payload, context)
    return Job(world, context, workflow, inputs, event, payload, client)


def _payload(context: GitHubContext, workflow: Workflow) -> dict[str, Any]:
    if context.event_path is None:
        return {}
    try:
        with context.event_path.open("rb") as file:
            value = json.loads(file.read(LARGEST_EVENT))
    except (OSError, ValueError, RecursionError) as error:
        workflow.warning(f"the event file can't be read, so no pull request is known: {error}")
        return {}
    return value if isinstance(value, dict) else {}
