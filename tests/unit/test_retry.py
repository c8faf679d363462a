"""The retry policy: what is retried, how long it waits, and that it ends."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.retry import (
    AGENT_RETRYABLE,
    RetryPolicy,
    asked_wait,
    llm_status_is_retryable,
    next_wait,
    retry_after_seconds,
    wait_seconds,
)

RANDOM = st.floats(min_value=0, max_value=1, exclude_max=True)
POLICY = RetryPolicy()


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
def test_an_llm_request_is_made_again_after_a_passing_fault(status: int) -> None:
    assert llm_status_is_retryable(status)


@pytest.mark.parametrize("status", [200, 400, 401, 402, 403, 404, 405, 410, 413, 422])
def test_an_llm_request_is_not_made_again_where_that_changes_nothing(status: int) -> None:
    assert not llm_status_is_retryable(status)


def test_the_agent_is_never_asked_again_where_it_may_have_acted() -> None:
    assert 500 not in AGENT_RETRYABLE
    assert 408 in AGENT_RETRYABLE


@given(retries=st.integers(0, 100_000), rand=RANDOM)
def test_a_wait_lies_between_zero_and_its_bound(retries: int, rand: float) -> None:
    wait = wait_seconds(POLICY, retries, None, lambda: rand)
    assert 0 <= wait <= min(POLICY.cap_seconds, POLICY.base_seconds * 2 ** min(retries, 32))


@given(retry_after=st.floats(allow_nan=False), rand=RANDOM)
def test_a_wait_that_the_server_asks_for_is_kept_up_to_the_cap(retry_after: float, rand: float) -> None:
    wait = wait_seconds(POLICY, 3, retry_after, lambda: rand)
    assert wait == min(max(retry_after, 0), POLICY.retry_after_cap_seconds)


@given(
    throttled=st.booleans(),
    seconds=st.floats(0, 100),
    retry_after=st.none() | st.floats(0, 1e6),
    rand=RANDOM,
)
def test_retrying_ends_and_its_time_is_bounded(
    throttled: bool, seconds: float, retry_after: float | None, rand: float
) -> None:
    elapsed = 0.0
    for failures in itertools.count(1):
        elapsed += seconds
        wait = next_wait(
            POLICY,
            failures=failures,
            elapsed=elapsed,
            throttled=throttled,
            retry_after=retry_after,
            rand=lambda: rand,
        )
        if wait is None:
            break
        elapsed += wait
    assert failures <= max(POLICY.attempts, POLICY.throttled_attempts)
    assert elapsed <= POLICY.total_seconds + seconds


def test_a_server_that_throttles_gets_more_patience_than_one_that_fails() -> None:
    arguments = {"failures": POLICY.attempts, "elapsed": 1.0, "retry_after": None, "rand": lambda: 0.5}
    assert next_wait(POLICY, throttled=False, **arguments) is None  # type: ignore[arg-type]
    assert next_wait(POLICY, throttled=True, **arguments) is not None  # type: ignore[arg-type]


@given(seconds=st.floats(0, 1e9, allow_nan=False))
def test_retry_after_in_seconds(seconds: float) -> None:
    assert retry_after_seconds(repr(seconds), now=0) == seconds


def test_retry_after_as_a_date() -> None:
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    later = format_datetime(now.replace(second=30), usegmt=True)
    assert retry_after_seconds(later, now.timestamp()) == 30
    assert retry_after_seconds(format_datetime(now.replace(hour=1), usegmt=True), now.timestamp()) == 0


@given(value=st.text())
def test_any_retry_after_is_read_or_ignored(value: str) -> None:
    seconds = retry_after_seconds(value, now=1_800_000_000)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)


@pytest.mark.parametrize("value", [None, "", "soon", "nan", "inf", "-inf"])
def test_an_unreadable_retry_after_is_none(value: str | None) -> None:
    assert retry_after_seconds(value, now=0) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "12", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
        ({"retry-after": "3", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, 3.0),
    ],
)
def test_what_the_headers_ask_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, now=0) == seconds
