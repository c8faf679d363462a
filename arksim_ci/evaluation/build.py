"""From what was measured to the conversations of evaluation.json and the list of what was not measured.

Derived figures (`turn_score`, `turn_success_ratio`, `overall_agent_score`) are rounded to 10 digits: that takes the noise of binary
fractions away and is finer than any gate looks. Scores stand as the judge gave them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arksim_ci.evaluation.measurements import Measurements
from arksim_ci.evaluation.metrics import on_turn_scale
from arksim_ci.evaluation.turn_label import TurnLabel, turn_label
from arksim_ci.schema.evaluation import (
    ConversationEvaluation,
    MetricScope,
    QualResult,
    QuantResult,
    TurnEvaluation,
)
from arksim_ci.schema.expectation import ExpectedMetric, NotMeasured
from arksim_ci.schema.judgement import Measured
from arksim_ci.schema.simulation import Conversation, Turn
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    GOAL_COMPLETION,
    GOAL_WEIGHT,
    NOT_MEASURED,
    PARTIAL_FAILURE_FROM,
    TOOL_CALL_BEHAVIOR_FAILURE,
    TURN_SUCCESS_WEIGHT,
    EvaluationStatus,
)

_DIGITS = 10
_NOTHING_SAID = "the agent said nothing in this conversation"
_NOT_CHOSEN = "not in metrics_to_run"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The conversations as evaluation.json has them, and every value that should have been measured and was not."""

    conversations: list[ConversationEvaluation]
    not_measured: list[NotMeasured]


def build_evaluation(
    conversations: Sequence[Conversation], measurements: Measurements, metrics: Sequence[ExpectedMetric]
) -> Evaluated:
    """Put together what was measured.

    A conversation in which the agent fell silent leaves the expectation, so nothing of it is listed as not measured;
    that it fell silent is for the gates to judge.
    """
    evaluated = [_conversation(conversation, measurements, metrics) for conversation in conversations]
    gaps = [
        gap
        for conversation in conversations
        if conversation.silence() is None
        for gap in _gaps(conversation, measurements, metrics)
    ]
    return Evaluated(evaluated, gaps)


def overall_score(ratio: float, goal: float, *, goal_runs: bool) -> float:
    """`0.75 * ratio + 0.25 * goal` (ArkSim documentation); without goal completion among the metrics the ratio; -1 where a part was not measured."""
    if not goal_runs:
        return ratio
    if NOT_MEASURED in (ratio, goal):
        return NOT_MEASURED
    return TURN_SUCCESS_WEIGHT * ratio + GOAL_WEIGHT * goal


def status_of(overall: float) -> EvaluationStatus:
    """The status that belongs to an overall score."""
    if overall == NOT_MEASURED:
        return "Evaluation Failed"
    if overall >= 1.0:
        return "Done"
    return "Partial Failure" if overall >= PARTIAL_FAILURE_FROM else "Failed"


def _conversation(
    conversation: Conversation, measurements: Measurements, metrics: Sequence[ExpectedMetric]
) -> ConversationEvaluation:
    names = {metric.name for metric in metrics}
    turns = conversation.turns()
    labels = {turn.turn_id: _label(conversation, turn, measurements, names) for turn in turns}
    broken_off = _why_broken_off(conversation)
    found = [] if broken_off else list(_found(conversation.conversation_id, None, measurements, metrics))

    goal = next((measured for metric, measured in found if metric.name == GOAL_COMPLETION), None)
    goal_score = float(goal.value) if goal else NOT_MEASURED
    known = [label for label in labels.values() if label.is_known]
    ratio = NOT_MEASURED
    if AGENT_BEHAVIOR_FAILURE in names and known and not broken_off:
        ratio = sum(not label.is_failure for label in known) / len(known)
    overall = round(overall_score(ratio, goal_score, goal_runs=GOAL_COMPLETION in names), _DIGITS)

    if goal:
        goal_reason = goal.reason or ""
    elif GOAL_COMPLETION in names:
        goal_reason = broken_off or measurements.cause(conversation.conversation_id, None, GOAL_COMPLETION)
    else:
        goal_reason = _NOT_CHOSEN
    return ConversationEvaluation(
        conversation_id=conversation.conversation_id,
        goal_completion_score=goal_score,
        goal_completion_reason=goal_reason,
        turn_success_ratio=round(ratio, _DIGITS),
        overall_agent_score=overall,
        evaluation_status=status_of(overall),
        turn_scores=[
            _turn(conversation.conversation_id, turn, labels[turn.turn_id], measurements, metrics) for turn in turns
        ],
        convo_scores=[
            _quant(measured, "conversation")
            for metric, measured in found
            if metric.kind == "numeric" and metric.name != GOAL_COMPLETION
        ],
        convo_qual_scores=[
            _qual(measured, "conversation") for metric, measured in found if metric.kind == "qualitative"
        ],
    )


