"""What the gate leaves for the steps that come after it: the files to upload, and all that is to be published.

In the Docker action one process does everything. Beside the job's steps only `actions/upload-artifact` is given the token for artifacts,
so the gate ends before the upload, and the comment, which links what was uploaded, is a step of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from arksim_ci.action.job import Job
from arksim_ci.action.world import Later
from arksim_ci.github.artifact_zip import FileRefused, open_regular, redacted
from arksim_ci.github.artifacts import ArtifactRefused, check_server
from arksim_ci.github.event import Event
from arksim_ci.github.outputs import file_outputs, result_outputs
from arksim_ci.github.publish import Publication
from arksim_ci.reports.write import HTML_REPORT

STATE: Final = "state.json"
KINDS: Final = ("evaluation", "focus", "report")


@dataclass(frozen=True)
class HandedOver:
    """A run that waits to be published. `event` is what started the workflow, as far as the gate found out."""

    publication: Publication
    event: Event


def hand_over(job: Job, publication: Publication, redact: Callable[[str], str], later: Later) -> None:
    """Set the outputs of the run, and put what is to be uploaded and published into a folder. What fails is a warning.

    Args:
        job: the step.
        publication: all of the run, without secrets.
        redact: replaces secrets in what is uploaded.
        later: where to.
    """
    files = file_outputs(publication.files, publication.folder or Path(), publication.workspace)
    outputs = {**result_outputs(publication.results, publication.exit_code), **files}
    try:
        write_state(HandedOver(publication, job.event), later.folder)
        outputs["hand-over"] = str(later.folder)
        if job.inputs.upload_artifacts:
            check_server(job.context.server_url)
            outputs |= stage(publication, redact, later.folder, later.suffix)
    except (ArtifactRefused, FileRefused) as error:
        job.workflow.warning(str(error))
    except OSError as error:
        job.workflow.warning(f"the results can't be handed over to the steps that publish them: {error}")
    if trouble := job.workflow.outputs(outputs):
        job.workflow.warning(trouble)


def stage(publication: Publication, redact: Callable[[str], str], folder: Path, suffix: str) -> dict[str, str]:
    """Copy what is to be uploaded: only files of ours, never through a link.

    Returns:
        For each artifact that there is its name, and under `<kind>-again` the name for where the first one is taken.

    Raises:
        FileRefused: one of the files is not a file.
        OSError: there is no room, for example.
    """
    name, files = publication.artifact_name, publication.evaluation_files
    report = {f"{name}-report{end}.html": files[HTML_REPORT] for end in ("", suffix) if HTML_REPORT in files}
    outputs: dict[str, str] = {}
    for kind, found in zip(KINDS, (files, publication.focus_files, report), strict=True):
        (folder / kind).mkdir(mode=0o700)
        for each, path in found.items():
            with open_regular(path) as source:
                (folder / kind / each).write_bytes(redacted(source.read(), redact))
        if found:
            end = ".html" if kind == "report" else ""
            outputs |= {kind: f"{name}-{kind}{end}", f"{kind}-again": f"{name}-{kind}{suffix}{end}"}
    return outputs


def with_urls(publication: Publication, urls: Mapping[str, str], focus_name: str) -> Publication:
    """A publication that links what was uploaded.

    Args:
        publication: the run.
        urls: the addresses by kind; empty where nothing was uploaded.
        focus_name: the focus artifact's name.
    """
    context = replace(
        publication.context,
        report_url=urls["report"] or None,
        evaluation_artifact_url=urls["evaluation"] or None,
        focus_artifact_url=urls["focus"] or None,
        focus_artifact_name=focus_name if urls["focus"] else None,
    )
    return replace(publication, context=context)


def write_state(handed: HandedOver, folder: Path) -> None:
    """Write everything down.

    Raises:
        OSError: it can't be written.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415

    # Through Python's json: texts of agents can hold halves of characters, which UTF-8 can't.
    text = json.dumps(TypeAdapter(HandedOver).dump_python(handed, mode="json"))
    (folder / STATE).write_text(text, encoding="ascii")


def read_state(folder: Path) -> HandedOver:
    """Read what `write_state` wrote.

    Raises:
        OSError: it can't be read.
        ValueError: it is something else.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415

    text = (folder / STATE).read_text(encoding="ascii")
    return TypeAdapter(HandedOver).validate_python(json.loads(text))
