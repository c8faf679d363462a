"""The one gate that every LLM request passes: a slot, the budget, the outage switch, then the call and its retries."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol, TypeVar

from arksim_ci.config.model import Price
from arksim_ci.llm.client import Role
from arksim_ci.llm.ledger import Ledger
from arksim_ci.llm.outage import Outage
from arksim_ci.llm.prices import Tokens
from arksim_ci.llm.server_error import ServerError
from arksim_ci.llm.slots import Slots
from arksim_ci.retry import RetryPolicy, next_wait
from arksim_ci.schema.verdict import Usage

_log = logging.getLogger(__name__)

R = TypeVar("R")


class Billed(Protocol):
    """An answer with what it used."""

    @property
    def tokens(self) -> Tokens | None:
        """Tokens used; None where the server does not say."""
        ...

    @property
    def model(self) -> str:
        """The model as the server names it, "" where it does not."""
        ...


B = TypeVar("B", bound=Billed)


class Limits:
    """Concurrency, retries, budget and usage of a run.

    Parameters:
        num_workers: most LLM requests in flight (1 or more), or `auto`.
        model: the model as configured, for its price.
        prices: USD per million tokens, by model.
        max_llm_calls: most requests of the run, every retry and repair counted.
        max_cost_usd: no request is sent once this is reached; the model needs a price then.
        policy: how often and how patiently a failed request is made again.
        clock: monotonic seconds.
        sleep: waits for a number of seconds.
        rand: a number in [0, 1), for the jitter.
    """

    def __init__(
        self,
        num_workers: int | Literal["auto"],
        *,
        model: str,
        prices: Mapping[str, Price] | None = None,
        max_llm_calls: int | None = None,
        max_cost_usd: float | None = None,
        policy: RetryPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy or RetryPolicy()
        self._clock = clock
        self._sleep = sleep
        self._rand = rand
        self._slots = Slots(num_workers, clock, sleep)
        self._ledger = Ledger(model, prices, max_llm_calls, max_cost_usd)
        self._outage = Outage(self._policy.total_seconds, self._policy.cap_seconds, clock)

    @property
    def limit_reached(self) -> str | None:
        """Why the budget refused a request, in a sentence; None as long as it did not."""
        return self._ledger.limit_reached

    @property
    def width(self) -> int:
        """How many requests may be in flight now."""
        return self._slots.width

    def usage(self) -> Usage:
        """What was used so far, by role."""
        return self._ledger.usage()

    def admit(self, role: Role) -> None:
        """Count a question that no server is asked, and hold it to the budget.

        Raises:
            RunLimitReached: the budget is used up.
        """
        self._ledger.check()
        self._ledger.sent(role, again=False)

    async def call(self, role: Role, send: Callable[[], Awaitable[B]], *, again: bool = False) -> B:
        """Send a request when it may be sent, and again where that makes sense.

        `again` says that this request follows one that the server refused: it counts as a retry. A simulated user's request
        goes before a judge's: a conversation waits for it.

        Raises:
            RunLimitReached: the budget is used up.
            LLMUnavailable: the provider has been down for long.
            ServerError: the last failure.
        """

        async def once(repeated: bool) -> B:
            await self._slots.acquire(urgent=role == "simulated_user")
            try:
                self._ledger.check()
                self._outage.admit()
                self._ledger.sent(role, again=again or repeated)
                answer = await self._watched(send)
                self._slots.succeeded()
                self._ledger.answered(role, answer.tokens, answer.model)
                return answer
            finally:
                self._slots.release()

        return await self._retried(role, once)

    async def free_call(self, send: Callable[[], Awaitable[R]]) -> R:
        """The same for a request that costs nothing and is not counted.

        Raises:
            ServerError: the last failure.
        """
        return await self._retried("preflight", lambda _: self._watched(send))

    async def _watched(self, send: Callable[[], Awaitable[R]]) -> R:
        """Send once, and let slots and the outage switch know how it went."""
        started = self._clock()
        try:
            answer = await send()
        except ServerError as error:
            error.seconds = self._clock() - started
            if error.throttled:
                pause = error.retry_after
                if pause is not None:
                    pause = min(pause, self._policy.retry_after_cap_seconds)
                self._slots.throttled(started, pause)
            if error.retryable:
                self._outage.failed(started, str(error))
            else:
                self._outage.answered()
            raise
        self._outage.answered()
        return answer

    async def _retried(self, name: str, once: Callable[[bool], Awaitable[R]]) -> R:
        failures = 0
        elapsed = 0.0  # of tries and waits; queueing for a slot is not the question's fault
        while True:
            try:
                return await once(failures > 0)
            except ServerError as error:
                if not error.retryable:
                    raise
                failures += 1
                elapsed += error.seconds
                wait = next_wait(
                    self._policy,
                    failures=failures,
                    elapsed=elapsed,
                    throttled=error.throttled,
                    retry_after=error.retry_after,
                    rand=self._rand,
                )
                if wait is None:
                    error.tries = failures
                    raise
                _log.info("%s: %s; try %d follows in %.1f s", name, error, failures + 1, wait)
            await self._sleep(wait)
            elapsed += wait
