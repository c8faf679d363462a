"""Reads the results of a run back from its output folder."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from arksim_ci.config.document import shown
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.files import MAX_DATA_BYTES, read_json
from arksim_ci.config.validation import mistakes
from arksim_ci.output import EVALUATION, RECOMMENDATIONS, SIMULATION, VERDICT
from arksim_ci.reports.results import Results
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.simulation import Simulation
from arksim_ci.schema.verdict import Verdict

M = TypeVar("M", bound=BaseModel)

_MISTAKES_SHOWN = 5
_OTHER_RUN = f"belongs to another run than {VERDICT} beside it; the files of one run are needed"


def load_results(folder: Path) -> Results:
    """Read what a run wrote.

    Args:
        folder: its output folder.

    Raises:
        ConfigError: a file is missing, can't be read, is not what a run of ours writes, or is of another run than the others.
    """
    if not folder.is_dir():
        raise ConfigError(Problem("there is no such folder; give the output_dir of a run", shown(folder)))
    verdict = _read(folder / VERDICT, Verdict)
    problems: list[Problem] = []
    simulation = _try(folder / SIMULATION, Simulation, problems)
    evaluation = recommendations = None
    if verdict.run.command != "simulate":
        evaluation = _try(folder / EVALUATION, Evaluation, problems)
        recommendations = _try(folder / RECOMMENDATIONS, Recommendations, problems)
    if simulation and simulation.simulation_id != verdict.simulation_id:
        problems.append(Problem(_OTHER_RUN, shown(folder / SIMULATION), key="simulation_id"))
    if evaluation and evaluation.evaluation_id != verdict.evaluation_id:
        problems.append(Problem(_OTHER_RUN, shown(folder / EVALUATION), key="evaluation_id"))
    if problems or simulation is None:
        raise ConfigError(*problems)
    return Results(verdict=verdict, simulation=simulation, evaluation=evaluation, recommendations=recommendations)


def _read(path: Path, model: type[M]) -> M:
    """Read one file.

    Raises:
        ConfigError: it can't be used.
    """
    document = read_json(path, MAX_DATA_BYTES)
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        found = mistakes(error, document.value, model, lambda _: False)
        raise ConfigError(*(document.problem(each.message, each.path) for each in found[:_MISTAKES_SHOWN])) from None


def _try(path: Path, model: type[M], problems: list[Problem]) -> M | None:
    try:
        return _read(path, model)
    except ConfigError as error:
        problems += error.problems
        return None
