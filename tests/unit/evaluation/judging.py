"""Conversations to judge, and a judge that answers as a test scripts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from arksim_ci.llm.client import Answer, AnswerInvalid, Question
from arksim_ci.llm.questions.turn import TurnFacts
from arksim_ci.schema.scenario import KnowledgeItem, Scenario
from arksim_ci.schema.simulation import Conversation, Message, SimulatedUserPrompt, ToolCall
from arksim_ci.schema.verdict import Usage
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE

T = TypeVar("T")
TOOL_CALL = ToolCall(id="1", name="cancel_order", arguments={"order": 7}, result="done")


def scenario(*knowledge: str, scenario_id: str = "s1") -> Scenario:
    return Scenario(
        scenario_id=scenario_id,
        user_id="u",
        goal="You want to know when the shop opens.",
        agent_context="A shop's assistant.",
        user_profile="You are brief.",
        knowledge=tuple(KnowledgeItem(content=text) for text in knowledge),
    )


def user(turn_id: int, text: str = "When do you open?") -> Message:
    return Message(turn_id=turn_id, message_id=f"u{turn_id}", role="simulated_user", content=text)


def agent(turn_id: int, text: str = "At nine.", calls: list[ToolCall] | None = None) -> Message:
    return Message(turn_id=turn_id, message_id=f"a{turn_id}", role="assistant", content=text, tool_calls=calls)


def conversation(*messages: Message, name: str = "c1", **fields: Any) -> Conversation:
    prompt = SimulatedUserPrompt(simulated_user_prompt_template="", variables={})
    return Conversation(
        conversation_id=name,
        scenario_id="s1",
        conversation_history=list(messages),
        simulated_user_prompt=prompt,
        **fields,
    )


def two_turns(name: str = "c1", **fields: Any) -> Conversation:
    return conversation(user(0), agent(0), user(1), agent(1), name=name, **fields)


def good_answer(question: Question[Any], **values: object) -> dict[str, Any]:
    """A full answer to a judge's question; `values` replaces single metrics."""
    if question.name == "judge_goal":
        return {"reason": "They know it.", "score": 1}
    labels = (AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE)
    assert isinstance(question.facts, TurnFacts)
    answer: dict[str, Any] = {}
    for metric in question.facts.metrics:
        reason = f"{metric} is fine"
        answer[metric] = (
            {"reason": reason, "label": "no failure"} if metric in labels else {"reason": reason, "score": 4}
        )
    return {**answer, **values}


Script = Callable[[Question[Any], int], Any]


class ScriptedJudge:
    """Keeps the promises of `LLM.ask`: an answer that can't be used as a whole is asked for once more, then what is right is kept.

    The script gets the question and the number of the request from 0; it returns parsed JSON, or raises. `hold` keeps answers back until set.
    """

    model = "scripted-1"

    def __init__(self, script: Script = lambda question, number: good_answer(question)) -> None:
        self.script = script
        self.questions: list[Question[Any]] = []
        self.requests = 0
        self.hold: asyncio.Event | None = None

    async def ask(self, question: Question[T]) -> Answer[T]:
        self.questions.append(question)
        if self.hold:
            await self.hold.wait()
        await asyncio.sleep(0)
        reading = question.read(self._request(question))
        if reading.problems:
            reading = question.read(self._request(question))
        if reading.value is None:
            raise AnswerInvalid("; ".join(reading.problems))
        return Answer(reading.value, self.model, reading.problems)

    def _request(self, question: Question[Any]) -> object:
        self.requests += 1
        return self.script(question, self.requests - 1)

    async def preflight(self) -> list[str]:
        return []

    def usage(self) -> Usage:
        return Usage()

    def notes(self) -> list[str]:
        return []

    async def close(self) -> None:
        pass


def metrics_asked(question: Question[Any]) -> tuple[str, ...]:
    """The metrics that a question asks for, read off its answer's schema."""
    assert isinstance(question.schema, Mapping)
    return ("goal_completion",) if question.name == "judge_goal" else tuple(question.schema["required"])  # type: ignore[arg-type]


def turn_of(question: Question[Any]) -> int:
    """The turn that a question is about."""
    assert isinstance(question.facts, TurnFacts)
    return question.facts.agent.turn_id
