"""Writes what a run leaves behind, with every secret replaced."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from arksim_ci import output
from arksim_ci.output import OutputFolder, OutputRefused, write_whole
from arksim_ci.redaction import redact_json
from arksim_ci.reports.context import file_context
from arksim_ci.reports.results import Results

logger = logging.getLogger(__name__)

Redact = Callable[[str], str]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Written:
    """The results with every secret replaced, which files were written, and in sentences what could not be."""

    results: Results
    files: tuple[Path, ...]
    trouble: tuple[str, ...]


def write_all(
    results: Results,
    focus: Mapping[str, str],
    folder: OutputFolder,
    redact: Redact,
    *,
    copy_to: Path | None,
    html: bool,
) -> Written:
    """Write every file; what can't be written is said, and the rest is written all the same.

    Args:
        results: what the run came to.
        focus: the focus files by name.
        folder: the output folder.
        redact: replaces secrets.
        copy_to: a second place for simulation.json.
        html: whether to write the HTML report.
    """
    files: list[Path] = []
    trouble: list[str] = []
    try:
        results = redacted(results, redact)
    except Exception as bug:  # each file is redacted once more when it is written
        trouble.append(_said(bug, "The results could not be redacted as a whole", redact))
    steps: tuple[Callable[[], list[Path]], ...] = (
        lambda: write_simulation(results, folder, copy_to, redact),
        lambda: write_results(results, focus, folder, redact),
        lambda: write_reports(replace(results, scenarios=None), folder, redact, html=html),
    )
    for step in steps:
        try:
            files += step()
        except OutputRefused as error:
            trouble.append(str(error))
        except Exception as bug:  # a report that can't be made takes nothing else with it
            trouble.append(_said(bug, "A file could not be made", redact))
    return Written(results, tuple(files), tuple(trouble))


def _said(bug: Exception, what: str, redact: Redact) -> str:
    """Log a bug of ours; returns the sentence about it."""
    logger.error("%s:\n%s", what, redact("".join(traceback.format_exception(bug))))
    return f"internal error: {redact(f'{type(bug).__name__}: {bug}')}"


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


def write_reports(results: Results, folder: OutputFolder, redact: Redact = str, *, html: bool) -> list[Path]:
    """Render and write every report. Results that were read from their JSON files give the same bytes again."""
    from arksim_ci.reports.write import render_all  # noqa: PLC0415  (templates and Markdown are needed only now)

    rendered = render_all(results, file_context(results.verdict), html=html)
    return [folder.write(name, redact(text)) for name, text in rendered.items()]


def redacted(results: Results, redact: Redact) -> Results:
    """The results as their files will have them: every secret replaced before any text is made of them, as escapes could hide one
    from a later search.

    Where a secret is a word of the format itself, a model can't be made of what is left; it stays as it is then, and its file does
    not hold the word.
    """
    in_file = _in_file(redact)

    def clean(model: M) -> M:
        value = model.model_dump(mode="python")
        written = redact_json(value, in_file)
        try:
            return model if written == value else type(model).model_validate(written)  # a large run is not held twice
        except ValidationError:
            return model

    return Results(
        verdict=clean(results.verdict),
        simulation=clean(results.simulation),
        evaluation=clean(results.evaluation) if results.evaluation else None,
        scenarios=clean(results.scenarios) if results.scenarios else None,
        recommendations=clean(results.recommendations) if results.recommendations else None,
    )


def _in_file(redact: Redact) -> Redact:
    """Redacts, and replaces lone surrogates, which UTF-8 can't carry."""

    def in_file(text: str) -> str:
        text = redact(text)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

    return in_file


def _texts(results: Results, focus: Mapping[str, str], redact: Redact) -> Iterator[tuple[str, str]]:
    yield output.VERDICT, as_json(results.verdict, redact)
    if results.evaluation:
        yield output.EVALUATION, as_json(results.evaluation, redact, exclude_none=True)
    if results.recommendations:
        yield output.RECOMMENDATIONS, as_json(results.recommendations, redact)
    for name, text in focus.items():
        yield f"{output.FOCUS}/{name}", redact(text)


def as_json(model: BaseModel, redact: Redact, *, exclude_none: bool = False) -> str:
    """A file's text, indented, with every text in it redacted.

    Raises:
        ValueError: it holds a number that is none.
    """
    value = redact_json(model.model_dump(mode="python", exclude_none=exclude_none), _in_file(redact))
    text = to_json(value, indent=2).decode()  # a seventh of what json.dumps with an indent takes
    if "NaN" in text or "Infinity" in text:  # as words, mostly
        json.dumps(value, allow_nan=False)
    return text + "\n"