def _turn(
    conversation_id: str,
    turn: Turn,
    label: TurnLabel,
    measurements: Measurements,
    metrics: Sequence[ExpectedMetric],
) -> TurnEvaluation:
    found = list(_found(conversation_id, turn, measurements, metrics))
    on_scale = [
        on_turn_scale(float(measured.value), metric.scale)
        for metric, measured in found
        if metric.kind == "numeric" and metric.scale and metric.scale[0] < metric.scale[1]
    ]
    labels = [
        _qual(measured, "turn")
        for metric, measured in found
        if metric.kind == "qualitative" and metric.name != AGENT_BEHAVIOR_FAILURE
    ]
    if label.hidden:
        # A turn has one slot for its failure. The second one stays where a gate on agent_behavior_failure finds it.
        labels.append(_qual(label.hidden.model_copy(update={"metric": AGENT_BEHAVIOR_FAILURE}), "turn"))
    return TurnEvaluation(
        turn_id=turn.turn_id,
        scores=[_quant(measured, "turn") for metric, measured in found if metric.kind == "numeric"],
        turn_score=round(sum(on_scale) / len(on_scale), _DIGITS) if on_scale else NOT_MEASURED,
        turn_behavior_failure=label.value,
        turn_behavior_failure_reason=label.reason,
        qual_scores=labels,
    )


def _label(conversation: Conversation, turn: Turn, measurements: Measurements, names: set[str]) -> TurnLabel:
    place = (conversation.conversation_id, turn.turn_id)
    runs = AGENT_BEHAVIOR_FAILURE in names
    return turn_label(
        measurements.get(*place, AGENT_BEHAVIOR_FAILURE),
        measurements.get(*place, TOOL_CALL_BEHAVIOR_FAILURE) if turn.agent.tool_calls else None,
        measurements.cause(*place, AGENT_BEHAVIOR_FAILURE) if runs else _NOT_CHOSEN,
        behavior_runs=runs,
    )


def _found(
    conversation_id: str, turn: Turn | None, measurements: Measurements, metrics: Sequence[ExpectedMetric]
) -> Iterator[tuple[ExpectedMetric, Measured]]:
    """What was measured of a turn, or of the whole conversation, in the order of the metrics."""
    for metric in metrics:
        measured = measurements.get(conversation_id, turn.turn_id if turn else None, metric.name)
        if measured and _applies(metric, turn):
            yield metric, measured


def _applies(metric: ExpectedMetric, turn: Turn | None) -> bool:
    """Whether a metric is to be measured on a turn, or (None) on the whole conversation."""
    if turn is None:
        return metric.scope == "conversation"
    return metric.scope == "turn" or (metric.scope == "tool_turn" and bool(turn.agent.tool_calls))


def _why_broken_off(conversation: Conversation) -> str:
    """Why a conversation has no result as a whole; "" where it was held to its end."""
    silence = conversation.silence()
    if silence:
        kind = "never spoke" if silence.kind == "never_spoke" else "stopped answering"
        return f"the agent {kind}: {silence.cause}"
    return conversation.not_finished or ("" if conversation.turns() else _NOTHING_SAID)


def _gaps(
    conversation: Conversation, measurements: Measurements, metrics: Sequence[ExpectedMetric]
) -> Iterator[NotMeasured]:
    """What should have been measured and was not. A conversation without a turn lacks every metric but those of tool calls."""
    name = conversation.conversation_id
    turns = conversation.turns()
    broken_off = _why_broken_off(conversation)
    for metric in metrics:
        as_a_whole = metric.scope == "conversation" or (metric.scope == "turn" and not turns)
        if as_a_whole and broken_off:
            yield NotMeasured(conversation_id=name, turn_id=None, metric=metric.name, cause=broken_off)
            continue
        places = [None] if as_a_whole else [turn.turn_id for turn in turns if _applies(metric, turn)]
        for turn_id in places:
            if measurements.get(name, turn_id, metric.name) is None:
                cause = measurements.cause(name, turn_id, metric.name)
                yield NotMeasured(conversation_id=name, turn_id=turn_id, metric=metric.name, cause=cause)


def _quant(measured: Measured, scope: MetricScope) -> QuantResult:
    return QuantResult(
        name=measured.metric,
        value=float(measured.value),
        reason=measured.reason,
        metadata=measured.metadata,
        scope=scope,
    )


def _qual(measured: Measured, scope: MetricScope) -> QualResult:
    return QualResult(
        name=measured.metric,
        value=str(measured.value),
        reason=measured.reason,
        metadata=measured.metadata,
        scope=scope,
    )
