"""The judge's question about a whole conversation: was the user's goal reached?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.client import ChatMessage, Question, Reading
from arksim_ci.llm.questions.reading import Unusable, read_object, read_reason, read_score
from arksim_ci.llm.questions.transcript import conversation_lines, scenario_line
from arksim_ci.llm.questions.turn import Score
from arksim_ci.llm.render import render
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message
from arksim_ci.schema.vocabulary import GOAL_COMPLETION

_SCALE: Final = (0.0, 1.0)
_SCHEMA: Final = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number"}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class GoalFacts:
    """One finished conversation. The answer is a `Score` of 0-1. `case` tells repetitions of a conversation apart."""

    scenario: Scenario
    history: tuple[Message, ...]
    case: str


def ask_goal(facts: GoalFacts) -> Question[Score]:
    """The question how far the user's goal was reached, 0-1."""
    content = render(
        "judge_goal_user",
        {"scenario": scenario_line(facts.scenario), "conversation": conversation_lines(facts.history)},
    )
    return Question(
        name="judge_goal",
        role="judge",
        messages=(ChatMessage("system", render("judge_goal_system", {})), ChatMessage("user", content)),
        schema=_SCHEMA,
        read=_read,
        facts=facts,
        case=facts.case,
    )


def _read(parsed: object) -> Reading[Score]:
    try:
        fields = read_object(parsed, GOAL_COMPLETION, '"reason" and "score"')
        return Reading(Score(read_score(fields, GOAL_COMPLETION, _SCALE), read_reason(fields, GOAL_COMPLETION)))
    except Unusable as problem:
        return Reading(None, (str(problem),))
