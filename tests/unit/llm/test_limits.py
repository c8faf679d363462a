"""The gate that every request passes: retries, slots, budget and outage together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from arksim_ci.llm.client import LLMUnavailable, RunLimitReached
from arksim_ci.llm.limits import Limits
from arksim_ci.llm.prices import Tokens
from arksim_ci.llm.server_error import ServerError, from_body
from arksim_ci.retry import RetryPolicy
from tests.support.fake_time import FakeTime

TOKENS = Tokens(10, 4, 2)


@dataclass(frozen=True)
class Said:
    tokens: Tokens | None = TOKENS
    model: str = "m"


def failing(status: int, headers: dict[str, str] | None = None, code: str = "") -> ServerError:
    return from_body(status, headers or {}, {"error": {"message": "no", "code": code}}, 0, ())


def make(workers: int = 4, **settings: object) -> tuple[Limits, FakeTime]:
    time = FakeTime()
    limits = Limits(workers, model="m", clock=time.clock, sleep=time.sleep, rand=lambda: 0.5, **settings)  # type: ignore[arg-type]
    return limits, time


def script(*outcomes: ServerError | Said) -> Callable[[], object]:
    rest = list(outcomes)

    async def send() -> Said:
        outcome = rest.pop(0) if len(rest) > 1 else rest[0]
        if isinstance(outcome, ServerError):
            raise outcome
        return outcome

    return send


async def ask(limits: Limits, send: Callable[[], object]) -> Said:
    return await limits.call("judge", send)  # type: ignore[arg-type]


async def test_a_passing_fault_is_waited_out() -> None:
    limits, time = make()
    await ask(limits, script(failing(503), failing(500), Said()))
    assert time.slept == [0.25, 0.5]
    judge = limits.usage().judge
    assert (judge.calls, judge.retries, judge.input_tokens) == (3, 2, 10)


async def test_a_fault_of_ours_is_not_tried_again() -> None:
    limits, time = make()
    with pytest.raises(ServerError, match="HTTP 400"):
        await ask(limits, script(failing(400)))
    assert time.slept == []
    assert limits.usage().judge.calls == 1


async def test_retry_after_is_obeyed() -> None:
    limits, time = make()
    await ask(limits, script(failing(429, {"retry-after": "7"}), Said()))
    assert time.slept == [7.0]
    assert limits.width == 2


async def test_a_used_up_quota_fails_at_once() -> None:
    limits, time = make()
    with pytest.raises(ServerError, match="HTTP 429"):
        await ask(limits, script(failing(429, code="insufficient_quota")))
    assert time.slept == []
    assert limits.width == 4


async def test_a_fault_that_stays_ends_with_its_cause() -> None:
    limits, _ = make()
    with pytest.raises(ServerError, match="HTTP 500") as caught:
        await ask(limits, script(failing(500)))
    assert caught.value.tries == RetryPolicy().attempts


async def test_no_request_waits_in_a_slot_for_its_next_try() -> None:
    limits, _ = make(1)
    order: list[str] = []

    def noting(name: str, *outcomes: ServerError | Said) -> Callable[[], object]:
        inner = script(*outcomes)

        async def send() -> object:
            order.append(name)
            return await inner()  # type: ignore[misc]

        return send

    await asyncio.gather(ask(limits, noting("a", failing(500), Said())), ask(limits, noting("b", Said())))
    assert order == ["a", "b", "a"]


async def test_fifty_at_once_never_pass_the_limit_of_calls() -> None:
    limits, _ = make(50, max_llm_calls=10)
    sent = 0

    async def send() -> Said:
        nonlocal sent
        sent += 1
        await asyncio.sleep(0)
        if sent % 2:
            raise failing(500)
        return Said()

    results = await asyncio.gather(*(ask(limits, send) for _ in range(50)), return_exceptions=True)
    assert sent == 10
    assert limits.usage().judge.calls == 10
    assert any(isinstance(result, RunLimitReached) for result in results)
    assert limits.limit_reached == "max_llm_calls reached: 10 requests were sent"


async def test_a_provider_that_is_down_costs_a_bounded_time_however_many_ask() -> None:
    limits, time = make(2)

    async def hangs() -> Said:
        await time.sleep(60)
        raise ServerError("no answer within 60 s", retryable=True)

    started = time.now
    causes = []
    for _ in range(200):
        with pytest.raises((ServerError, LLMUnavailable)) as caught:
            await ask(limits, hangs)
        causes.append(str(caught.value))
    assert time.now - started < 300
    assert causes[-1].endswith("last: no answer within 60 s")


async def test_a_provider_that_comes_back_is_used_again() -> None:
    limits, time = make()
    down = True

    async def send() -> Said:
        await time.sleep(60)
        if down:
            raise ServerError("no answer within 60 s", retryable=True)
        return Said()

    for _ in range(3):
        with pytest.raises((ServerError, LLMUnavailable)):
            await ask(limits, send)
    with pytest.raises(LLMUnavailable):
        await ask(limits, send)
    down = False
    time.now += 31
    await ask(limits, send)
    await ask(limits, send)


async def test_a_cancelled_request_gives_its_slot_back() -> None:
    limits, _ = make(1)
    blocked = asyncio.Event()

    async def waits() -> Said:
        await blocked.wait()
        return Said()

    task = asyncio.create_task(ask(limits, waits))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(ask(limits, script(Said())), 1)
