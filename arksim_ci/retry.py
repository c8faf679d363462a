"""The one retry policy: what is retried, and how long it waits. Nothing else in the package decides that."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

LLM_RETRYABLE: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which an LLM request, which has no side effects, is made again. Any other 5xx is, too."""
AGENT_RETRYABLE: Final = frozenset({408, 429, 502, 503, 504})
"""HTTP statuses after which the agent cannot have acted yet, so that asking again is safe."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently something is tried again.

    `attempts` counts the first try. Waits grow by full jitter: a random share of `base_seconds * 2 ** n`, at most
    `cap_seconds`. A server's Retry-After is obeyed up to `retry_after_cap_seconds`. `total_seconds` bounds the sum of all waits.
    """

    attempts: int = 6
    base_seconds: float = 0.5
    cap_seconds: float = 30.0
    retry_after_cap_seconds: float = 60.0
    total_seconds: float = 180.0


def llm_status_is_retryable(status: int) -> bool:
    """Whether an LLM request that got this HTTP status is worth another try."""
    return status in LLM_RETRYABLE or status >= 500


def wait_seconds(
    policy: RetryPolicy,
    retries_so_far: int,
    retry_after: float | None,
    rand: Callable[[], float] = random.random,
) -> float:
    """How long to wait before the next try.

    Full jitter, as in "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). `retry_after` in seconds beats the
    formula. `rand` gives a number in [0, 1).
    """
    if retry_after is not None:
        return min(max(retry_after, 0.0), policy.retry_after_cap_seconds)
    return float(min(policy.cap_seconds, policy.base_seconds * 2**retries_so_far)) * rand()


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date relative to `now` (seconds since the epoch).

    Returns None where there is none or it can't be read.
    """
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, TypeError):
        return None
