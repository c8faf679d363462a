"""Short builders for evaluations and expectations: everything good unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arksim_ci.schema.evaluation import ConversationEvaluation, Evaluation, QualResult, QuantResult, TurnEvaluation
from arksim_ci.schema.expectation import (
    Expectation,
    ExpectedConversation,
    ExpectedMetric,
    ExpectedTurn,
    Gates,
    NotMeasured,
)
from arksim_ci.schema.scenario import ExpectedToolCall, ToolCallsAssertion
from arksim_ci.schema.simulation import Silence, ToolCall
from arksim_ci.schema.verdict import Attempts, Check, Command, Judge, Run, RunStatus, Verdict
from arksim_ci.schema.vocabulary import TURN_METRICS

LABELS = ExpectedMetric(name="agent_behavior_failure", kind="qualitative", scope="turn")
TOOL_LABELS = ExpectedMetric(name="tool_call_behavior_failure", kind="qualitative", scope="tool_turn")
GOAL = ExpectedMetric(name="goal_completion", kind="numeric", scope="conversation", scale=(0, 1))
TURN_NUMBERS = tuple(ExpectedMetric(name=name, kind="numeric", scope="turn", scale=(1, 5)) for name in TURN_METRICS)
BUILTIN = (*TURN_NUMBERS, GOAL, LABELS, TOOL_LABELS)


def turn(
    turn_id: int = 0,
    *,
    label: str = "no failure",
    tool_label: str | None = None,
    without: Iterable[str] = (),
    custom_labels: Mapping[str, str] | None = None,
    **scores: float,
) -> TurnEvaluation:
    """A turn with 5 on every built-in metric, but for `scores` and those that it is `without`."""
    numbers = {**dict.fromkeys(TURN_METRICS, 5.0), **scores}
    labels = dict(custom_labels or {})
    if tool_label is not None:
        labels["tool_call_behavior_failure"] = tool_label
    return TurnEvaluation(
        turn_id=turn_id,
        scores=[QuantResult(name=name, value=value) for name, value in numbers.items() if name not in set(without)],
        turn_score=5.0,
        turn_behavior_failure=label,
        turn_behavior_failure_reason="",
        qual_scores=[QualResult(name=name, value=value) for name, value in labels.items()],
    )


def judged(
    name: str,
    turns: Sequence[TurnEvaluation] | None = None,
    *,
    goal: float = 1.0,
    overall: float = 1.0,
    scores: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
) -> ConversationEvaluation:
    """A conversation's evaluation; `scores` and `labels` are those of custom conversation metrics."""
    return ConversationEvaluation(
        conversation_id=name,
        goal_completion_score=goal,
        goal_completion_reason="",
        turn_success_ratio=1.0,
        overall_agent_score=overall,
        evaluation_status="Done",
        turn_scores=list(turns) if turns is not None else [turn()],
        convo_scores=[QuantResult(name=key, value=value) for key, value in (scores or {}).items()],
        convo_qual_scores=[QualResult(name=key, value=value) for key, value in (labels or {}).items()],
    )


def evaluation(*conversations: ConversationEvaluation) -> Evaluation:
    return Evaluation(
        schema_version="v1.1",
        generated_at="2026-01-01T00:00:00Z",
        evaluator_version="0",
        evaluation_id="evaluation",
        simulation_id="simulation",
        conversations=list(conversations),
        unique_errors=[],
    )


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def asserts(*expected: ExpectedToolCall, mode: str = "unordered") -> ToolCallsAssertion:
    return ToolCallsAssertion.model_validate({"type": "tool_calls", "expected": expected, "match_mode": mode})


def held(
    name: str,
    turns: int | Sequence[ExpectedTurn] = 1,
    *,
    silence: str | None = None,
    not_finished: str | None = None,
    assertions: Sequence[ToolCallsAssertion] = (),
) -> ExpectedConversation:
    """A test case of scenario `s-<name>`."""
    return ExpectedConversation(
        conversation_id=name,
        scenario_id=f"s-{name}",
        turns=tuple(ExpectedTurn(turn_id=place) for place in range(turns)) if isinstance(turns, int) else tuple(turns),
        silence=None if silence is None else Silence.model_validate({"kind": silence, "cause": "refused"}),
        not_finished=not_finished,
        assertions=tuple(assertions),
    )


def expectation(
    *conversations: ExpectedConversation,
    metrics: Sequence[ExpectedMetric] = BUILTIN,
    not_measured: Sequence[NotMeasured] = (),
    status: RunStatus = "COMPLETED",
    status_cause: str = "",
    command: Command = "simulate-evaluate",
    thresholds: Mapping[str, float] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    min_pass_rate: float | dict[str, float] = 1.0,
    min_coverage: float = 1.0,
    max_never_spoke_share: float = 0.0,
) -> Expectation:
    return Expectation(
        conversations=conversations,
        metrics=tuple(metrics),
        gates=Gates(
            numeric_thresholds=dict(thresholds or {}),
            qualitative_failure_labels={name: tuple(values) for name, values in (labels or {}).items()},
            min_pass_rate=min_pass_rate,
            min_coverage=min_coverage,
            max_never_spoke_share=max_never_spoke_share,
        ),
        not_measured=tuple(not_measured),
        status=status,
        status_cause=status_cause,
        run=Run(agent_name="a", command=command, commit=None, started_at="", duration_seconds=0, version="0"),
        attempts=Attempts(test_cases=0, attempts=0, silent_attempts=0, retries=0, still_silent=0),
        judge=Judge(provider="offline", model="m", judge_mode="combined", prompts_hash="h"),
    )


def types(verdict: Verdict) -> list[str]:
    return [failure.type for failure in verdict.failures]


def check_of(verdict: Verdict, name: str) -> Check:
    return next(check for check in verdict.checks if check.name == name)
