"""How a part of a run ends: by itself, at the deadline, when it is told to, or through a bug."""

from __future__ import annotations

import asyncio
import logging

import pytest

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.pipeline import stopping
from arksim_ci.pipeline.stopping import Ending, Watch


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(stopping, "LAST_SECONDS", 0.05)


class Told:
    """What a part of a run was told."""

    def __init__(self) -> None:
        self.halted: list[str] = []
        self.given_up: list[str] = []


def watch(stop: asyncio.Event | None = None, seconds: float | None = None) -> Watch:
    return Watch(stop or asyncio.Event(), lambda: seconds, lambda text: text.replace("secret", "***"))


async def let(watching: Watch, work: object, told: Told) -> Ending:
    return await watching.let(work, halt=told.halted.append, give_up=told.given_up.append)  # type: ignore[arg-type]


async def test_work_that_is_done_is_completed() -> None:
    told = Told()
    ending = await let(watch(seconds=60), asyncio.sleep(0), told)
    assert (ending, told.halted, told.given_up) == (Ending("COMPLETED"), [], [])
    assert not ending.early


async def test_at_the_deadline_what_is_in_flight_gets_a_moment() -> None:
    told, done = Told(), []

    async def work() -> None:
        while not told.halted:
            await asyncio.sleep(0.001)
        done.append("finished in order")

    ending = await let(watch(seconds=0.01), work(), told)
    assert ending.status == "TIMED_OUT"
    assert told.halted == [ending.cause]
    assert done


async def test_what_hangs_is_cancelled_and_what_resists_is_left_behind() -> None:
    told, stop, resisted = Told(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            resisted.set()
            await asyncio.sleep(1)

    asyncio.get_running_loop().call_later(0.01, stop.set)
    ending = await asyncio.wait_for(let(watch(stop), work(), told), 0.5)
    assert ending == Ending("CANCELLED", "it was told to stop")
    assert told.given_up == [ending.cause]
    assert resisted.is_set()


@pytest.mark.parametrize(("told_to_stop", "status"), [(True, "CANCELLED"), (False, "TIMED_OUT")])
async def test_a_part_that_would_begin_too_late_never_begins(told_to_stop: bool, status: str) -> None:
    told, stop, begun = Told(), asyncio.Event(), []
    if told_to_stop:
        stop.set()

    async def work() -> None:
        begun.append(1)

    ending = await let(watch(stop, 60 if told_to_stop else 0.0), work(), told)
    assert (ending.status, begun) == (status, [])
    assert told.halted


async def test_a_bug_ends_the_part_without_its_secrets(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()

    async def work() -> None:
        raise ExceptionGroup("several", [ExceptionGroup("inner", [KeyError("secret key")]), ValueError("x")])

    with caplog.at_level(logging.ERROR):
        ending = await let(watch(), work(), told)
    assert ending == Ending("FAILED", "internal error: KeyError: '*** key'")
    assert told.given_up == [ending.cause]
    assert "secret" not in caplog.text
    assert "KeyError" in caplog.text


async def test_a_wrong_configuration_is_no_bug() -> None:
    async def work() -> None:
        raise ConfigError(Problem("no such model"))

    with pytest.raises(ConfigError, match="no such model"):
        await let(watch(), work(), Told())
