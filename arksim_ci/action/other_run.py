"""`command: comment`: publish what another run, as a rule a fork's, measured. Only its JSON files are read, and nothing of it is run."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arksim_ci.action.job import Job
from arksim_ci.action.reported import ReportRefused, read_report
from arksim_ci.action.stopping import CANCELLED, MOST_SECONDS, unless_stopped
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.gates.exit_codes import EXIT_INTERNAL_ERROR, EXIT_OK
from arksim_ci.github.artifact_download import ArtifactUnavailable, ArtifactUnsafe, RunArtifact, download_run_artifacts
from arksim_ci.github.client import GitHubClient, GitHubRefused, PermissionMissing
from arksim_ci.github.comments import Marker
from arksim_ci.github.event import Event, is_fork
from arksim_ci.github.outputs import ending_outputs, result_outputs
from arksim_ci.github.publish import Publication, Publisher
from arksim_ci.github.pull_request import find_pull_request
from arksim_ci.github.workflow import Annotation
from arksim_ci.output import EVALUATION, RECOMMENDATIONS, SIMULATION, VERDICT
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.results import Results

WANTED = (VERDICT, EVALUATION, SIMULATION, RECOMMENDATIONS)
_WORSE = (0, 3, 1)
"""Exit codes of runs that have results, from good to bad."""
PERMISSIONS = "permissions:\n  actions: read\n  pull-requests: write"


@dataclass(frozen=True)
class OtherRun:
    """A run as GitHub's API describes it; nothing of this comes from the run itself."""

    id: int
    number: int
    attempt: int
    started_at: str
    event: Event


async def comment_on_other_run(job: Job) -> int:
    """Publish another run's results.

    Returns:
        The exit code of the step: 0 also where there is nothing to publish.

    Raises:
        ConfigError: the run is none whose results are published.
    """
    code = await unless_stopped(job.world.stop, _comment(job), MOST_SECONDS)
    return _failed(job, CANCELLED.cause) if code is None else code


async def _comment(job: Job) -> int:
    if job.client is None:
        raise ConfigError(Problem("is empty; `command: comment` needs a token that may comment", "input github-token"))
    job.workflow.group("Fetching the results")
    run_id = job.inputs.run_id or 0
    try:
        run = await _other_run(job, job.client, run_id)
        number = await find_pull_request(job.client, job.context.repository, run.event)
        if number is None:
            return _nothing(
                job,
                f"no open pull request has the commit {run.event.head_sha[:12]} of run {run_id} as its head any more: it was "
                "closed, or newer commits were pushed, whose runs report themselves",
            )
        with tempfile.TemporaryDirectory(prefix="arksim-") as folder:
            found = await _artifacts(job, job.client, run, Path(folder))
            if not found:
                return _nothing(
                    job,
                    f"run {run_id} has no artifact {job.inputs.artifact_name}-evaluation: its gate did not run, or uploads under "
                    "another artifact-name",
                )
            return await _publish_all(job, run, found, number)
    except PermissionMissing as error:
        return _failed(job, f"{error}. Give the job these permissions:\n{PERMISSIONS}")
    except (GitHubRefused, ArtifactUnavailable, ArtifactUnsafe) as error:
        return _failed(job, str(error))


async def _other_run(job: Job, client: GitHubClient, run_id: int) -> OtherRun:
    """Look the run up.

    Raises:
        ConfigError: it is no run of a pull request.
        GitHubRefused: it can't be looked up.
    """
    repository = job.context.repository
    value = await client.get(f"/repos/{repository}/actions/runs/{run_id}")
    run: dict[str, Any] = value if isinstance(value, dict) else {}
    if run.get("event") != "pull_request":
        raise ConfigError(
            Problem(
                f"run {run_id} was started by `{str(run.get('event'))[:40]}`; only the results of `pull_request` runs are published",
                "input run-id",
            )
        )
    head = run.get("head_repository")
    owner = head.get("owner") if isinstance(head, dict) else None
    event = Event(
        job.event.name,
        "by_head",
        head_sha=str(run.get("head_sha") or ""),
        head_owner=str(owner.get("login") or "") if isinstance(owner, dict) else "",
        head_branch=str(run.get("head_branch") or ""),
        is_fork=is_fork(head, repository),
    )
    return OtherRun(
        run_id,
        int(run.get("run_number") or 0),
        int(run.get("run_attempt") or 1),
        str(run.get("run_started_at") or ""),
        event,
    )


async def _artifacts(job: Job, client: GitHubClient, run: OtherRun, folder: Path) -> list[RunArtifact]:
    """The results of the run's last attempt: one artifact for each leg of a matrix."""
    name = f"{job.inputs.artifact_name}-evaluation"
    found = await download_run_artifacts(client, job.context.repository, run.id, name, folder, WANTED)
    return [each for each in found if each.created_at >= run.started_at] or found[-1:]


async def _publish_all(job: Job, run: OtherRun, found: list[RunArtifact], number: int) -> int:
    """Publish every leg's results, one after the other: together they could be too large. The outputs are those of the worst leg.

    One that is refused keeps no other back.
    """
    refused: list[str] = []
    outputs: dict[int, dict[str, str]] = {}
    for place, artifact in enumerate(found, 1):
        # By place, not by name: the artifacts of a second attempt have other suffixes than those of the first.
        key = f"{job.inputs.comment_key}/{place}" if place > 1 else job.inputs.comment_key
        try:
            results = read_report(artifact.folder, artifact.files, run.event.head_sha)
        except ReportRefused as error:
            refused.append(f"{artifact.name}: {error}")
            continue
        await _publish(job, run, artifact, results, number, key)
        outputs[results.verdict.exit_code] = result_outputs(results, results.verdict.exit_code)
    if refused:
        return _failed(job, "; ".join(refused))
    job.workflow.end(outputs[max(outputs, key=_WORSE.index)])
    return EXIT_OK


async def _publish(job: Job, run: OtherRun, artifact: RunArtifact, results: Results, number: int, key: str) -> None:
    """Publish one leg's results, in the comment with this key."""
    url = job.context.url_of_run(run.id)
    context = CommentContext(
        top_errors=job.inputs.top_errors,
        fork=run.event.is_fork is not False,
        artifact_name=job.inputs.artifact_name,
        run_id=str(run.id),
        run_url=url,
        commit_url=job.context.url_of_commit(run.event.head_sha),
        evaluation_artifact_url=f"{url}/artifacts/{artifact.id}",
    )
    publication = Publication(
        results=results,
        context=context,
        marker=Marker(key, run.number, run.attempt),
        exit_code=results.verdict.exit_code,
        comment=job.inputs.comment,
    )
    event = replace(run.event, is_fork=False)  # the token of this run may write
    publisher = Publisher(
        job.workflow, event, job.context.repository, job.client, None, job.workflow.redact, pull_request=number
    )
    await publisher.publish(publication, job.world.stop)


def _nothing(job: Job, sentence: str) -> int:
    job.workflow.annotate(Annotation("notice", f"Nothing to publish: {sentence}", "arksim"))
    job.workflow.end(ending_outputs(EXIT_OK, "skipped"))
    return EXIT_OK


def _failed(job: Job, sentence: str) -> int:
    job.workflow.annotate(Annotation("error", sentence, "arksim: the other run's results can't be published"))
    job.workflow.end(ending_outputs(EXIT_INTERNAL_ERROR))
    return EXIT_INTERNAL_ERROR
