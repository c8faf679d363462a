"""Calls to one worker process: answers, time-outs, questions to the LLM, and the end of the process."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arksim_ci.config.errors import Problem
from arksim_ci.user_code.errors import CallTimedOut, UserCodeFailed, UserCodeNotLoadable, WorkerEnded
from arksim_ci.user_code.output import OutputLog
from arksim_ci.user_code.process import MAX_MESSAGE_BYTES, ChildProcess

logger = logging.getLogger(__name__)

AskLLM = Callable[[list[dict[str, Any]], "dict[str, Any] | None", str], Awaitable[object]]
"""Asks the LLM of the run: messages with `role` and `content`, a JSON Schema or None for plain text, and who asks (the case that `score`
was given, else the metric's name; `agent`). Returns the parsed JSON, or the text. What it raises is raised in the user's code, with the
same text."""

START_SECONDS = 30.0
UNRESPONSIVE_SECONDS = 30.0
"""How long the worker's event loop may give no sign of life once a call timed out; then the process is ended."""
_TICK_SECONDS = 0.25
_LAST_WORDS_SECONDS = 0.5


@dataclass(eq=False, slots=True)
class _Call:
    what: str
    result: asyncio.Future[Any]
    started: bool = False
    questions: int = 0
    """Questions to the LLM that wait for an answer: that is not the user's time."""


class Worker:
    """A worker process that takes calls. Make one with `start`."""

    def __init__(self, child: ChildProcess, ask_llm: AskLLM, log: OutputLog) -> None:
        self._child = child
        self._ask_llm = ask_llm
        self._log = log
        self._calls: dict[int, _Call] = {}
        self._last = 0
        self._questions: set[asyncio.Task[None]] = set()
        self._greeted = asyncio.Event()
        self._how_ended = ""
        self.hung: set[int] = set()
        """Calls that timed out and still run."""
        self._life = asyncio.create_task(self._live())

    @classmethod
    async def start(
        cls,
        python: Path,
        environment: Mapping[str, str],
        ask_llm: AskLLM,
        log: Callable[[str], None],
        *,
        model: str,
        provider: str,
    ) -> Worker:
        """Start a process and wait until it greets. `model` and `provider` are what `self.llm` shows.

        Raises:
            UserCodeNotLoadable: the interpreter does not start, or is too old.
        """
        lines = OutputLog(log)
        trouble = "the Python for custom metrics and agents does not start"
        try:
            child = await ChildProcess.start(python, environment)
        except OSError as error:
            raise UserCodeNotLoadable(Problem(f"{trouble}: {error.strerror}", str(python))) from error
        worker = cls(child, ask_llm, lines)
        greeting = asyncio.create_task(worker._greeted.wait())
        await asyncio.wait({greeting, worker._life}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        greeting.cancel()
        if not worker._greeted.is_set():
            await worker.close()
            raise UserCodeNotLoadable(Problem(f"{trouble}: {lines.last or 'it gives no sign of life'}", str(python)))
        worker._send({"id": 0, "do": "begin", "model": model, "provider": provider})
        return worker

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether calls can be made."""
        return not self._how_ended and not self._life.done()

    @property
    def busy(self) -> bool:
        """Whether a call is under way, hung ones aside."""
        return bool(self._calls.keys() - self.hung)

    async def call(self, what: str, message: Mapping[str, Any], seconds: float) -> Any:
        """Let the worker do something and return what came of it.

        Args:
            what: what runs, for messages: "metric 'clarity'".
            message: what the worker's `Server` understands.
            seconds: how long the user's code may take. Time in which it waits for the LLM, or for its turn on the loop, does not count.

        Raises:
            CallTimedOut: it took longer; the call is cancelled where it can be.
            WorkerEnded: the process ended meanwhile.
            UserCodeNotLoadable, UserCodeFailed: as the worker reports.
        """
        self._last += 1
        number, line = self._last, _encoded({"id": self._last, **message})
        call = self._new_call(number, what)
        try:
            self._write(line)
            return await self._result(call, seconds)
        finally:
            if call.result.done() or not self.alive:
                self._calls.pop(number, None)
            else:  # a time-out, or the caller was cancelled
                self.hung.add(number)
                self._send({"id": number, "do": "cancel"})

    def _new_call(self, number: int, what: str) -> _Call:
        if not self.alive:
            raise WorkerEnded(f"the worker process had ended ({self._how_ended}) before {what} ran", alone=False)
        call = self._calls[number] = _Call(what, asyncio.get_running_loop().create_future())
        return call

    async def _result(self, call: _Call, seconds: float) -> Any:
        while not await self._done_within(call, seconds):
            if not await self._responds(min(UNRESPONSIVE_SECONDS, seconds)):
                self._end("ended by us: it did not respond")
                break
            if call.started and not call.result.done():
                raise CallTimedOut(f"{call.what} did not return within {seconds:g} s")
        return await call.result

    async def _done_within(self, call: _Call, seconds: float) -> bool:
        """Wait for a call. The clock stands still while the LLM is asked, and starts anew when the call starts."""
        loop = asyncio.get_running_loop()
        left, counted = seconds, call.started
        while not call.result.done() and left > 0:
            began = loop.time()
            await asyncio.wait({call.result}, timeout=min(left, _TICK_SECONDS))
            if call.started and not counted:
                left, counted = seconds, True
            elif not call.questions:
                left -= loop.time() - began
        return call.result.done()

    async def _responds(self, seconds: float) -> bool:
        """Whether the worker's event loop takes messages. A blocking `llm.call` in an async method stops it, too: that is waited for."""
        if not self.alive:
            return False
        self._last += 1
        number, ping = self._last, self._new_call(self._last, "a sign of life")
        self._send({"id": number, "do": "ping"})
        left = seconds
        while not ping.result.done() and left > 0:
            await asyncio.wait({ping.result}, timeout=min(left, _TICK_SECONDS))
            left -= 0 if any(call.questions for call in self._calls.values()) else _TICK_SECONDS
        self._calls.pop(number, None)
        return ping.result.done() and not ping.result.exception()

    async def close(self) -> None:
        """End the process and what it started; calls under way fail."""
        self._end("the run ends")
        await asyncio.wait({self._life})

    def _end(self, how: str) -> None:
        self._how_ended = self._how_ended or how
        self._child.kill()
        self._fail_calls()

    def _fail_calls(self) -> None:
        running = [call for call in self._calls.values() if not call.result.done()]
        for call in running:
            failed = WorkerEnded(
                f"the worker process ended ({self._how_ended}) while {call.what} ran", alone=len(running) == 1
            )
            call.result.set_exception(failed)
            call.result.exception()  # whoever waits for it gets it; a hung call's is nobody's
        for task in self._questions:
            task.cancel()

    def _send(self, message: dict[str, Any]) -> None:
        self._write(_encoded(message))

    def _write(self, line: bytes) -> None:
        if self.alive:
            self._child.writer.write(line)

    # The process's life

    async def _live(self) -> None:
        reading = asyncio.create_task(self._read())
        printing = asyncio.create_task(self._print())
        ending = asyncio.create_task(self._child.wait())
        try:
            await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
            # The line is closed, or garbled, or the process is gone: it is at its end, or is brought there.
            await asyncio.wait({ending}, timeout=_LAST_WORDS_SECONDS)
            if not ending.done():
                self._how_ended = self._how_ended or (reading.result() or "it closed its line to us")
        finally:
            self._child.kill()
            how = await ending
            self._how_ended = self._how_ended or how
            await asyncio.wait({reading, printing}, timeout=_LAST_WORDS_SECONDS)
            for task in (reading, printing):
                task.cancel()
            await asyncio.gather(reading, printing, return_exceptions=True)
            await self._child.close()
            self._fail_calls()

    async def _print(self) -> None:
        stream = await self._child.printed()
        try:
            while data := await stream.read(65_536):
                self._log.feed(data)
        finally:
            self._log.end()

    async def _read(self) -> str:
        """Take the worker's messages; returns what is wrong with the line, or "" where it was closed."""
        try:
            while line := await self._child.reader.readline():
                self._received(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            logger.debug("a message of the worker can't be read", exc_info=error)
            return "ended by us: the user's code wrote to our line"
        except OSError:
            pass
        return ""

    def _received(self, message: dict[str, Any]) -> None:
        if "hello" in message:
            self._greeted.set()
        elif "ask" in message:
            number, caller = int(message["ask"]), message["call"]
            if caller in self.hung:
                self._send({"told": number, "error": "the call was given up: it took too long"})
                return
            question = self._ask_llm(list(message["messages"]), message["schema"], str(message["asker"]))
            task = asyncio.create_task(self._answer_question(number, self._calls.get(caller), question))
            self._questions.add(task)
            task.add_done_callback(self._questions.discard)
        elif message.get("started"):
            self._calls[message["id"]].started = True
        else:
            self._finished(message)

    def _finished(self, message: dict[str, Any]) -> None:
        call = self._calls.get(message["id"])
        if message["id"] in self.hung:
            self.hung.discard(message["id"])
            del self._calls[message["id"]]
            return
        if call is None or call.result.done():
            return
        if "error" not in message:
            call.result.set_result(message["value"])
            return
        cause = str(message["error"])
        self._log.write_trace(str(message["trace"]))
        if "not_loadable" in message:
            place = message["not_loadable"]
            call.result.set_exception(UserCodeNotLoadable(Problem(cause, str(place["file"]), place["line"])))
        else:
            call.result.set_exception(UserCodeFailed(f"{call.what}: {cause}"))

    async def _answer_question(self, number: int, call: _Call | None, question: Awaitable[object]) -> None:
        if call is not None:
            call.questions += 1
        try:
            self._send({"told": number, "value": await question})
        except Exception as error:
            # Whatever went wrong is the user's code's to handle; the text of an LLM error is made to be read.
            self._send({"told": number, "error": str(error) or type(error).__name__})
        finally:
            if call is not None:
                call.questions -= 1


def _encoded(message: dict[str, Any]) -> bytes:
    line = json.dumps(message).encode("ascii") + b"\n"
    if len(line) > MAX_MESSAGE_BYTES:
        raise UserCodeFailed(
            f"{len(line) >> 20} MB are more than the {MAX_MESSAGE_BYTES >> 20} MB that the user's code can be given"
        )
    return line
