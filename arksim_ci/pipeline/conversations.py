"""All conversations of a run, side by side, each judged while it goes on."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from arksim_ci.agents.agent import AgentConnection
from arksim_ci.config.model import RunConfig
from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.llm.client import LLM
from arksim_ci.pipeline.stopping import describe
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Conversation, Message, Turn
from arksim_ci.simulation.simulator import Progress, SimulationSettings, TestCase, hold_conversation, progress_of

logger = logging.getLogger(__name__)

OnEnded = Callable[[int, Conversation], None]
"""Told the number of a test case, from 0, and its conversation."""

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
    """Holds the conversations of a run, and knows at any moment how far each has come.

    Args:
        cases: every test case, those included whose conversations are finished.
        config: the settings.
        llm: plays the simulated users.
        connection: the way to the agent.
        evaluator: judges turns and conversations as they come; None where nothing is judged.
        around: the outside world.
        redact: replaces secrets in what is said of a bug.
        finished: conversations that were held before, by id; they are judged where that is left to do, and not held again.
        on_ended: told of every conversation that is over.
    """

    def __init__(
        self,
        cases: Sequence[TestCase],
        config: RunConfig,
        llm: LLM,
        connection: AgentConnection,
        evaluator: Evaluator | None,
        around: Surroundings,
        *,
        redact: Callable[[str], str] = str,
        finished: Mapping[str, Conversation] | None = None,
        on_ended: OnEnded = lambda number, conversation: None,
    ) -> None:
        self._cases = cases
        self._settings = SimulationSettings.of(config, [case.scenario for case in cases])
        self._workers = _workers(config.num_workers)
        self._llm = llm
        self._connection = connection
        self._evaluator = evaluator
        self._around = around
        self._redact = redact
        self._on_ended = on_ended
        self._ended: dict[str, Conversation] = dict(finished or {})
        self._bugs: list[Exception] = []
        self._under_way: dict[str, Progress] = {}
        self._closed = ""

    async def hold(self) -> None:
        """Hold all conversations that are left to hold. When this is cancelled, `so_far` has what there is.

        A bug that a conversation runs into costs that conversation; see `bugs`.
        """
        slots = asyncio.Semaphore(self._workers)
        async with asyncio.TaskGroup() as group:
            for number, case in enumerate(self._cases):
                if held := self._ended.get(case.conversation_id):
                    self._tell(case, held)
                    continue
                await slots.acquire()
                group.create_task(self._hold_one(number, case)).add_done_callback(lambda _: slots.release())

    @property
    def bugs(self) -> Sequence[Exception]:
        """What conversations ran into that nobody foresaw."""
        return self._bugs

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

    async def _hold_one(self, number: int, case: TestCase) -> None:
        if self._closed:
            return
        progress = self._under_way[case.conversation_id] = progress_of(case, self._settings)
        try:
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
        except Exception as bug:
            logger.error(
                "A conversation broke off through a bug:\n%s", self._redact("".join(traceback.format_exception(bug)))
            )
            self._bugs.append(bug)
            conversation = progress.conversation(not_finished=f"internal error: {self._redact(describe(bug))}")
        del self._under_way[case.conversation_id]
        self._ended[case.conversation_id] = conversation
        self._on_ended(number, conversation)
        self._tell(case, conversation)

    def _tell(self, case: TestCase, conversation: Conversation) -> None:
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
