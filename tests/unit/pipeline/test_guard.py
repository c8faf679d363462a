"""What stands between a run and the outside."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import pytest

from arksim_ci.agents.agent import Agent, AgentAnswer, AgentDidNotAnswer
from arksim_ci.llm.client import Answer, Question, Reading, RunLimitReached
from arksim_ci.pipeline.guard import Gatekeeper, RedactedConnection
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import ToolCall
from tests.unit.pipeline.test_conversations import Talker

T = TypeVar("T")

QUESTION: Question[object] = Question("q", "judge", (), None, Reading, None)
SCENARIO = Scenario(scenario_id="s", user_id="u", goal="g", agent_context="a", user_profile="p", knowledge=[])


class Refusing(Talker):
    """Refuses every question, in words of its own each time."""

    async def ask(self, question: Question[T]) -> Answer[T]:
        self.asked += 1
        raise RunLimitReached(f"limit {self.asked}")


async def test_the_first_refusal_shuts_the_gate_for_everybody() -> None:
    inner = Refusing()
    told: list[str] = []
    llm = Gatekeeper(inner)
    llm.on_limit = told.append
    for _ in range(3):
        with pytest.raises(RunLimitReached, match="limit 1"):
            await llm.ask(QUESTION)
    assert (inner.asked, llm.limit_reached, told) == (1, "limit 1", ["limit 1"])


async def test_a_gate_that_was_shut_says_why_and_is_no_limit() -> None:
    inner = Talker()
    llm = Gatekeeper(inner)
    llm.shut("the run was cancelled")
    llm.shut("later")
    with pytest.raises(RunLimitReached, match="cancelled"):
        await llm.ask(QUESTION)
    assert (inner.asked, llm.limit_reached) == (0, "")


class Leaky:
    """An agent that tells its secret, and calls tools with whatever it is given."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        return self

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        if not message:
            raise AgentDidNotAnswer("HTTP 401: secret is wrong")
        return AgentAnswer("It is secret.", (ToolCall(name="find", arguments=self._arguments, result="a secret"),))

    async def close(self) -> None:
        return None


def hidden(text: str) -> str:
    return text.replace("secret", "***")


async def test_no_secret_passes_in_answers_calls_or_errors() -> None:
    agent = await RedactedConnection(Leaky({"key": ["secret"], "secret": 1}), hidden).open("c", SCENARIO)
    answer = await agent.answer("Hello", 0)
    assert answer.content == "It is ***."
    assert answer.tool_calls == (ToolCall(name="find", arguments={"key": ["***"], "***": 1}, result="a ***"),)
    with pytest.raises(AgentDidNotAnswer, match=r"\*\*\* is wrong"):
        await agent.answer("", 1)


@pytest.mark.parametrize("levels", [100, 2_000])
async def test_arguments_that_no_file_could_hold_become_a_note(levels: int) -> None:
    deep: dict[str, Any] = {}
    for _ in range(levels):
        deep = {"a": deep}
    agent = await RedactedConnection(Leaky(deep), hidden).open("c", SCENARIO)
    [call] = (await agent.answer("Hello", 0)).tool_calls
    assert list(call.arguments) == ["_raw"]
    json.dumps(call.model_dump(), indent=2)
