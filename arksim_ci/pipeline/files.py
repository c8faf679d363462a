"""Writes what a run leaves behind, with every secret replaced."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel

from arksim_ci import output
from arksim_ci.output import OutputFolder, write_whole
from arksim_ci.redaction import redact_json
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.results import Results

Redact = Callable[[str], str]


def write_simulation(results: Results, folder: OutputFolder, copy_to: Path | None, redact: Redact) -> list[Path]:
    """Write simulation.json into the output folder and, where one is configured, to the path of its own."""
    text = as_json(results.simulation, redact, exclude_none=True)
    written = [folder.write(output.SIMULATION, text)]
    if copy_to is not None and copy_to != written[0]:
        written.insert(0, write_whole(copy_to, text))
    return written


def write_results(results: Results, focus: Mapping[str, str], folder: OutputFolder, redact: Redact) -> list[Path]:
    """Write the decision and what it rests on, the most important file first."""
    return [folder.write(name, text) for name, text in _texts(results, focus, redact)]


def write_reports(
    results: Results, context: CommentContext, folder: OutputFolder, redact: Redact, *, html: bool
) -> list[Path]:
    """Render and write every report."""
    from arksim_ci.reports.write import render_all  # noqa: PLC0415  (templates and Markdown are needed only now)

    return [folder.write(name, redact(text)) for name, text in render_all(results, context, html=html).items()]


def _texts(results: Results, focus: Mapping[str, str], redact: Redact) -> Iterator[tuple[str, str]]:
    yield output.VERDICT, as_json(results.verdict, redact)
    if results.evaluation:
        yield output.EVALUATION, as_json(results.evaluation, redact, exclude_none=True)
    if results.recommendations:
        yield output.RECOMMENDATIONS, as_json(results.recommendations, redact)
    for name, text in focus.items():
        yield f"{output.FOCUS}/{name}", redact(text)


def as_json(model: BaseModel, redact: Redact, *, exclude_none: bool = False) -> str:
    """A file's text, indented, with every text in it redacted."""
    value = redact_json(model.model_dump(mode="python", exclude_none=exclude_none), redact)
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
