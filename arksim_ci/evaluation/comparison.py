"""What became of the unique errors of an earlier run: fixed, still there, or not exercised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from arksim_ci.evaluation.words import similarity
from arksim_ci.schema.evaluation import ConversationEvaluation, Evaluation, UniqueError
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, GOAL_NOT_COMPLETED, NOT_MEASURED

ALIKE: Final = 0.3
"""From this similarity on, two descriptions may be of one root cause although another error is nearer."""

Outcome = Literal["fixed", "still there", "not exercised"]


@dataclass(frozen=True, slots=True)
class KnownError:
    """A unique error with its number and the scenarios that showed it."""

    number: int
    error: UniqueError
    scenario_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedError:
    """What became of an error.

    `now` is the error of the newer run that it is taken for; `not_run` are its scenarios that the newer run did not measure
    completely: without them, nothing can be called fixed.
    """

    before: KnownError
    outcome: Outcome
    now: KnownError | None = None
    not_run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All errors of the earlier run, and those of the newer one that it did not have."""

    errors: tuple[ComparedError, ...]
    new: tuple[KnownError, ...]


def compare(
    before: Sequence[KnownError], now: Sequence[KnownError], evaluation: Evaluation, scenario_of: Mapping[str, str]
) -> Comparison:
    """Hold the errors of an earlier run to a newer one.

    An error is still there where the newer run has one of the same category in one of its scenarios: each is taken for the one whose
    description is nearest, and two may be taken for the same one only where the descriptions are alike. Without such an error it
    is fixed, if each of its scenarios was measured completely again; otherwise it was not exercised.

    Args:
        before: the errors of the earlier run.
        now: those of the newer run.
        evaluation: the newer run's evaluation.
        scenario_of: its conversation ids and their scenarios.
    """
    pairs = _pairs(before, now)
    categories = {error.error.behavior_failure_category for error in before}
    measured = {category: _measured(evaluation, scenario_of, category) for category in categories}
    compared = []
    for error in before:
        found = pairs.get(error.number)
        complete = measured[error.error.behavior_failure_category]
        missing = tuple(name for name in error.scenario_ids if name not in complete)
        outcome: Outcome = "still there" if found else "not exercised" if missing or not error.scenario_ids else "fixed"
        compared.append(ComparedError(error, outcome, found, missing))
    known = {error.number for error in pairs.values()}
    return Comparison(tuple(compared), tuple(error for error in now if error.number not in known))


def _pairs(before: Sequence[KnownError], now: Sequence[KnownError]) -> dict[int, KnownError]:
    """The newer error for each number of an earlier one, where there is one."""
    shown: dict[tuple[str, str], list[KnownError]] = {}
    for new in now:
        for scenario in new.scenario_ids:
            shown.setdefault((new.error.behavior_failure_category, scenario), []).append(new)
    near = []
    for old in before:
        places = ((old.error.behavior_failure_category, scenario) for scenario in old.scenario_ids)
        beside = {new.number: new for place in places for new in shown.get(place, ())}
        near += [(-_nearness(old, new), old.number, number, new) for number, new in beside.items()]
    near.sort(key=lambda pair: pair[:3])
    found: dict[int, KnownError] = {}
    taken: set[int] = set()
    for _, old_number, new_number, new in near:
        if old_number not in found and new_number not in taken:
            found[old_number] = new
            taken.add(new_number)
    for distance, old_number, _, new in near:
        if old_number not in found and -distance >= ALIKE:
            found[old_number] = new
    return found


def _nearness(one: KnownError, other: KnownError) -> float:
    return similarity(one.error.unique_error_description, other.error.unique_error_description)


def _measured(evaluation: Evaluation, scenario_of: Mapping[str, str], category: str) -> set[str]:
    """The scenarios all of whose conversations were measured for failures of this category."""
    complete: dict[str, bool] = {}
    for conversation in evaluation.conversations:
        scenario = scenario_of.get(conversation.conversation_id, "")
        complete[scenario] = complete.get(scenario, True) and _is_measured(conversation, category)
    return {scenario for scenario, whole in complete.items() if whole}


def _is_measured(conversation: ConversationEvaluation, category: str) -> bool:
    if category == GOAL_NOT_COMPLETED:
        return conversation.goal_completion_score != NOT_MEASURED
    labels = [turn.turn_behavior_failure for turn in conversation.turn_scores]
    return bool(labels) and EVALUATION_RUN_FAILED not in labels
