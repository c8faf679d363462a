"""The worker's end of the line to the host: JSON, one message a line. Runs in the worker process: standard library only."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The largest message, either way."""


class TooLarge(ValueError):
    """A message is larger than the line carries."""


class Channel:
    """Sends from any thread; receives in one. A forked child has no part in it: it ends when it tries to speak."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)
        self._owner = os.getpid()
        self._sending = threading.Lock()
        self._questions: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        # Otherwise a child that outlives us would keep the line open, and the host would wait for us.
        os.register_at_fork(after_in_child=lambda: _close_quietly(descriptor))

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            TooLarge: nothing was sent.
        """
        if os.getpid() != self._owner:
            os._exit(0)
        line = json.dumps(message).encode("ascii") + b"\n"
        if len(line) > MAX_MESSAGE_BYTES:
            raise TooLarge(
                f"{len(line) // 1_000_000} MB are more than the {MAX_MESSAGE_BYTES // 1_048_576} MB that can be handed over"
            )
        try:
            with self._sending:
                self._socket.sendall(line)
        except OSError as error:
            _end(f"the line to the host is closed ({error}): did the user's code close file descriptors?")

    def receive(self) -> Iterator[dict[str, Any]]:
        """The host's messages, until it hangs up; answers to questions go to whoever asked."""
        with self._socket.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "told" in message:
                    self._answered(message)
                else:
                    yield message

    def ask(
        self, call: int | None, messages: list[dict[str, Any]], schema: dict[str, Any] | None, asker: str
    ) -> Future[Any]:
        """Ask the host's LLM on behalf of a call; the future is done by the thread that receives."""
        number = next(self._numbers)
        future: Future[Any] = Future()
        self._questions[number] = future
        try:
            self.send({"ask": number, "call": call, "messages": messages, "schema": schema, "asker": asker})
        except BaseException:
            del self._questions[number]
            raise
        return future

    def _answered(self, message: dict[str, Any]) -> None:
        from arksim_ci.user_code.guest_llm import LLMCallFailed  # noqa: PLC0415 - not needed before

        future = self._questions.pop(message["told"], None)
        if future is None or not future.set_running_or_notify_cancel():
            return
        if "error" in message:
            future.set_exception(LLMCallFailed(message["error"]))
        else:
            future.set_result(message["value"])


def _close_quietly(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _end(why: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, why.encode() + b"\n")
    os._exit(1)
