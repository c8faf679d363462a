"""The judge's question about one turn: its scores and its failure labels."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.client import ChatMessage, Question, Reading
from arksim_ci.llm.questions.reading import Unusable, read_label, read_object, read_reason, read_score
from arksim_ci.llm.questions.transcript import conversation_lines, scenario_line
from arksim_ci.llm.render import render
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    BEHAVIOR_FAILURE_LABELS,
    TOOL_CALL_BEHAVIOR_FAILURE,
    TOOL_FAILURE_LABELS,
    TURN_METRICS,
    TURN_SCALE,
)

_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    AGENT_BEHAVIOR_FAILURE: BEHAVIOR_FAILURE_LABELS,
    TOOL_CALL_BEHAVIOR_FAILURE: TOOL_FAILURE_LABELS,
}
TURN_QUESTIONS: Final = (*TURN_METRICS, *_LABELS)
"""What can be asked of a turn, in the order in which it is asked."""


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """One turn in its conversation.

    `history` holds the messages before this turn; `user` and `agent` are the turn. `metrics` are the built-in metrics to
    judge now: in `combined` mode all that run, in `per_metric` mode one. `case` tells repetitions of a conversation apart.
    """

    scenario: Scenario
    history: tuple[Message, ...]
    user: Message | None
    agent: Message
    metrics: tuple[str, ...]
    case: str


@dataclass(frozen=True, slots=True)
class Score:
    """A number with its reason."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Label:
    """A label with its reason."""

    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnJudgement:
    """What the judge said of a turn. A metric that is in neither was not answered usably."""

    scores: dict[str, Score]
    labels: dict[str, Label]


def ask_turn(facts: TurnFacts) -> Question[TurnJudgement]:
    """The question for the metrics of `facts`, in the vocabulary's order.

    The rubric comes first and depends on the metrics alone; then the scenario and the conversation, which only grows
    from turn to turn; then the question. So a provider's prefix cache serves all but the last turn.

    Raises:
        ValueError: `facts.metrics` names none of the metrics that are judged per turn.
    """
    metrics = tuple(metric for metric in TURN_QUESTIONS if metric in facts.metrics)
    if not metrics:
        raise ValueError(f"no metric of a turn in {facts.metrics}")
    user = [facts.user] if facts.user else []
    content = render(
        "judge_turn_user",
        {
            "scenario": scenario_line(facts.scenario),
            "conversation": conversation_lines([*facts.history, *user, facts.agent]),
            "turn": facts.agent.turn_id,
            "asked": facts.user is not None,
        },
    )
    return Question(
        name="judge_turn",
        role="judge",
        messages=(ChatMessage("system", _rubric(metrics)), ChatMessage("user", content)),
        schema=_schema(metrics),
        read=functools.partial(_read, metrics),
        facts=facts,
        case=facts.case,
    )


@functools.cache
def _rubric(metrics: tuple[str, ...]) -> str:
    return render("judge_turn_system", {"metrics": metrics, "scored": TURN_METRICS})


@functools.cache
def _schema(metrics: tuple[str, ...]) -> Mapping[str, object]:
    """The reason stands before the value, so that it is written before it. Ranges are ours to check: not every server takes them."""
    return _object({metric: _object({"reason": {"type": "string"}, **_value_schema(metric)}) for metric in metrics})


def _value_schema(metric: str) -> Mapping[str, object]:
    if metric in _LABELS:
        return {"label": {"type": "string", "enum": list(_LABELS[metric])}}
    return {"score": {"type": "number"}}


def _object(properties: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(metrics: Sequence[str], parsed: object) -> Reading[TurnJudgement]:
    """What is right of the answer, and a problem for each metric that is not. Keys that nobody asked for are ignored."""
    scores: dict[str, Score] = {}
    labels: dict[str, Label] = {}
    problems: list[str] = []
    try:
        answer = read_object(parsed, "the answer", "a key for each metric")
    except Unusable as problem:
        return Reading(None, (str(problem),))
    for metric in metrics:
        try:
            value_name = "label" if metric in _LABELS else "score"
            fields = read_object(answer.get(metric), metric, f'"reason" and "{value_name}"')
            if metric in _LABELS:
                labels[metric] = Label(read_label(fields, metric, _LABELS[metric]), read_reason(fields, metric))
            else:
                scores[metric] = Score(read_score(fields, metric, TURN_SCALE), read_reason(fields, metric))
        except Unusable as problem:
            problems.append(str(problem))
    value = TurnJudgement(scores, labels) if scores or labels else None
    return Reading(value, tuple(problems))
