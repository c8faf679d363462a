"""Work that ends when the job is cancelled: the runner kills ten seconds after its first signal."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Final, TypeVar

from arksim_ci.pipeline.conclusion import Ending

T = TypeVar("T")

CANCELLED: Final = Ending("CANCELLED", "the run was cancelled")
MOST_SECONDS: Final = 5.0
"""What a run may take to end in order; the rest is for publishing."""


async def unless_stopped(stop: asyncio.Event, work: Coroutine[object, object, T], seconds: float = 0.0) -> T | None:
    """Do the work. Once `stop` is set it gets so many seconds more, then it is cancelled, and there is None."""
    task = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({task}, timeout=seconds)
    finally:
        stopped.cancel()
        task.cancel()
    await asyncio.wait({task})
    return None if task.cancelled() else task.result()
