"""A command of the user's in a process group of its own: what it prints, how it ended, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

GRACE_SECONDS: Final = 2.0
"""Between SIGTERM and SIGKILL. A cancelled job has ten seconds in all, and the results are still to be written in them."""
LONGEST_LINE: Final = 64 * 1024
"""Bytes of a line that are kept; the rest of a longer one is dropped."""

_KILL_SECONDS = 1.0
_DRAIN_SECONDS = 0.5
_STEP_SECONDS = 0.05
_CHUNK = 64 * 1024


class ProcessGroup:
    """A started command with everything that it starts in turn."""

    def __init__(
        self, process: asyncio.subprocess.Process, reading: asyncio.Task[None], transport: asyncio.ReadTransport
    ) -> None:
        self._process = process
        self._reading = reading
        self._transport = transport
        self._gone = False

    @classmethod
    async def start(
        cls,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        on_line: Callable[[bytes], None],
    ) -> ProcessGroup:
        """Start a command. Its standard input is empty; `on_line` takes each line of its output and errors, without the line's end.

        Raises:
            OSError: it can't be started.
        """
        output, printed = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                cwd=folder,
                env=dict(environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(printed)
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(output, "rb", 0)
        )
        return cls(process, asyncio.create_task(_read_lines(stream, on_line)), transport)

    async def exit_code(self) -> int:
        """Wait for the command itself and return its exit code, negative for a signal. What it started may go on."""
        return await self._process.wait()

    async def ended(self) -> int:
        """Wait until nothing of the command runs any more; returns the exit code of the command itself."""
        code = await self._process.wait()
        while self.running():  # noqa: ASYNC110  (another process sets no event)
            await asyncio.sleep(_STEP_SECONDS)
        return code

    def running(self) -> bool:
        """Whether the command, or anything that it started, still runs."""
        if self._process.returncode is None:
            return True
        if not self._gone:
            self._reap_orphans()
            try:
                os.killpg(self._process.pid, 0)
            except ProcessLookupError:
                self._gone = True  # the number of the group may be another's from now on
            except PermissionError:
                return True  # it runs as another user
        return not self._gone

    async def output_read(self) -> None:
        """Wait a moment for what was printed last."""
        await asyncio.wait({self._reading}, timeout=_DRAIN_SECONDS)

    async def stop(self) -> None:
        """End the whole group: SIGTERM, `GRACE_SECONDS`, SIGKILL."""
        try:
            self._signal(signal.SIGTERM)
            await self._gone_within(GRACE_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
            await self._gone_within(_KILL_SECONDS)
            await self.output_read()
            self._reading.cancel()
            self._transport.close()

    def _signal(self, number: signal.Signals) -> None:
        if self.running():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def _gone_within(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.ended()

    def _reap_orphans(self) -> None:
        """Collect what the command left behind: in a container we are process 1, and its orphans become our children."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self._process.pid, os.WNOHANG) != (0, 0):
                pass


def how_it_ended(exit_code: int) -> str:
    """The end of a command in words."""
    return f"exit code {exit_code}" if exit_code >= 0 else signal.Signals(-exit_code).name


async def _read_lines(stream: asyncio.StreamReader, on_line: Callable[[bytes], None]) -> None:
    pending = b""
    while chunk := await stream.read(_CHUNK):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            on_line(line[:LONGEST_LINE].rstrip(b"\r"))
        pending = pending[: 2 * LONGEST_LINE]
    if pending:
        on_line(pending[:LONGEST_LINE])
