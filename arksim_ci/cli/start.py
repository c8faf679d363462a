"""What the commands share: arguments into overrides, an event loop that stops in order, the guest process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from arksim_ci.config.environment import process_environment
from arksim_ci.config.model import RunConfig
from arksim_ci.config.overrides import Overrides, parse_overrides
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.progress import Progress
from arksim_ci.user_code.host import UserCodeHost

T = TypeVar("T")


def overrides_of(arguments: Sequence[str]) -> list[Overrides]:
    """The overrides of a command line; their paths start from the working directory."""
    values = parse_overrides(arguments)
    return [Overrides(values, "the command line", Path.cwd())] if values else []


def run_until_signal(work: Callable[[asyncio.Event], Coroutine[object, object, T]]) -> T:
    """Run on an event loop. SIGINT and SIGTERM set the event that `work` is given; it then ends in order."""

    async def main() -> T:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # not on Windows
                loop.add_signal_handler(name, stop.set)
        return await work(stop)

    return asyncio.run(main())


class Guest:
    """The user's own Python, in a process that starts when it is first needed.

    Args:
        relay: answers `self.llm` of custom metrics.
        log: takes what the user's Python prints, line by line.
    """

    def __init__(self, relay: LLMRelay, log: Callable[[str], None]) -> None:
        self._relay = relay
        self._log = log
        self._host: UserCodeHost | None = None

    def host(self, config: RunConfig) -> UserCodeHost:
        """The host of the process; made once."""
        if self._host is None:
            self._host = UserCodeHost(
                Path(sys.executable),
                process_environment(),
                ask_llm=self._relay.ask,
                call_timeout_seconds=config.agent_timeout_seconds,
                log=self._log,
                model=config.model,
                provider=config.provider,
            )
        return self._host

    async def __aenter__(self) -> Guest:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._host is not None:
            await self._host.close()


def real_surroundings(progress: Progress, stop: asyncio.Event) -> Surroundings:
    """The real clock, ids and environment of this process."""
    return Surroundings(
        environment=process_environment(),
        progress=progress,
        now=lambda: datetime.now(UTC),
        monotonic=time.monotonic,
        sleep=asyncio.sleep,
        new_id=lambda: str(uuid.uuid4()),
        commit=_commit(),
        stop=stop,
    )


def _commit() -> str | None:
    """The commit that is checked out here, if this is a git repository."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607  (the user's own git)
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
