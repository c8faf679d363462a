"""A run in this process, as the command line starts it, on a clock that goes two hundred times as fast."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from arksim_ci.pipeline.preparation import prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.run import RunResult, run
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.process import Guest
from arksim_ci.reports.terminal import closing_block
from arksim_ci.schema.simulation import Conversation, Turn
from arksim_ci.schema.verdict import Command
from tests.support.project import Finished

SPEED = 200.0
"""Seconds on the run's clock in a second. A retry policy of minutes is over in one, and all shares stay as they are."""


@dataclass
class Recorded:
    """Remembers what a run tells."""

    ended: list[Conversation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def phase(self, name: str) -> None: ...
    def expect(self, conversations: int, turns: int) -> None: ...
    def turn_answered(self, scenario_id: str, turn: Turn) -> None: ...
    def judged(self) -> None: ...

    def conversation_ended(self, conversation: Conversation) -> None:
        self.ended.append(conversation)

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


@dataclass(frozen=True)
class FastRun:
    """A run that is over: what it told, what it returned, and its closing block."""

    told: Recorded
    result: RunResult
    closing: str
    user_output: tuple[str, ...]

    @property
    def finished(self) -> Finished:
        """The same as of a run of the command line."""
        return Finished(self.result.exit_code, self.closing, "\n".join(self.told.notes), self.result.folder)


async def fast_sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / SPEED)


def fast_clock() -> float:
    return time.monotonic() * SPEED


async def fast_run(
    config: Path,
    command: Command = "simulate-evaluate",
    *,
    environment: Mapping[str, str] | None = None,
    stop: asyncio.Event | None = None,
) -> FastRun:
    """Run what a configuration says.

    Raises:
        ConfigError: as the command line shows it.
    """
    told, printed, relay = Recorded(), list[str](), LLMRelay()
    variables = dict(environment or {})
    async with Guest(relay, printed.append) as guest:
        plan = await prepare(config, [], command, variables, guest.host)
        around = Surroundings(
            environment=variables,
            progress=told,
            now=lambda: datetime.now(UTC),
            monotonic=fast_clock,
            sleep=fast_sleep,
            new_id=lambda: str(uuid.uuid4()),
            commit=None,
            stop=stop or asyncio.Event(),
        )
        result = await run(plan, around, guest.host(plan.config), relay)
    files = {file.name: str(file) for file in result.files}
    return FastRun(told, result, closing_block(result.results, files).plain, tuple(printed))
