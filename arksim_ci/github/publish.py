"""Everything that a run leaves on GitHub: artifacts, comment, summary, annotations, outputs. What fails is said, and changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from arksim_ci.github.annotations import annotations_of
from arksim_ci.github.artifacts import ArtifactRefused, ArtifactUploader, UploadedArtifact
from arksim_ci.github.client import GitHubClient, GitHubRefused
from arksim_ci.github.comments import PERMISSIONS, CannotComment, Marker, Mode, publish_comment
from arksim_ci.github.event import Event
from arksim_ci.github.gate_changes import find_gate_changes
from arksim_ci.github.outputs import file_outputs, result_outputs, url_outputs
from arksim_ci.github.pull_request import find_pull_request
from arksim_ci.github.workflow import Annotation, Workflow
from arksim_ci.output import AGENT_LOG, FOCUS, RESULT_FILES
from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.markdown_report import render_summary
from arksim_ci.reports.results import Results
from arksim_ci.reports.write import HTML_REPORT

logger = logging.getLogger(__name__)

HURRY_SECONDS: Final = 3.5
"""What publishing may still take once the run was told to stop: the runner kills ten seconds after its first signal."""
FORKS_PAGE: Final = "https://github.com/org/arksim-action/blob/main/docs/forks.md"
_SMALLEST_SUMMARY = 2000


@dataclass(frozen=True)
class Publication:
    """What is to be published.

    `results` and `context` hold no secrets any more. Paths of `gate_files`, `config_file` and `scenario_file` are relative to the
    repository; `scenario_lines` maps scenario ids to lines. `exit_code` is the run's own, whatever the step ends with.
    """

    results: Results
    context: CommentContext
    marker: Marker
    exit_code: int
    files: tuple[Path, ...] = ()
    folder: Path | None = None
    workspace: Path = Path("/github/workspace")
    gate_files: tuple[str, ...] = ()
    config_file: str = ""
    scenario_file: str = ""
    scenario_lines: Mapping[str, int] = field(default_factory=dict)
    comment: Mode = "always"
    artifact_name: str = "arksim"
    retention_days: int | None = None

    @property
    def evaluation_files(self) -> dict[str, Path]:
        """What goes into the artifact with the results, by name: our files in the output folder, and nothing else of it."""
        folder = self.folder
        own = {folder / each for each in (*RESULT_FILES, AGENT_LOG)} if folder else set()
        return {path.name: path for path in self.files if path in own}

    @property
    def focus_files(self) -> dict[str, Path]:
        """What goes into the artifact with the focus files, by name."""
        return {path.name: path for path in self.files if self.folder and path.parent == self.folder / FOCUS}


class Publisher:
    """Publishes one run.

    Args:
        workflow: the step's log, outputs, summary and annotations.
        event: what started the workflow.
        repository: `owner/name`.
        client: talks to GitHub; None where there is no token.
        uploader: uploads artifacts; None where none are wanted.
        redact: replaces secrets in what was rendered.
        pull_request: the pull request, where it is known by other means than the event.
    """

    def __init__(
        self,
        workflow: Workflow,
        event: Event,
        repository: str,
        client: GitHubClient | None,
        uploader: ArtifactUploader | None,
        redact: Callable[[str], str],
        pull_request: int | None = None,
    ) -> None:
        self._workflow = workflow
        self._event = event
        self._repository = repository
        self._client = client
        self._uploader = uploader
        self._redact = redact
        self._pull_request = pull_request
        self._summarized = False

    async def publish(self, publication: Publication, stop: asyncio.Event) -> None:
        """Publish everything; once `stop` is set, what is quick."""
        self._workflow.group("Publishing")
        files = file_outputs(publication.files, publication.folder or Path(), publication.workspace)
        self._say(self._workflow.outputs({**result_outputs(publication.results, publication.exit_code), **files}))
        if stop.is_set():
            self._finish(publication)
        try:
            await self._in_time(self._online(publication, hurry=stop.is_set()), stop)
        finally:
            self._finish(publication)
            self._workflow.end_group()

    async def _in_time(self, work: Awaitable[None], stop: asyncio.Event) -> None:
        """Wait for `work`; once `stop` is set, a few seconds only."""
        task = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=HURRY_SECONDS)
        finally:
            stopped.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                self._say("publishing was cut short: the run was cancelled")
        if task.cancelled():
            return
        if error := task.exception():
            logger.error("Publishing broke off", exc_info=error)
            self._say("publishing broke off; the log has the details")

    async def _online(self, publication: Publication, *, hurry: bool) -> None:
        """What needs the network."""
        context = publication.context
        if not hurry:
            context = await self._upload(publication)
        number = await self._find_pull_request()
        if number is not None and self._client is not None and not hurry and publication.gate_files:
            changes = await find_gate_changes(self._client, self._repository, number, publication.gate_files)
            context = replace(context, gate_changes=changes.files)
            self._say(changes.warning)
        publication = replace(publication, context=context)
        self._finish(publication)
        await self._comment(publication, number)

    async def _upload(self, publication: Publication) -> CommentContext:
        """Upload the artifacts; the context with their addresses."""
        context = publication.context
        if self._uploader is None or publication.folder is None:
            return context
        name, days = publication.artifact_name, publication.retention_days
        all_files, focus = publication.evaluation_files, publication.focus_files
        evaluation = await self._try(self._uploader.upload_zip(f"{name}-evaluation", all_files, days))
        if evaluation is None:  # what refused one refuses the others; one warning is enough
            return context
        zipped = await self._try(self._uploader.upload_zip(f"{name}-focus", focus, days)) if focus else None
        page = None
        if HTML_REPORT in all_files:
            upload = self._uploader.upload_file(all_files[HTML_REPORT], "text/html", days, name=f"{name}-report.html")
            page = await self._try(upload)
        urls = {
            "report-url": page.url if page else None,
            "artifact-url": evaluation.url,
            "focus-artifact-url": zipped.url if zipped else None,
        }
        self._say(self._workflow.outputs(url_outputs(urls)))
        for label, url in urls.items():
            if url:
                self._workflow.log(f"{label}: {url}")
        return replace(
            context,
            report_url=urls["report-url"],
            evaluation_artifact_url=urls["artifact-url"],
            focus_artifact_url=urls["focus-artifact-url"],
            focus_artifact_name=zipped.name if zipped else None,
        )

    async def _try(self, upload: Awaitable[UploadedArtifact | None]) -> UploadedArtifact | None:
        try:
            return await upload
        except ArtifactRefused as error:
            self._say(str(error))
            return None

    async def _find_pull_request(self) -> int | None:
        if self._pull_request is not None:
            return self._pull_request
        if self._event.lookup == "known":
            return self._event.number
        if self._client is None:
            return None
        try:
            return await find_pull_request(self._client, self._repository, self._event)
        except GitHubRefused as error:
            # Not every job of a push has a pull request, or the permission to ask: no reason to alarm anybody.
            self._workflow.log(f"Whether there is a pull request could not be asked: {error}")
            return None

    async def _comment(self, publication: Publication, number: int | None) -> None:
        if publication.comment == "off":
            return
        if number is None:
            self._workflow.log("There is no open pull request for this commit, so no comment is written")
            return
        if self._client is None:
            self._say("there is no comment: the input github-token is empty")
            return
        context = replace(publication.context, marker=str(publication.marker))
        body = self._redact(render_comment(publication.results, context))
        try:
            outcome = await publish_comment(
                self._client,
                self._repository,
                number,
                publication.marker,
                body,
                publication.comment,
                failed=publication.exit_code != 0,
            )
        except CannotComment as error:
            self._no_comment(error)
            return
        if outcome.url:
            self._say(self._workflow.outputs({"comment-url": outcome.url}))
        told = {
            "created": f"Commented: {outcome.url}",
            "updated": f"Updated the comment: {outcome.url}",
            "kept": f"A newer run has written the comment already, which stays: {outcome.url}",
            "none": "No comment: nothing failed, and there is none to update",
        }
        self._workflow.log(told[outcome.done])

    def _no_comment(self, error: CannotComment) -> None:
        if error.forbidden and self._event.is_withheld:
            who = "Dependabot" if self._event.is_dependabot else "a fork"
            self._workflow.annotate(
                Annotation(
                    "notice",
                    f"There is no comment: GitHub gives a pull request from {who} a token that can only read. The step summary and "
                    f"the artifacts are there all the same. A second workflow can write the comment: {FORKS_PAGE}",
                    "arksim: no comment",
                )
            )
        elif error.forbidden:
            self._say(f"there is no comment: {error}. Give the job these permissions:\n{PERMISSIONS}")
        else:
            self._say(f"there is no comment: {error}")

    def _finish(self, publication: Publication) -> None:
        """Write the summary and the annotations, once. A bug in there must not cost the run its result."""
        if self._summarized:
            return
        self._summarized = True
        try:
            self._summarize(publication)
        except Exception:
            logger.exception("The summary could not be made")
            self._say("the step summary could not be made; the log has the details")

    def _summarize(self, publication: Publication) -> None:
        room = self._workflow.summary_room()
        if room >= _SMALLEST_SUMMARY:
            text = self._redact(render_summary(publication.results, publication.context, room - 1))
            self._say(self._workflow.summary(text))
        else:
            self._say("the step summary is full already, so nothing was added to it")
        for mark in annotations_of(
            publication.results,
            publication.config_file,
            publication.scenario_file,
            publication.scenario_lines,
            exit_code=publication.exit_code,
        ):
            self._workflow.annotate(mark)

    def _say(self, trouble: str) -> None:
        """Warn of something that could not be published; the run's result stays what it is."""
        if trouble:
            self._workflow.warning(trouble)


def with_agent_log(folder: Path, files: Sequence[Path]) -> tuple[Path, ...]:
    """The files of a run, with the agent's log where there is one."""
    log = folder / AGENT_LOG
    return (*files, log) if log.is_file() and not log.is_symlink() else tuple(files)
