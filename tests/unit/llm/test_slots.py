"""How many requests are in flight."""

from __future__ import annotations

import asyncio

import pytest

from arksim_ci.llm.slots import AUTO_MOST, AUTO_START, Slots
from tests.support.fake_time import FakeTime


def make(workers: int | str = 4) -> tuple[Slots, FakeTime]:
    time = FakeTime()
    return Slots(workers, time.clock, time.sleep), time  # type: ignore[arg-type]


async def test_never_more_in_flight_than_workers() -> None:
    slots, _ = make(3)
    now, most = 0, 0

    async def work() -> None:
        nonlocal now, most
        await slots.acquire()
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        slots.succeeded()
        slots.release()

    await asyncio.gather(*(work() for _ in range(50)))
    assert most == 3
    assert slots.width == 3


async def test_throttling_halves_once_per_round_trip() -> None:
    slots, time = make(48)
    started = time.now
    time.now += 1
    for _ in range(10):  # ten requests of the same round trip
        slots.throttled(started, None)
    assert slots.width == 24
    slots.throttled(time.now, None)
    assert slots.width == 12


async def test_throttling_never_closes_the_gate() -> None:
    slots, time = make(2)
    for _ in range(20):
        slots.throttled(time.now, None)
        time.now += 1
    assert slots.width == 1


async def test_successes_win_slots_back_up_to_the_workers() -> None:
    slots, time = make(8)
    slots.throttled(time.now, None)
    assert slots.width == 4
    for _ in range(200):
        held = slots.width
        for _ in range(held):
            await slots.acquire()
        for _ in range(held):
            slots.succeeded()
            slots.release()
    assert slots.width == 8


async def test_auto_starts_small_and_grows_fast_until_it_is_throttled() -> None:
    slots, time = make("auto")
    assert slots.width == AUTO_START
    crowd = [asyncio.create_task(slots.acquire()) for _ in range(2_000)]
    await asyncio.sleep(0)

    async def round_trip() -> None:
        for _ in range(slots.width):
            slots.succeeded()
            slots.release()
        await asyncio.sleep(0)

    await round_trip()
    assert slots.width == 2 * AUTO_START
    time.now += 1
    slots.throttled(time.now, None)
    assert slots.width == AUTO_START
    for _ in range(AUTO_START):  # more are in flight than there are slots now
        slots.release()
    await round_trip()
    assert AUTO_START < slots.width + 1 <= AUTO_START + 2
    for task in crowd:
        task.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)


async def test_auto_has_a_bound() -> None:
    slots, _ = make("auto")
    crowd = [asyncio.create_task(slots.acquire()) for _ in range(2_000)]
    await asyncio.sleep(0)
    for _ in range(1_000):
        slots.succeeded()
    assert slots.width == AUTO_MOST
    for task in crowd:
        task.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)


async def test_slots_that_nobody_needs_do_not_grow() -> None:
    slots, _ = make("auto")
    for _ in range(100):
        await slots.acquire()
        slots.succeeded()
        slots.release()
    assert slots.width == AUTO_START


async def test_a_pause_that_the_server_asks_for_holds_everybody() -> None:
    slots, time = make(4)
    slots.throttled(time.now, 20.0)
    started = time.now
    await slots.acquire()
    assert time.now - started == 20
    await slots.acquire()
    assert time.slept == [20.0]


async def test_who_is_cancelled_while_waiting_takes_no_slot() -> None:
    slots, _ = make(1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    behind = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slots.release()
    await asyncio.wait_for(behind, 1)


async def test_a_slot_given_just_before_a_cancellation_is_passed_on() -> None:
    slots, _ = make(1)
    await slots.acquire()
    first = asyncio.create_task(slots.acquire())
    second = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    slots.release()  # goes to the first, which has not woken up yet
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.wait_for(second, 1)


async def test_who_is_cancelled_and_passed_over_before_waking_up_is_just_cancelled() -> None:
    slots, _ = make(1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)
    waiting.cancel()
    slots.release()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(slots.acquire(), 1)


async def order_of(width: int, *urgent: bool) -> list[int]:
    """In which order those who came while all slots were taken get one."""
    slots, _ = make(width)
    order: list[int] = []
    for _ in range(width):
        await slots.acquire()

    async def work(number: int) -> None:
        await slots.acquire(urgent=urgent[number])
        order.append(number)
        slots.release()

    tasks = [asyncio.create_task(work(number)) for number in range(len(urgent))]
    await asyncio.sleep(0)
    slots.release()
    await asyncio.gather(*tasks)
    return order


async def test_the_urgent_go_first_and_each_line_keeps_its_order() -> None:
    assert await order_of(2, False, True, False, True) == [1, 3, 0, 2]


async def test_the_others_are_not_left_behind_without_end() -> None:
    assert await order_of(2, False, False, False, False, True, True) == [0, 1, 4, 5, 2, 3]
