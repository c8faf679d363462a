"""How many LLM requests are in flight at once: additive increase, multiplicative decrease, as TCP does it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Literal

AUTO_START: Final = 8
AUTO_MOST: Final = 256


class Slots:
    """Slots for requests, first come, first served.

    A number of workers is the upper bound and where it starts. `auto` starts with a few slots and doubles them every
    round trip until the server throttles for the first time. A 429 halves the slots, at most once per round trip; every
    round trip of successes adds one. Not for more than one event loop.

    Parameters:
        workers: most requests in flight (1 or more), or `auto`.
        clock: monotonic seconds.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        workers: int | Literal["auto"],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        self._auto = workers == "auto"
        self._most = float(AUTO_MOST if workers == "auto" else workers)
        self._width = float(AUTO_START if workers == "auto" else workers)
        self._clock = clock
        self._sleep = sleep
        self._in_use = 0
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._halved_at = float("-inf")
        self._resume_at = float("-inf")

    @property
    def width(self) -> int:
        """How many requests may be in flight now, at least 1."""
        return int(self._width)

    async def acquire(self, *, urgent: bool = False) -> None:
        """Wait for a slot, and for the end of a pause that the server asked for.

        Who is `urgent` goes first, as long as no more than a full set of slots' worth of others wait: those who hold up
        nobody else fill the time in which the urgent wait for something else, but their line never grows long.
        """
        if self._in_use < self.width and not self._urgent and not self._waiting:
            self._in_use += 1
        else:
            await self._queue(self._urgent if urgent else self._waiting)
        pause = self._resume_at - self._clock()
        if pause > 0:
            try:
                await self._sleep(pause)
            except BaseException:
                self.release()
                raise

    async def _queue(self, line: deque[asyncio.Future[None]]) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the slot was given just before the cancellation
                self.release()
            elif place in line:  # it may have been passed over already
                line.remove(place)
            raise

    def release(self) -> None:
        """Give a slot back."""
        self._in_use -= 1
        self._hand_out()

    def succeeded(self) -> None:
        """The server answered: widen, where the slots were in use at all."""
        if self._in_use >= self.width:
            growing_fast = self._auto and self._halved_at == float("-inf")
            self._width = min(self._most, self._width + (1.0 if growing_fast else 1.0 / self._width))
            self._hand_out()

    def throttled(self, started: float, pause_seconds: float | None) -> None:
        """The server answered 429 to a request that started then: halve, and pause where it asks for that.

        Requests that were already in flight at the last halving say nothing new.
        """
        if started >= self._halved_at:
            self._width = max(1.0, self._width / 2)
            self._halved_at = self._clock()
        if pause_seconds is not None:
            self._resume_at = max(self._resume_at, self._clock() + pause_seconds)

    def _hand_out(self) -> None:
        while (self._urgent or self._waiting) and self._in_use < self.width:
            urgent = self._urgent and len(self._waiting) <= self.width
            place = (self._urgent if urgent or not self._waiting else self._waiting).popleft()
            if not place.done():
                self._in_use += 1
                place.set_result(None)
