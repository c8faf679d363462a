"""The one retry policy: what is retried, and how long it waits. Nothing else in the package decides that."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

LLM_RETRYABLE: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which an LLM request, which has no side effects, is made again. Any other 5xx is, too."""
AGENT_RETRYABLE: Final = frozenset({408, 429, 502, 503, 504})
"""HTTP statuses after which the agent cannot have acted yet, so that asking again is safe."""
ARTIFACT_RETRYABLE: Final = frozenset({429, 500, 502, 503, 504})
"""HTTP statuses after which moving an artifact is tried again, as GitHub's own client does."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently something is tried again.

    `attempts` counts the first try; `throttled_attempts` holds instead where the server answers "too many requests" (429):
    it is alive, so patience pays. Waits grow by full jitter: a random share of `base_seconds * 2 ** n`, at most
    `cap_seconds`. A server's Retry-After is obeyed up to `retry_after_cap_seconds`. No try starts later than `total_seconds`
    after the first one, as far as tries and waits count.
    """

    attempts: int = 6
    throttled_attempts: int = 20
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
    doublings = min(retries_so_far, 32)  # beyond that only the cap counts, and a float would overflow
    return float(min(policy.cap_seconds, policy.base_seconds * 2**doublings)) * rand()


def next_wait(
    policy: RetryPolicy,
    *,
    failures: int,
    elapsed: float,
    throttled: bool,
    retry_after: float | None,
    rand: Callable[[], float] = random.random,
) -> float | None:
    """Decide after a failure that is worth another try: seconds to wait, or None to give up.

    `failures` counts the tries that failed so far (1 or more), `elapsed` the seconds that they and the waits between them
    took, `throttled` says that the last one was a 429.
    """
    if failures >= (policy.throttled_attempts if throttled else policy.attempts):
        return None
    wait = wait_seconds(policy, failures - 1, retry_after, rand)
    return None if elapsed + wait > policy.total_seconds else wait


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date relative to `now` (seconds since the epoch).

    Returns None where there is none or it can't be read.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds an answer's headers ask to wait: `retry-after-ms`, else `retry-after`, else the reset of a used-up limit.

    `headers` has lower-case names. OpenAI and those who copy it give `x-ratelimit-remaining-requests: 0` and
    `x-ratelimit-reset-requests: 6m0s`, and the same for `tokens`. Returns None where nothing is asked.
    """
    milliseconds = retry_after_seconds(headers.get("retry-after-ms"), now)
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = retry_after_seconds(headers.get("retry-after"), now)
    if seconds is not None:
        return seconds
    resets = [
        _duration_seconds(headers.get(f"x-ratelimit-reset-{unit}", ""))
        for unit in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{unit}", "").strip() == "0"
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _duration_seconds(text: str) -> float | None:
    """Read `1h2m3.5s`, `6m0s` or `20ms`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
