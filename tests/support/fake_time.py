"""A clock that only moves when somebody sleeps by it."""

from __future__ import annotations

import asyncio


class FakeTime:
    """Pass `clock` and `sleep`; `slept` lists what was slept."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
