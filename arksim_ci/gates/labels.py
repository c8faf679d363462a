"""Forbidden labels: any turn (or conversation) with one of them fails its conversation."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

from arksim_ci.gates.measurements import (
    Measurements,
    Place,
    is_label,
    not_measured,
    places,
    results_of,
    took_place,
)
from arksim_ci.gates.rates import CheckResult, Outcome, decide_check
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.expectation import Expectation, ExpectedConversation
from arksim_ci.schema.verdict import Failing
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE, normalize_label

logger = logging.getLogger(__name__)


def check_labels(
    name: str,
    labels: Sequence[str],
    conversations: Sequence[ExpectedConversation],
    expectation: Expectation,
    measurements: Measurements,
) -> CheckResult:
    """Look for forbidden labels in every conversation. `agent_behavior_failure` includes the labels of tool calls.

    A conversation fails where one is found, whatever else was not measured; it passes where every label was measured
    and none is forbidden. A conversation without tool calls has no part in a check of tool calls.

    Args:
        name: the metric.
        labels: the forbidden labels.
        conversations: those that the check is about.
        expectation: the metrics that run, and the tolerances.
        measurements: what was measured.
    """
    forbidden = frozenset(normalize_label(label) for label in labels)
    names = _names(name)
    read = [metric for metric in expectation.metrics if metric.name in names and metric.kind == "qualitative"]
    runs = any(metric.name == name for metric in read)
    outcomes = []
    for conversation in conversations:
        failing = tuple(_found(conversation, name, forbidden, measurements))
        gaps = measurements.gaps(conversation, read, forbidden)
        if not runs:
            cause = "no metric of this name runs"
            gaps.append(not_measured(Place(conversation.conversation_id, None), name, cause))
        elif not gaps and not took_place(conversation):
            cause = conversation.not_finished or "the conversation has no turn to judge"
            gaps.append(not_measured(Place(conversation.conversation_id, None), name, cause))
        if failing:
            outcomes.append(Outcome("failed", failing, tuple(gaps)))
        elif gaps:
            outcomes.append(Outcome("not measured", gaps=tuple(gaps)))
        elif any(places(conversation, metric) for metric in read):
            outcomes.append(Outcome("passed"))
    applies_nowhere = bool(conversations) and not outcomes
    return decide_check(
        name, "qualitative", outcomes, expectation.gates, read=read, labels=labels, applies_nowhere=applies_nowhere
    )


def check_qualitative_failure_labels(
    evaluator_output: Evaluation, qualitative_failure_labels: Mapping[str, Collection[str]] | None
) -> bool:
    """Check forbidden labels for programmatic use, without knowing what should have been measured.

    Labels match without regard to case and outer spaces. Turns where a metric did not run are skipped. A label that
    could not be measured (`evaluation_run_failed`) does not pass; neither does a metric that appears nowhere, nor an
    evaluation without conversations. What did not pass is logged.

    Args:
        evaluator_output: the evaluation.
        qualitative_failure_labels: metric name → labels that fail the run. None or empty checks nothing.

    Returns:
        Whether every metric was measured somewhere, and no forbidden or unmeasured label was found.
    """
    passed = True
    for name, labels in (qualitative_failure_labels or {}).items():
        forbidden = frozenset(normalize_label(label) for label in labels)
        names = _names(name)
        measured = False
        for conversation in evaluator_output.conversations:
            for result in results_of(conversation):
                if result.metric not in names or not isinstance(result.value, str):
                    continue
                if not is_label(result.metric, result.value, forbidden):
                    logger.warning("Labels of %s: not measured in %s.", name, _where(result.place))
                    passed = False
                    continue
                measured = True
                if normalize_label(result.value) in forbidden:
                    logger.warning("Labels of %s: %r in %s.", name, result.value, _where(result.place))
                    passed = False
        if not measured:
            logger.warning("Labels of %s: measured nowhere, so the check does not pass.", name)
            passed = False
    return passed


def _names(name: str) -> tuple[str, ...]:
    return (name, TOOL_CALL_BEHAVIOR_FAILURE) if name == AGENT_BEHAVIOR_FAILURE else (name,)


def _found(
    conversation: ExpectedConversation, name: str, forbidden: frozenset[str], measurements: Measurements
) -> Iterable[Failing]:
    """Each forbidden label once a place."""
    turn_ids = dict.fromkeys(turn.turn_id for turn in conversation.turns)
    for turn_id in (*turn_ids, None):
        place = Place(conversation.conversation_id, turn_id)
        found = [label for metric in _names(name) for label in measurements.labels(metric, place, forbidden)]
        for label in {text: label for label in found if (text := normalize_label(label)) in forbidden}.values():
            yield Failing(
                conversation_id=conversation.conversation_id,
                scenario_id=conversation.scenario_id,
                turn_id=turn_id,
                value=label,
            )


def _where(place: Place) -> str:
    turn = "" if place.turn_id is None else f", turn {place.turn_id}"
    return f"conversation {place.conversation_id}{turn}"
