"""How a run ends early: at its deadline, or when it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Literal

GRACE_SECONDS = 2.0
"""What is in flight gets this long once no new work is started."""

Ending = Literal["COMPLETED", "TIMED_OUT", "CANCELLED"]


async def run_until(
    work: asyncio.Task[None], stop: asyncio.Event, seconds: float | None, halt: Callable[[Ending], None]
) -> Ending:
    """Let `work` go on until it is done, `stop` is set, or `seconds` are over.

    When it has to end early, `halt` is called to keep new work from starting; what is in flight gets `GRACE_SECONDS`, then
    it is cancelled. What `work` raises by itself is raised here.
    """
    stopped = asyncio.ensure_future(stop.wait())
    try:
        done, _ = await asyncio.wait({work, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work in done:
            work.result()
            return "COMPLETED"
        ending: Ending = "CANCELLED" if stopped in done else "TIMED_OUT"
        halt(ending)
        await asyncio.wait({work}, timeout=GRACE_SECONDS)
    finally:
        stopped.cancel()
        work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    return ending
