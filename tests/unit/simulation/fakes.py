"""A simulated user and an agent that say what a test has written down."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

from arksim_ci.agents.agent import Agent, AgentAnswer, AgentDidNotAnswer
from arksim_ci.llm.client import Answer, LLMError, Question
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.schema.scenario import KnowledgeItem, Scenario
from arksim_ci.schema.simulation import Conversation, Message
from arksim_ci.schema.verdict import Usage
from arksim_ci.simulation.prompts import scenario_prompts
from arksim_ci.simulation.simulator import SimulationSettings, TestCase, hold_conversation

T = TypeVar("T")

SCENARIO = Scenario(
    scenario_id="s1",
    user_id="u1",
    goal="You want to return shoes.",
    agent_context="A shoe shop.",
    user_profile="You are Ann.",
    knowledge=(KnowledgeItem(content="Returns are free for 30 days."), KnowledgeItem(content="Boots are excluded.")),
)


class ScriptedUser:
    """An LLM that proposes these texts, one a question; an exception among them is raised."""

    model = "scripted"

    def __init__(self, *proposals: str | LLMError) -> None:
        self._proposals = iter(proposals)
        self.questions: list[Question[object]] = []

    async def ask(self, question: Question[T]) -> Answer[T]:
        self.questions.append(question)  # type: ignore[arg-type]
        proposal = next(self._proposals)
        if isinstance(proposal, LLMError):
            raise proposal
        reading = question.read(proposal)
        assert reading.value is not None
        return Answer(reading.value, self.model)

    @property
    def facts(self) -> list[SimulatedUserFacts]:
        return [question.facts for question in self.questions if isinstance(question.facts, SimulatedUserFacts)]

    async def preflight(self) -> list[str]:
        return []

    def usage(self) -> Usage:
        return Usage()

    def notes(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


Said = str | AgentAnswer | AgentDidNotAnswer


class ScriptedAgent:
    """An agent with a list of answers for each of its conversations; the connection and the agent in one."""

    def __init__(self, *conversations: Sequence[Said] | AgentDidNotAnswer) -> None:
        self._conversations = iter(conversations)
        self._answers: list[Said] = []
        self.opened: list[str] = []
        self.closed = 0
        self.heard: list[tuple[str, int]] = []

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        self.opened.append(conversation_id)
        conversation = next(self._conversations)
        if isinstance(conversation, AgentDidNotAnswer):
            raise conversation
        self._answers = list(conversation)
        return self

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        self.heard.append((message, turn_id))
        said = self._answers.pop(0)
        if isinstance(said, AgentDidNotAnswer):
            raise said
        return AgentAnswer(said) if isinstance(said, str) else said

    async def close(self) -> None:
        self.closed += 1


async def talk(
    user: ScriptedUser,
    agent: ScriptedAgent,
    *,
    max_turns: int = 5,
    retries: int = 1,
    on_turn: Callable[[TestCase, tuple[Message, ...]], None] = lambda case, history: None,
    waited: list[float] | None = None,
) -> Conversation:
    """Hold one conversation of `SCENARIO`; ids are i1, i2, ..."""
    settings = SimulationSettings(max_turns, retries, 2.0, scenario_prompts(None, [SCENARIO]))
    numbers = itertools.count(1)

    async def sleep(seconds: float) -> None:
        if waited is not None:
            waited.append(seconds)

    return await hold_conversation(
        TestCase(SCENARIO, 0, "c1"),
        settings,
        user,
        agent,
        on_turn,
        sleep=sleep,
        new_id=lambda: f"i{next(numbers)}",
    )


def lines(conversation: Conversation) -> list[str]:
    """The conversation as `turn role: text`."""
    short = {"simulated_user": "user", "assistant": "agent"}
    return [f"{m.turn_id} {short[m.role]}: {m.content}" for m in conversation.conversation_history]
