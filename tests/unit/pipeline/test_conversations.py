"""All conversations of a run side by side: what one of them runs into costs that one."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime
from typing import TypeVar

from arksim_ci.agents.agent import Agent, AgentAnswer
from arksim_ci.config.model import RunConfig
from arksim_ci.llm.client import Answer, Question, RunLimitReached
from arksim_ci.pipeline.conversations import Conversations, test_cases
from arksim_ci.pipeline.guard import Gatekeeper
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.schema.scenario import Scenario, Scenarios
from arksim_ci.schema.simulation import Conversation, Turn
from arksim_ci.schema.verdict import Usage

test_cases.__test__ = False  # type: ignore[attr-defined]

T = TypeVar("T")


class Talker:
    """A user who always asks something new; it may refuse from some question on."""

    model = "m"

    def __init__(self, allowed: int = 1_000) -> None:
        self.asked = 0
        self._allowed = allowed

    async def ask(self, question: Question[T]) -> Answer[T]:
        await asyncio.sleep(0)
        if self.asked >= self._allowed:
            raise RunLimitReached("max_llm_calls reached")
        self.asked += 1
        reading = question.read(f"Question number {self.asked}: how many days?")
        assert reading.value is not None
        return Answer(reading.value, self.model)

    async def preflight(self) -> list[str]:
        return []

    def usage(self) -> Usage:
        return Usage()

    def notes(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


class Clerk:
    """An agent that answers everything, and has a bug in the conversations of one scenario."""

    def __init__(self, broken: str = "") -> None:
        self._broken = broken
        self.opened: list[str] = []

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        self.opened.append(scenario.scenario_id)
        return _Clerk(scenario.scenario_id == self._broken)

    async def close(self) -> None:
        return None


class _Clerk:
    def __init__(self, broken: bool) -> None:
        self._broken = broken

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        if self._broken and turn_id == 1:
            raise ZeroDivisionError("the token is secret")
        return AgentAnswer("Within 30 days.")

    async def close(self) -> None:
        return None


class Silent:
    """Progress that nobody watches."""

    def __init__(self) -> None:
        self.ended: list[Conversation] = []

    def phase(self, name: str) -> None: ...
    def expect(self, conversations: int, turns: int) -> None: ...
    def turn_answered(self, scenario_id: str, turn: Turn) -> None: ...
    def judged(self) -> None: ...
    def note(self, sentence: str) -> None: ...
    def conversation_ended(self, conversation: Conversation) -> None:
        self.ended.append(conversation)


NUMBERS = itertools.count()


def around(progress: Silent) -> Surroundings:
    return Surroundings(
        environment={},
        progress=progress,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        monotonic=lambda: 0.0,
        sleep=asyncio.sleep,
        new_id=lambda: f"id{next(NUMBERS)}",
        commit=None,
        stop=asyncio.Event(),
    )


def scenarios(*names: str) -> Scenarios:
    return Scenarios(
        schema_version="v1",
        scenarios=[
            Scenario(scenario_id=name, user_id="u", goal="g", agent_context="a", user_profile="p", knowledge=[])
            for name in names
        ],
    )


async def test_a_bug_in_one_conversation_costs_that_conversation() -> None:
    progress, ended = Silent(), []
    cases = test_cases(scenarios("a", "b", "c"), 2, lambda: f"c{next(NUMBERS)}")
    talks = Conversations(
        cases,
        RunConfig(max_turns=3),
        Talker(),
        Clerk(broken="b"),
        None,
        around(progress),
        redact=lambda text: text.replace("secret", "***"),
        on_ended=lambda number, conversation: ended.append((number, conversation.not_finished)),
    )
    await talks.hold()
    held = talks.so_far("")
    assert [len(each.turns()) for each in held] == [3, 3, 1, 1, 3, 3]
    broken = "internal error: ZeroDivisionError: the token is ***"
    assert [each.not_finished for each in held] == [None, None, broken, broken, None, None]
    assert [type(bug) for bug in talks.bugs] == [ZeroDivisionError] * 2
    assert sorted(ended) == [(0, None), (1, None), (2, broken), (3, broken), (4, None), (5, None)]
    assert len(progress.ended) == 6


async def test_what_is_finished_is_not_held_again() -> None:
    progress, clerk = Silent(), Clerk()
    cases = test_cases(scenarios("a", "b"), 1, lambda: f"c{next(NUMBERS)}")
    first = Conversations(cases, RunConfig(max_turns=2), Talker(), Clerk(), None, around(Silent()))
    await first.hold()
    before = first.so_far("")
    ended: list[int] = []
    talks = Conversations(
        cases,
        RunConfig(max_turns=2),
        Talker(),
        clerk,
        None,
        around(progress),
        finished={before[0].conversation_id: before[0]},
        on_ended=lambda number, conversation: ended.append(number),
    )
    await talks.hold()
    assert talks.so_far("")[0] == before[0]
    assert clerk.opened == ["b"]
    assert ended == [1]
    assert len(progress.ended) == 2


async def test_once_the_budget_is_used_up_nothing_is_begun() -> None:
    llm, clerk = Gatekeeper(Talker(allowed=5)), Clerk()
    cases = test_cases(scenarios("a"), 50, lambda: f"c{next(NUMBERS)}")
    talks = Conversations(cases, RunConfig(max_turns=3, num_workers=1), llm, clerk, None, around(Silent()))
    llm.on_limit = talks.begin_no_more
    await talks.hold()
    held = talks.so_far("the budget")
    assert len(clerk.opened) == 2
    assert [len(each.turns()) for each in held[:3]] == [3, 2, 0]
    assert {each.not_finished for each in held[2:]} == {"the budget"}
    assert llm.limit_reached == "max_llm_calls reached"
