"""What the worker does with each message. Runs in the worker process: standard library only."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import queue
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from arksim_ci.user_code import arksim_names, guest_llm, loading, tracing
from arksim_ci.user_code.agent_classes import BaseAgent
from arksim_ci.user_code.channel import Channel, TooLarge
from arksim_ci.user_code.metric_classes import QuantitativeMetric, ScoreInput
from arksim_ci.user_code.models import AgentConfig, KnowledgeItem
from arksim_ci.user_code.plain import plain
from arksim_ci.user_code.results import WrongAnswer, agent_answer, metric_result

_current_call: contextvars.ContextVar[int | None] = contextvars.ContextVar("current_call", default=None)
_current_asker: contextvars.ContextVar[str] = contextvars.ContextVar("current_asker", default="user code")


class Lane:
    """A thread that does one thing after another: the home of a sync agent's conversation."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._go_on, daemon=True).start()

    def do(self, work: Callable[[], None]) -> None:
        """Do this after what was given before."""
        self._work.put(work)

    def end(self) -> None:
        """Do no more after what was given before."""
        self._work.put(None)

    def _go_on(self) -> None:
        while (work := self._work.get()) is not None:
            work()


class Conversation:
    """An agent instance and where it runs: on the loop, or in a lane of its own."""

    def __init__(self, kind: Any, conversation_id: str) -> None:
        self.kind = kind
        self.conversation_id = conversation_id
        self.lane = None if inspect.iscoroutinefunction(kind.execute) else Lane()
        self.agent: Any = None


