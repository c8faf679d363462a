"""All conversations of a run, side by side, each judged while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from arksim_ci.agents.agent import AgentConnection
from arksim_ci.config.model import RunConfig
from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.llm.client import LLM
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Conversation, Message, Turn
from arksim_ci.simulation.simulator import Progress, SimulationSettings, TestCase, hold_conversation, progress_of

AUTO_WORKERS = 50
"""Conversations in flight with `num_workers: auto`; the limiter finds how many LLM requests the provider bears."""


def test_cases(scenarios: Scenarios, repetitions: int, new_id: Callable[[], str]) -> list[TestCase]:
    """Every repetition of every scenario, in the order of the scenario file."""
    return [
        TestCase(scenario, repetition, new_id())
        for scenario in scenarios.scenarios
        for repetition in range(repetitions)
    ]


class Conversations:
    """Holds the conversations of a run, and knows at any moment how far each has come."""

    def __init__(
        self,
        cases: Sequence[TestCase],
        config: RunConfig,
        llm: LLM,
        connection: AgentConnection,
        evaluator: Evaluator | None,
        around: Surroundings,
    ) -> None:
        self._cases = cases
        self._settings = SimulationSettings.of(config, [case.scenario for case in cases])
        self._workers = _workers(config.num_workers)
        self._llm = llm
        self._connection = connection
        self._evaluator = evaluator
        self._around = around
        self._ended: dict[str, Conversation] = {}
        self._under_way: dict[str, Progress] = {}
        self._closed = ""

    async def hold(self) -> None:
        """Hold all conversations. When this is cancelled, `so_far` has what there is."""
        slots = asyncio.Semaphore(self._workers)
        async with asyncio.TaskGroup() as group:
            for case in self._cases:
                await slots.acquire()
                group.create_task(self._hold_one(case)).add_done_callback(lambda _: slots.release())

    def begin_no_more(self, cause: str) -> None:
        """Start no conversation from now on; `cause` is why the rest never began."""
        self._closed = cause

    def so_far(self, cause: str) -> list[Conversation]:
        """Every test case's conversation as far as it came, in the order of the test cases.

        `cause` is noted where a conversation was broken off or never began.
        """
        return [self._conversation(case, cause) for case in self._cases]

    def _conversation(self, case: TestCase, cause: str) -> Conversation:
        if ended := self._ended.get(case.conversation_id):
            return ended
        progress = self._under_way.get(case.conversation_id) or progress_of(case, self._settings)
        return progress.conversation(not_finished=cause)

    async def _hold_one(self, case: TestCase) -> None:
        if self._closed:
            return
        progress = self._under_way[case.conversation_id] = progress_of(case, self._settings)
        conversation = await hold_conversation(
            case,
            self._settings,
            self._llm,
            self._connection,
            self._turn_answered,
            sleep=self._around.sleep,
            new_id=self._around.new_id,
            progress=progress,
        )
        del self._under_way[case.conversation_id]
        self._ended[case.conversation_id] = conversation
        if self._evaluator:
            self._evaluator.conversation_ended(conversation, case.scenario, case.repetition)
        self._around.progress.conversation_ended(conversation)

    def _turn_answered(self, case: TestCase, history: tuple[Message, ...]) -> None:
        user, agent = history[-2:]
        self._around.progress.turn_answered(
            case.scenario.scenario_id, Turn(turn_id=agent.turn_id, user=user, agent=agent)
        )
        if self._evaluator:
            self._evaluator.turn_answered(case.conversation_id, case.scenario, history, case.repetition)


def _workers(num_workers: int | Literal["auto"]) -> int:
    return AUTO_WORKERS if num_workers == "auto" else num_workers
