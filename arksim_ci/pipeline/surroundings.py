"""Everything a run needs from the outside world, passed in by whoever starts it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from arksim_ci.progress import Progress


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The side effects of a run.

    Args:
        environment: the variables that the configuration may read.
        progress: who is told how the run goes.
        now: the time, in UTC.
        monotonic: a clock for durations, in seconds.
        sleep: waits for seconds.
        new_id: a new unique id.
        commit: the commit under test, if known.
        stop: set by whoever wants the run to end now; what is finished is written all the same.
    """

    environment: Mapping[str, str] = field(repr=False)
    progress: Progress
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    new_id: Callable[[], str]
    commit: str | None
    stop: asyncio.Event

    def timestamp(self) -> str:
        """The time as the files write it: ISO 8601, UTC."""
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")
