"""The side effects of the action, passed in: a test replaces them without patching anything."""

from __future__ import annotations

import asyncio
import contextlib
import io
import signal
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from arksim_ci.agents.reach import Accepts, accepts_connections
from arksim_ci.config.environment import process_environment

USER_VENV: Final = Path("/opt/user")
"""The image's environment for the user's commands and Python."""


@dataclass(frozen=True)
class Later:
    """Where what is to be published waits for later steps.

    Args:
        folder: only this step has written to it.
        suffix: what an artifact's name gets where it is taken.
    """

    folder: Path
    suffix: str


@dataclass(frozen=True)
class World:
    """Where the action runs.

    Args:
        environment: the process's variables.
        stream: standard output, which GitHub reads for commands.
        stop: set when the run is to end now.
        in_container: whether localhost is a container of ours rather than the machine.
        routes: the text of `/proc/net/route`.
        user_venv: the folder of the user's Python; it is made where it is not there and something needs it.
        job_python: the job's own Python, where the action runs beside the job's steps: the user's Python runs in it.
        later: what is to be published is put there, for later steps to do so; None: it is published at once.
        accepts: whether a host and port accept a connection.
        now, monotonic, sleep, new_id: clock and ids, as in `Surroundings`.
    """

    environment: Mapping[str, str] = field(repr=False)
    stream: TextIO
    stop: asyncio.Event
    in_container: bool
    routes: str
    user_venv: Path = USER_VENV
    job_python: Path | None = None
    later: Later | None = None
    accepts: Accepts = accepts_connections
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())

    def seconds(self) -> float:
        """The time in seconds since the epoch."""
        return self.now().timestamp()


def real_world() -> World:
    """This process, on the running event loop. SIGINT and SIGTERM set `stop`: as PID 1 of a container, nothing else ends us."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    routes = ""
    with contextlib.suppress(OSError):
        routes = Path("/proc/net/route").read_text(encoding="ascii")
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the job's locale says: the runner reads UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return World(process_environment(), sys.stdout, stop, Path("/.dockerenv").exists(), routes)
