"""What the commands share: arguments into overrides, an event loop that stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from arksim_ci.config.overrides import Overrides

T = TypeVar("T")

_SAME_SIGNAL_SECONDS = 1.0
"""Signals that come together are one: a terminal and a parent process often both send it."""


class CancelledAtStart(Exception):
    """The run was told to stop before it had begun; there is nothing to write."""


class RunBroke(Exception):
    """A bug of ours ended the run; its text has every secret of the run replaced, and its cause is the bug."""


def overrides_of(arguments: Sequence[str]) -> list[Overrides]:
    """The overrides of a command line; their paths start from the working directory."""
    from arksim_ci.config.overrides import Overrides, parse_overrides  # noqa: PLC0415  (brings every setting along)

    values = parse_overrides(arguments)
    return [Overrides(values, "the command line", Path.cwd())] if values else []


def run_until_signal(work: Callable[[asyncio.Event], Coroutine[object, object, T]]) -> T:
    """Run on an event loop. SIGINT and SIGTERM set the event that `work` is given; it then ends in order.

    A second signal, a second or more later, ends the process at once, as if nobody had taken care of it.
    """

    async def main() -> T:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        first = float("inf")

        def told(name: signal.Signals) -> None:
            nonlocal first
            if not stop.is_set():
                first = loop.time()
                stop.set()
            elif loop.time() - first >= _SAME_SIGNAL_SECONDS:
                signal.signal(name, signal.SIG_DFL)
                os.kill(os.getpid(), name)

        for name in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # not on Windows
                loop.add_signal_handler(name, told, name)
        return await work(stop)

    return asyncio.run(main())


async def unless_stopped(work: Coroutine[object, object, T], stop: asyncio.Event) -> T:
    """Wait for what comes before the run.

    Raises:
        CancelledAtStart: `stop` was set meanwhile.
    """
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise CancelledAtStart
    finally:
        stopped.cancel()
        task.cancel()
