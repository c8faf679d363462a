"""When a provider counts as down, and how it comes back."""

from __future__ import annotations

import pytest

from arksim_ci.llm.client import LLMUnavailable
from arksim_ci.llm.outage import Outage
from tests.support.fake_time import FakeTime


def make() -> tuple[Outage, FakeTime]:
    time = FakeTime()
    return Outage(180, 30, time.clock), time


def test_failures_for_a_while_let_requests_through() -> None:
    outage, time = make()
    outage.failed(time.now, "HTTP 503")
    time.now += 179
    outage.failed(time.now, "HTTP 503")
    outage.admit()


def test_after_its_patience_requests_fail_with_the_cause() -> None:
    outage, time = make()
    outage.failed(time.now, "HTTP 500")
    time.now += 180
    outage.failed(time.now, "HTTP 503: overloaded")
    with pytest.raises(LLMUnavailable, match="180 s or more; last: HTTP 503: overloaded"):
        outage.admit()


def test_one_probe_in_a_while_is_let_through() -> None:
    outage, time = make()
    outage.failed(time.now, "HTTP 500")
    time.now += 180
    outage.failed(time.now, "HTTP 500")
    time.now += 30
    outage.admit()
    with pytest.raises(LLMUnavailable):
        outage.admit()
    outage.answered()
    outage.admit()
    outage.admit()


def test_one_answer_in_between_starts_the_patience_anew() -> None:
    outage, time = make()
    outage.failed(time.now, "HTTP 500")
    time.now += 100
    outage.answered()
    time.now += 100
    outage.failed(time.now - 150, "no answer within 60 s")
    outage.admit()


def test_a_request_that_hung_counts_from_its_start() -> None:
    outage, time = make()
    started = time.now
    time.now += 180
    outage.failed(started, "no answer within 180 s")
    with pytest.raises(LLMUnavailable):
        outage.admit()
