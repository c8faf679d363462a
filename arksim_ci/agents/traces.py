"""The receiver of an agent's traces: OTLP over HTTP, and the agent whose turns they complete."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from arksim_ci.agents.agent import Agent, AgentAnswer, AgentConnection
from arksim_ci.agents.traces_calls import merged, tool_calls
from arksim_ci.agents.traces_otlp import NotOtlp, ProtobufMissing, read_json, read_protobuf
from arksim_ci.agents.traces_turns import OpenTurns, TurnSpans
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.model import TraceReceiverConfig
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import ToolCall

if TYPE_CHECKING:
    from aiohttp import web

logger = logging.getLogger(__name__)

PATH: Final = "/v1/traces"
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
SETTLE_SECONDS: Final = 0.1
"""How long nothing more may come before a turn's spans count as all."""
_PROTOBUF = "application/x-protobuf"
_JSON = "application/json"


class TraceReceiver:
    """Takes spans at `POST /v1/traces`, as JSON or protobuf, also compressed by gzip, and hands each turn its tool calls.

    The port is taken when this is made, so that a port that is not free is known before anything is spent.
    """

    def __init__(self, config: TraceReceiverConfig, note: Callable[[str], None] = logger.warning) -> None:
        """Take the port; nothing is served before `start`. `note` is told what a user should know, each thing once.

        Raises:
            ConfigError: the address can't be listened at.
        """
        self._wait_timeout = config.wait_timeout
        self._socket = _listen(config.host, config.port)
        self._note = note
        self._noted: set[str] = set()
        self._turns = OpenTurns(self._say)
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._socket.getsockname()[1]
        return port

    async def start(self) -> None:
        """Serve from now on; again, it does nothing."""
        if self._runner is not None:
            return
        from aiohttp import web  # noqa: PLC0415  (only a run with traces pays for it)

        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post(PATH, self._receive)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def close(self) -> None:
        """Serve no more and give the port back."""
        if self._runner is not None:
            await self._runner.cleanup()
        self._socket.close()

    def begin(self, conversation_id: str, turn_id: int) -> TurnSpans:
        """A turn begins. Pass what this returns to `end`, whatever happens."""
        return self._turns.begin(conversation_id, turn_id)

    def end(self, turn: TurnSpans) -> None:
        """A turn is over."""
        self._turns.end(turn)

    async def collect(self, turn: TurnSpans) -> list[ToolCall]:
        """The tool calls that a turn's spans show. Waits until the spans are complete, at most for the configured time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._wait_timeout):
                await self._until_complete(turn)
        return tool_calls(turn.spans)

    async def _until_complete(self, turn: TurnSpans) -> None:
        while True:
            async with self._arrived:
                await self._arrived.wait_for(lambda: turn.is_complete)
            batches = turn.batches
            await asyncio.sleep(SETTLE_SECONDS)
            if turn.batches == batches:
                return

    def _say(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._note(sentence)

    async def _receive(self, request: web.Request) -> web.Response:
        from aiohttp import web  # noqa: PLC0415

        kind = request.content_type
        if kind not in (_JSON, _PROTOBUF):
            return web.Response(status=415, text=f"send {_PROTOBUF} or {_JSON}")
        try:
            body = await request.read()
            spans = read_json(body) if kind == _JSON else read_protobuf(body)
        except NotOtlp as error:
            self._say(f"the trace receiver got a request that it can't read: {error}")
            return web.Response(status=400, text=str(error))
        except ProtobufMissing:
            self._say(
                "the agent sends traces as protobuf, which is not understood here: pip install 'arksim-action[traces]'"
            )
            return web.Response(status=415, text="install arksim-action[traces] for protobuf, or send JSON")
        if self._turns.take(spans):
            async with self._arrived:
                self._arrived.notify_all()
        return web.Response(body=b"{}" if kind == _JSON else b"", content_type=kind)


class TracedConnection:
    """The way to an agent whose tool calls are also taken from its traces.

    Args:
        inner: the way to the agent.
        receiver: gets the traces. It is started with the first conversation and closed with this.
    """

    def __init__(self, inner: AgentConnection, receiver: TraceReceiver) -> None:
        self._inner = inner
        self._receiver = receiver
        self._reports_itself = False

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        """Begin a conversation.

        Raises:
            AgentDidNotAnswer: the agent can't begin one.
        """
        await self._receiver.start()
        return _TracedAgent(await self._inner.open(conversation_id, scenario), self, conversation_id)

    async def close(self) -> None:
        """Close the way to the agent and the receiver."""
        try:
            await self._inner.close()
        finally:
            await self._receiver.close()

    async def answer(self, agent: Agent, conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        """Let the agent answer, and add the tool calls that its traces show.

        Raises:
            AgentDidNotAnswer: with the cause.
        """
        turn = self._receiver.begin(conversation_id, turn_id)
        try:
            answer = await agent.answer(message, turn_id)
            # A Python class with ArksimTracingProcessor reports its calls with the answer: there is nothing to wait for.
            self._reports_itself |= any(call.source == "openai_agents" for call in answer.tool_calls)
            if self._reports_itself and not turn.spans:
                return answer
            return AgentAnswer(answer.content, merged(answer.tool_calls, await self._receiver.collect(turn)))
        finally:
            self._receiver.end(turn)


class _TracedAgent:
    def __init__(self, inner: Agent, connection: TracedConnection, conversation_id: str) -> None:
        self._inner = inner
        self._connection = connection
        self._conversation_id = conversation_id

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        return await self._connection.answer(self._inner, self._conversation_id, message, turn_id)

    async def close(self) -> None:
        await self._inner.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        advice = "set trace_receiver.port to a free one, and the agent's OTEL_EXPORTER_OTLP_ENDPOINT with it"
        message = f"can't listen on {host}:{port} for traces: {error.strerror or error} ({advice})"
        raise ConfigError(Problem(message, key="trace_receiver")) from None
    listening.setblocking(False)
    return listening
