"""When a provider has been down for long, questions fail at once instead of each waiting for itself."""

from __future__ import annotations

from collections.abc import Callable

from arksim_ci.llm.client import LLMUnavailable


class Outage:
    """Watches whether the provider answers at all.

    Parameters:
        patience_seconds: after so long without any answer, requests are refused with the last cause.
        probe_seconds: from then on, one request in so many seconds is let through to see whether the provider is back.
        clock: monotonic seconds.
    """

    def __init__(self, patience_seconds: float, probe_seconds: float, clock: Callable[[], float]) -> None:
        self._patience = patience_seconds
        self._probe = probe_seconds
        self._clock = clock
        self._answered_at = float("-inf")
        self._down_since: float | None = None
        self._down = False
        self._next_probe = 0.0
        self._cause = ""

    def admit(self) -> None:
        """Let a request through.

        Raises:
            LLMUnavailable: the provider is down, and the next probe is not due.
        """
        if not self._down:
            return
        now = self._clock()
        if now < self._next_probe:
            raise LLMUnavailable(
                f"the provider has not answered for {self._patience:.0f} s or more; last: {self._cause}"
            )
        self._next_probe = now + self._probe

    def answered(self) -> None:
        """The provider answered something that shows it is alive."""
        self._answered_at = self._clock()
        self._down_since = None
        self._down = False

    def failed(self, started: float, cause: str) -> None:
        """A request that started then got no answer, or one that says "not now"."""
        now = self._clock()
        self._cause = cause
        if self._down_since is None:
            self._down_since = max(started, self._answered_at)
        if not self._down and now - self._down_since >= self._patience:
            self._down = True
            self._next_probe = now + self._probe