class Server:
    """The calls that run, and the classes and instances that the user's files gave."""

    def __init__(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._loop = loop
        self._metrics: dict[str, Any] = {}
        self._conversations: dict[str, Conversation] = {}
        self._tasks: dict[int, asyncio.Future[Any] | Future[Any]] = {}

    def receive(self) -> None:
        """Take messages until the host hangs up; then end this process and what it started. Runs in a thread of its own."""
        try:
            for message in self._channel.receive():
                self._loop.call_soon_threadsafe(self._begin, message)
        finally:
            if os.getpgrp() == os.getpid():
                os.killpg(0, signal.SIGKILL)
            os._exit(0)

    def _begin(self, message: dict[str, Any]) -> None:
        try:
            self._dispatch(message["id"], message["do"], message)
        except Exception as error:
            self._channel.send(_failure(message["id"], error))

    def _dispatch(self, number: int, what: str, message: dict[str, Any]) -> None:
        if what == "ping":
            self._channel.send({"id": number, "value": None})
        elif what == "begin":
            _connect_llm(self._channel, message["model"], message["provider"])
        elif what == "cancel":
            if number in self._tasks:
                self._tasks[number].cancel()
        elif what == "load_metrics":
            self._on_loop(number, lambda: self._load_metrics(message), "loading")
        elif what == "load_agent":
            self._on_loop(
                number, lambda: loading.find_agent_class(message["module"], message["class"]).__name__, "loading"
            )
        elif what == "score":
            self._score(number, message)
        else:
            self._converse(number, what, message)

    # Metrics

    def _load_metrics(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        described = []
        for path in message["paths"]:
            for position, metric in enumerate(loading.make_metrics(path, guest_llm.BaseLLM())):
                key = f"{path}#{position}"
                self._metrics[key] = metric
                numeric = isinstance(metric, QuantitativeMetric)
                described.append(
                    {
                        "key": key,
                        "name": metric.name,
                        "kind": "numeric" if numeric else "qualitative",
                        "scope": metric.scope,
                        "scale": loading.scale_of(metric) if numeric else None,
                        "labels": [] if numeric else [str(label) for label in metric.label_colors],
                        "file": path,
                    }
                )
        return described

    def _score(self, number: int, message: dict[str, Any]) -> None:
        metric = self._metrics[message["key"]]
        numeric = isinstance(metric, QuantitativeMetric)
        method = "score" if numeric else "evaluate"

        def result() -> Any:
            return metric.run(ScoreInput(**message["input"]))

        def checked(value: Any) -> dict[str, Any]:
            return metric_result(value, metric.name, method, numeric)

        if inspect.iscoroutinefunction(getattr(metric, method)):
            self._on_loop(number, result, message["asker"], checked)
        else:
            work = self._work(number, result, message["asker"], checked)
            threading.Thread(target=work, daemon=True).start()

    # Agents

    def _converse(self, number: int, what: str, message: dict[str, Any]) -> None:
        handle = message["handle"]
        if what == "open":
            kind = loading.find_agent_class(message["module"], message["class"])
            self._conversations[handle] = Conversation(kind, message["conversation"])
        conversation = self._conversations[handle]
        step = {
            "open": lambda: _opened(conversation, AgentConfig(**message["config"]) if what == "open" else None),
            "answer": lambda: _answered(conversation, message),
            "close": lambda: _closed(conversation),
        }[what]
        if conversation.lane is None:
            self._on_loop(number, step, "agent")
        else:
            conversation.lane.do(self._work(number, step, "agent"))
        if what == "close":
            del self._conversations[handle]
            if conversation.lane is not None:
                conversation.lane.end()

    # Running the user's code

    def _on_loop(self, number: int, begin: Callable[[], Any], asker: str, check: Callable[[Any], Any] = plain) -> None:
        async def run() -> None:
            await self._reported(number, begin, asker, check)

        task = self._loop.create_task(run())
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def _work(
        self, number: int, begin: Callable[[], Any], asker: str, check: Callable[[Any], Any] = plain
    ) -> Callable[[], None]:
        """The same for a thread: what `begin` gives to await is awaited on the loop."""

        def in_context() -> None:
            _current_call.set(number)
            _current_asker.set(asker)
            self._channel.send({"id": number, "started": True})
            self._report(number, lambda: check(self._finished(number, begin())))

        return lambda: contextvars.copy_context().run(in_context)

    def _finished(self, number: int, value: Any) -> Any:
        if not inspect.isawaitable(value):
            return value
        future = asyncio.run_coroutine_threadsafe(_awaited(value), self._loop)
        self._tasks[number] = future
        try:
            return future.result()
        finally:
            self._tasks.pop(number, None)

    async def _reported(self, number: int, begin: Callable[[], Any], asker: str, check: Callable[[Any], Any]) -> None:
        _current_call.set(number)
        _current_asker.set(asker)
        self._channel.send({"id": number, "started": True})
        try:
            value = begin()
            while inspect.isawaitable(value):
                value = await value
            outcome: Callable[[], Any] = lambda: check(value)  # noqa: E731
        except BaseException as error:
            failure = error

            def outcome() -> Any:
                raise failure

        self._report(number, outcome)

    def _report(self, number: int, outcome: Callable[[], Any]) -> None:
        """Send what came of a call. Nothing that the user's code raises, SystemExit and KeyboardInterrupt included, goes further."""
        try:
            try:
                self._channel.send({"id": number, "value": outcome()})
            except TooLarge as error:
                raise WrongAnswer(f"it returned too much: {error}") from None
        except BaseException as error:
            self._channel.send(_failure(number, error))


def _failure(number: int, error: BaseException) -> dict[str, Any]:
    if isinstance(error, loading.NotLoadable):
        place = {"file": error.file, "line": error.line}
        return plain({"id": number, "error": error.message, "trace": error.trace, "not_loadable": place})  # type: ignore[no-any-return]
    if isinstance(error, WrongAnswer):
        return plain({"id": number, "error": str(error), "trace": ""})  # type: ignore[no-any-return]
    cause, trace = loading.cause_of(error), loading.short_trace(error)
    return plain({"id": number, "error": cause, "trace": trace})  # type: ignore[no-any-return]


async def _awaited(value: Awaitable[Any]) -> Any:
    # SystemExit from a task would end the loop; as an ordinary exception it ends the call.
    try:
        return await value
    except (SystemExit, KeyboardInterrupt) as error:
        raise WrongAnswer(f"it raised {loading.cause_of(error)}") from error


def _opened(conversation: Conversation, config: AgentConfig | None) -> Any:
    kind = conversation.kind
    conversation.agent = kind(config) if _takes_config(kind) else kind()
    get_chat_id = getattr(conversation.agent, "get_chat_id", None)
    value = get_chat_id() if callable(get_chat_id) else None
    return _then(value, lambda _: None)


def _takes_config(kind: Any) -> bool:
    """Whether the constructor wants the AgentConfig: every BaseAgent's does; another class's where it can't be made without."""
    parameters = [item for item in inspect.signature(kind).parameters.values() if item.kind is not item.VAR_KEYWORD]
    if issubclass(kind, BaseAgent):
        return bool(parameters)
    return any(item.name in ("agent_config", "config") or item.default is item.empty for item in parameters)


def _answered(conversation: Conversation, message: dict[str, Any]) -> Any:
    receiver = tracing.begin_turn(conversation.conversation_id, message["metadata"].get("turn_id", 0))
    metadata = dict(message["metadata"])
    metadata["knowledge"] = [KnowledgeItem(**item) for item in metadata.get("knowledge", [])]
    value = conversation.agent.execute(user_query=message["message"], metadata=metadata)
    return _then(value, lambda answer: agent_answer(answer, receiver.tool_calls))


def _closed(conversation: Conversation) -> Any:
    close = getattr(conversation.agent, "close", None)
    return _then(close() if callable(close) else None, lambda _: None)


def _then(value: Any, go_on: Callable[[Any], Any]) -> Any:
    async def later() -> Any:
        return go_on(await value)

    return later() if inspect.isawaitable(value) else go_on(value)


def serve(descriptor: int) -> None:
    """Connect, greet, and serve until the host hangs up."""
    sys.argv[0] = str(Path(sys.argv[0]).name)
    channel = Channel(descriptor)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    server = Server(channel, loop)
    arksim_names.install()
    channel.send({"hello": sys.version.split()[0]})
    threading.Thread(target=server.receive, daemon=True).start()
    loop.run_forever()


def _connect_llm(channel: Channel, model: str, provider: str) -> None:
    # `self.llm` asks on behalf of the call in whose context it is used.
    guest_llm.connect(
        lambda messages, schema: channel.ask(_current_call.get(), plain(messages), plain(schema), _current_asker.get()),
        model,
        provider,
    )
