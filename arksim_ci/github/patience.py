"""How long GitHub is waited for. Source: "Best practices for using the REST API" and "Rate limits for the REST API", docs.github.com."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arksim_ci.retry import RetryPolicy, retry_after_seconds

SECONDS_BETWEEN_WRITES: Final = 1.0
FIRST_LIMIT_SECONDS: Final = 60.0
"""The wait at a limit that does not say how long; it doubles each time."""
MOST_SECONDS: Final = 150.0
"""All waits of a client together: a comment isn't worth ten minutes."""
TRANSIENT: Final = frozenset({408, 500, 502, 503, 504})
POLICY: Final = RetryPolicy(attempts=4, base_seconds=1.0, cap_seconds=10.0, total_seconds=60.0)


def limit_seconds(
    status: int, headers: Mapping[str, str], message: str, limits_before: int, now: float
) -> float | None:
    """Seconds to wait where an answer says that there were too many requests; None where it says something else.

    Args:
        status: the HTTP status.
        headers: with lower-case names.
        message: what the answer's body says.
        limits_before: how often this client had met a limit before.
        now: seconds since the epoch.
    """
    if status not in (403, 429):
        return None
    used_up = headers.get("x-ratelimit-remaining", "").strip() == "0"
    says_so = any(words in message.lower() for words in ("rate limit", "abuse detection"))
    if status == 403 and not (used_up or says_so or "retry-after" in headers):
        return None  # a permission
    asked = retry_after_seconds(headers.get("retry-after"), now)
    if asked is not None:
        return asked
    reset = headers.get("x-ratelimit-reset", "").strip()
    if (
        reset.isascii()
        and reset.isdigit()
        and len(reset) < 16
        and (used_up or (status == 429 and "x-ratelimit-remaining" not in headers))
    ):
        return max(int(reset) - now, 0.0) + 1.0
    return float(FIRST_LIMIT_SECONDS * 2**limits_before)
