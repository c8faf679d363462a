"""The JSON files of a stranger's run: held to our schemas, to one another and to limits before anything of them is shown."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from arksim_ci.output import EVALUATION, RECOMMENDATIONS, SIMULATION, VERDICT
from arksim_ci.reports.results import Results
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.simulation import Simulation
from arksim_ci.schema.verdict import Verdict

M = TypeVar("M", bound=BaseModel)

LARGEST: Final = 64 * 1024 * 1024
MOST_CONVERSATIONS: Final = 20_000
MOST_MESSAGES: Final = 1_000_000
MOST_ERRORS: Final = 20_000


class ReportRefused(Exception):
    """The files are not what a run of ours writes. The text says which, and why."""


def read_report(folder: Path, files: Collection[str], head_sha: str) -> Results:
    """Read a run's results.

    Args:
        folder: where they were unpacked.
        files: the names that are there.
        head_sha: the commit that GitHub says was tested; it takes the place of what the files say.

    Raises:
        ReportRefused: a file is missing, too large, of another shape, or does not belong to the others.
    """
    for name in (VERDICT, SIMULATION):
        if name not in files:
            raise ReportRefused(f"the artifact has no {name}, so there is nothing to show")
    verdict = _read(folder / VERDICT, Verdict)
    simulation = _read(folder / SIMULATION, Simulation)
    evaluation = _read(folder / EVALUATION, Evaluation) if EVALUATION in files else None
    recommendations = _read(folder / RECOMMENDATIONS, Recommendations) if RECOMMENDATIONS in files else None
    if verdict.simulation_id != simulation.simulation_id or (
        evaluation
        and (evaluation.simulation_id, evaluation.evaluation_id) != (simulation.simulation_id, verdict.evaluation_id)
    ):
        raise ReportRefused("the files of the artifact do not belong to one run")
    messages = sum(len(each.conversation_history) for each in simulation.conversations)
    if len(simulation.conversations) > MOST_CONVERSATIONS or messages > MOST_MESSAGES:
        raise ReportRefused(f"the artifact holds {len(simulation.conversations):,} conversations, more than are shown")
    if evaluation and len(evaluation.unique_errors) > MOST_ERRORS:
        raise ReportRefused(f"the artifact holds {len(evaluation.unique_errors):,} unique errors, more than are shown")
    verdict = verdict.model_copy(update={"run": verdict.run.model_copy(update={"commit": head_sha or None})})
    return Results(verdict=verdict, simulation=simulation, evaluation=evaluation, recommendations=recommendations)


def _read(path: Path, model: type[M]) -> M:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ReportRefused(f"{path.name} is larger than {LARGEST // 1024 // 1024} MB")
        return model.model_validate(json.loads(data, parse_constant=_no_number))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"][:6])
        raise ReportRefused(f"{path.name} is not what a run of ours writes: {place}: {first['msg'][:200]}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReportRefused(f"{path.name} can't be read as JSON: {type(error).__name__}") from None


def _no_number(literal: str) -> NoReturn:
    raise ValueError(literal)
