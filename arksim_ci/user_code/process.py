"""The operating system's side of a worker: a process group of its own, a socket for the messages, a pipe for what is printed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The largest message, either way."""

_WORKER = Path(__file__).with_name("worker.py")
_FLAGS = ("-I", "-B", "-u", "-X", "utf8", "-X", "faulthandler")


class ChildProcess:
    """A started worker process. Its standard input is closed; file descriptors of ours are not passed on."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        output: int,
    ) -> None:
        self._process = process
        self.reader = reader
        self.writer = writer
        self._output = output
        self._gone = False
        self._printing: asyncio.ReadTransport | None = None

    @classmethod
    async def start(cls, python: Path, environment: Mapping[str, str]) -> ChildProcess:
        """Start one.

        Raises:
            OSError: the interpreter can't be started.
        """
        ours, theirs = socket.socketpair()
        output, printed = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                str(python),
                *_FLAGS,
                str(_WORKER),
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env=dict(environment),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(printed)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MAX_MESSAGE_BYTES + 1024)
        return cls(process, reader, writer, output)

    @property
    def pid(self) -> int:
        """The process and, as its leader, the process group."""
        return self._process.pid

    def kill(self) -> None:
        """End the process and what it started, at once."""
        if not self._gone:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def wait(self) -> str:
        """Wait for the end, end what the process left behind, and return how it ended, in words."""
        code = await self._process.wait()
        self.kill()
        self._gone = True  # the number of the group may be another's from now on
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    async def printed(self) -> asyncio.StreamReader:
        """What the process and its children print, as a stream. Call it once; it is closed with `close`."""
        stream = asyncio.StreamReader()
        self._printing, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(self._output, "rb", 0)
        )
        return stream

    async def close(self) -> None:
        """Close our ends of socket and pipe."""
        if self._printing is not None:
            self._printing.close()
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
