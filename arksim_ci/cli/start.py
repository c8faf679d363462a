"""What the commands share: arguments into overrides, an event loop that stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TypeVar

from arksim_ci.config.overrides import Overrides, parse_overrides

T = TypeVar("T")


def overrides_of(arguments: Sequence[str]) -> list[Overrides]:
    """The overrides of a command line; their paths start from the working directory."""
    values = parse_overrides(arguments)
    return [Overrides(values, "the command line", Path.cwd())] if values else []


def run_until_signal(work: Callable[[asyncio.Event], Coroutine[object, object, T]]) -> T:
    """Run on an event loop. SIGINT and SIGTERM set the event that `work` is given; it then ends in order."""

    async def main() -> T:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # not on Windows
                loop.add_signal_handler(name, stop.set)
        return await work(stop)

    return asyncio.run(main())
