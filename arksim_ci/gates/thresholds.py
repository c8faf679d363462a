"""Numeric thresholds: each conversation's score, or the mean over its turns, against a minimum on the metric's scale."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping, Sequence
from statistics import mean

from arksim_ci.gates.measurements import (
    SHARE,
    Measurements,
    Place,
    is_score,
    not_measured,
    places,
    results_of,
    scale_of,
    took_place,
)
from arksim_ci.gates.rates import CheckResult, Outcome, at_least, decide_check
from arksim_ci.schema.evaluation import ConversationEvaluation, Evaluation
from arksim_ci.schema.expectation import Expectation, ExpectedConversation, ExpectedMetric, NotMeasured
from arksim_ci.schema.verdict import Failing
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    GOAL_COMPLETION,
    OVERALL_SCORE,
    TOOL_CALL_BEHAVIOR_FAILURE,
)

logger = logging.getLogger(__name__)

_OVERALL = ExpectedMetric(name=OVERALL_SCORE, kind="numeric", scope="conversation", scale=SHARE)
_OVERALL_PARTS = (AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE, GOAL_COMPLETION)


def check_threshold(
    name: str,
    threshold: float,
    conversations: Sequence[ExpectedConversation],
    expectation: Expectation,
    measurements: Measurements,
) -> CheckResult:
    """Hold one metric to its threshold in every conversation.

    A conversation counts as measured when every value was, or when it would stay below the threshold even if every
    missing turn had the best score of the scale. `overall_score` is measured when all that it is computed from is.

    Args:
        name: the metric, or `overall_score`.
        threshold: the minimum, on the metric's own scale.
        conversations: those that the check is about.
        expectation: the metrics that run, and the tolerances.
        measurements: what was measured.
    """
    read = _metrics_read(name, expectation.metrics)
    outcomes = []
    for conversation in conversations:
        if not read:
            outcomes.append(_not_run(conversation, name))
        elif name == OVERALL_SCORE:
            outcomes.append(_overall_outcome(conversation, threshold, read, measurements))
        else:
            outcomes.append(_outcome(conversation, threshold, read[0], measurements))
    return decide_check(name, "numeric", outcomes, expectation.gates, read=read, threshold=threshold)


def check_numeric_thresholds(evaluator_output: Evaluation, numeric_thresholds: Mapping[str, float] | None) -> bool:
    """Check numeric thresholds for programmatic use, without knowing what should have been measured.

    Turn metrics are held to the threshold by their mean over the turns of each conversation; `goal_completion`,
    `overall_score` and custom conversation metrics directly. A conversation in which the metric is missing on any turn,
    or is -1, or lies outside its scale, does not pass; neither does a metric that appears nowhere, nor an evaluation
    without conversations. What did not pass is logged.

    Args:
        evaluator_output: the evaluation.
        numeric_thresholds: metric name → minimum on the metric's own scale. None or empty checks nothing.

    Returns:
        Whether every conversation meets every threshold.
    """
    passed = True
    known = _names_in_file(evaluator_output)
    for name, threshold in (numeric_thresholds or {}).items():
        if evaluator_output.conversations and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            logger.warning('Threshold on "%s": no conversation has a metric of this name%s', name, hint or ".")
            passed = False
            continue
        whole = name in (GOAL_COMPLETION, OVERALL_SCORE) or any(
            result.name == name for item in evaluator_output.conversations for result in item.convo_scores
        )
        if not evaluator_output.conversations:
            logger.warning("Threshold on %s: there is no conversation, so it does not pass.", name)
            passed = False
        for conversation in evaluator_output.conversations:
            score = _score_in_file(conversation, name, whole=whole)
            if score is None:
                logger.warning("Threshold on %s: not measured in conversation %s.", name, conversation.conversation_id)
                passed = False
            elif not at_least(score, threshold):
                logger.warning(
                    "Threshold on %s: %.3g in conversation %s, below %g.",
                    name,
                    score,
                    conversation.conversation_id,
                    threshold,
                )
                passed = False
    return passed


def _names_in_file(evaluation: Evaluation) -> set[str]:
    """Every numeric metric that was measured anywhere, and those of which a conversation always has a field."""
    names = {GOAL_COMPLETION, OVERALL_SCORE}
    for conversation in evaluation.conversations:
        names |= {result.name for result in conversation.convo_scores}
        names |= {score.name for turn in conversation.turn_scores for score in turn.scores}
    return names


def _metrics_read(name: str, metrics: Sequence[ExpectedMetric]) -> list[ExpectedMetric]:
    # `overall_score` rests on everything that it is computed from.
    if name == OVERALL_SCORE:
        return [metric for metric in metrics if metric.name in _OVERALL_PARTS]
    return [metric for metric in metrics if metric.name == name and metric.kind == "numeric"]


def _not_run(conversation: ExpectedConversation, name: str) -> Outcome:
    place = Place(conversation.conversation_id, None)
    return Outcome("not measured", gaps=(not_measured(place, name, "no metric of this name runs"),))


def _outcome(
    conversation: ExpectedConversation, threshold: float, metric: ExpectedMetric, measurements: Measurements
) -> Outcome:
    here = places(conversation, metric)
    scores = [score for place in here if (score := measurements.number(metric, place)) is not None]
    gaps = tuple(measurements.gaps(conversation, [metric]))
    if not took_place(conversation):
        return Outcome("not measured", gaps=gaps or _never_held(conversation, metric.name))
    scale = scale_of(metric.name, metric.scale)
    if not gaps and scores:
        passes = at_least(mean(scores), threshold)
    elif scores and scale and not at_least(mean([*scores, *[scale[1]] * (len(here) - len(scores))]), threshold):
        passes = False
    else:
        return Outcome("not measured", gaps=gaps)
    if passes:
        return Outcome("passed")
    return Outcome("failed", (_failing(conversation, mean(scores)),), gaps)


def _overall_outcome(
    conversation: ExpectedConversation, threshold: float, parts: list[ExpectedMetric], measurements: Measurements
) -> Outcome:
    place = Place(conversation.conversation_id, None)
    gaps = tuple(measurements.gaps(conversation, parts))
    score = measurements.number(_OVERALL, place)
    if not took_place(conversation):
        return Outcome("not measured", gaps=gaps or _never_held(conversation, OVERALL_SCORE))
    if gaps or score is None:
        return Outcome("not measured", gaps=gaps or (measurements.gap(_OVERALL, place),))
    if at_least(score, threshold):
        return Outcome("passed")
    return Outcome("failed", (_failing(conversation, score),))


def _failing(conversation: ExpectedConversation, value: float) -> Failing:
    return Failing(conversation_id=conversation.conversation_id, scenario_id=conversation.scenario_id, value=value)


def _never_held(conversation: ExpectedConversation, metric: str) -> tuple[NotMeasured, ...]:
    place = Place(conversation.conversation_id, None)
    return (not_measured(place, metric, conversation.not_finished or "the conversation has no turn to judge"),)


def _score_in_file(conversation: ConversationEvaluation, name: str, *, whole: bool) -> float | None:
    """A conversation's score by what the file alone shows; None where any value of it is missing."""
    by_place: dict[Place, list[float]] = {}
    for result in results_of(conversation):
        if result.metric == name and not isinstance(result.value, str):
            by_place.setdefault(result.place, []).append(result.value)
    wanted = (
        [Place(conversation.conversation_id, None)]
        if whole
        else [Place(conversation.conversation_id, turn.turn_id) for turn in conversation.turn_scores]
    )
    scale = scale_of(name)
    found = [by_place.get(place, []) for place in wanted]
    if not found or any(not values or not all(is_score(value, scale) for value in values) for values in found):
        return None
    return mean(min(values) for values in found)
