"""Tool calls out of an agent's traces, over real HTTP and with OpenTelemetry's own exporter."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from arksim_ci.agents.agent import AgentAnswer, AgentDidNotAnswer
from arksim_ci.agents.traces import MAX_BODY_BYTES, TracedConnection, TraceReceiver
from arksim_ci.config.errors import ConfigError
from arksim_ci.config.model import TraceReceiverConfig
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import ToolCall
from tests.support.spans import request, span, tool_span

SCENARIO = Scenario(scenario_id="s1", user_id="u1", goal="g", agent_context="a shop", user_profile="Ann", knowledge=())
Answering = Callable[[str, str, int], Awaitable[AgentAnswer]]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Scripted:
    """An agent that does as a test says."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._conversation_id = ""

    async def open(self, conversation_id: str, scenario: Scenario) -> Scripted:
        opened = Scripted(self._answering)
        opened._conversation_id = conversation_id
        return opened

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        return await self._answering(self._conversation_id, message, turn_id)

    async def close(self) -> None:
        pass


@contextlib.asynccontextmanager
async def traced(answering: Answering, wait: float = 5.0) -> AsyncIterator[tuple[TracedConnection, str]]:
    receiver = TraceReceiver(TraceReceiverConfig(enabled=True, port=free_port(), wait_timeout=wait))
    connection = TracedConnection(Scripted(answering), receiver)
    try:
        yield connection, f"http://127.0.0.1:{receiver.port}/v1/traces"
    finally:
        await connection.close()


async def post(url: str, body: Any, **headers: str) -> int:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with aiohttp.ClientSession() as session, session.post(url, data=io.BytesIO(data), headers=sent) as response:
        return response.status


def names(answer: AgentAnswer) -> list[str]:
    return [call.name for call in answer.tool_calls]


async def test_each_conversation_gets_the_calls_of_its_turns() -> None:
    url = ""

    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        await post(url, request(tool_span(f"{message}_{turn_id}", of=(conversation_id, turn_id))))
        return AgentAnswer("done")

    async with traced(answering) as (connection, address):
        url = address
        agents = [await connection.open(f"c{number}", SCENARIO) for number in range(20)]
        for turn_id in range(2):
            answers = await asyncio.gather(
                *(agent.answer(f"tool{number}", turn_id) for number, agent in enumerate(agents))
            )
            assert [names(answer) for answer in answers] == [[f"tool{number}_{turn_id}"] for number in range(20)]


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
async def test_opentelemetrys_own_exporter_is_understood(compression: Compression) -> None:
    url = ""

    def act(conversation_id: str, turn_id: int) -> None:
        provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=url, compression=compression)))
        tracer = provider.get_tracer("shop")
        attributes: dict[str, Any] = {"arksim.conversation_id": conversation_id, "arksim.turn_id": turn_id}
        with tracer.start_as_current_span("turn", attributes=attributes):
            with tracer.start_as_current_span("execute_tool get_order") as tool:
                tool.set_attribute("gen_ai.operation.name", "execute_tool")
                tool.set_attribute("gen_ai.tool.name", "get_order")
                tool.set_attribute("gen_ai.tool.call.arguments", '{"id": 7}')
                tool.set_attribute("gen_ai.tool.call.result", "shipped")
            with tracer.start_as_current_span("chat model", attributes={"gen_ai.operation.name": "chat"}):
                pass
        provider.shutdown()

    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        await asyncio.to_thread(act, conversation_id, turn_id)
        return AgentAnswer("It is shipped.")

    async with traced(answering) as (connection, address):
        url = address
        agent = await connection.open("c1", SCENARIO)
        [call] = (await agent.answer("ORD-7", 0)).tool_calls
    assert (call.name, call.arguments, call.result, call.source) == ("get_order", {"id": 7}, "shipped", "otel_trace")


async def test_spans_that_come_after_the_answer_are_waited_for() -> None:
    url, sending = "", set()

    async def later(conversation_id: str, turn_id: int) -> None:
        await asyncio.sleep(0.3)
        tool = tool_span("f", of=(conversation_id, turn_id), span_id="2", parent="1")
        await post(url, request(tool))
        await asyncio.sleep(0.3)
        await post(
            url, request(tool_span("g", of=(conversation_id, turn_id), span_id="3", parent="1"), span(span_id="1"))
        )

    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        sending.add(asyncio.create_task(later(conversation_id, turn_id)))
        return AgentAnswer("done")

    async with traced(answering) as (connection, address):
        url = address
        agent = await connection.open("c1", SCENARIO)
        began = time.monotonic()
        assert names(await agent.answer("x", 0)) == ["f", "g"]
        assert time.monotonic() - began < 3
        await asyncio.gather(*sending)


async def test_the_wait_ends_and_what_came_is_taken() -> None:
    url = ""

    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        if message == "tool":
            await post(url, request(tool_span("f", of=(conversation_id, turn_id), span_id="2", parent="never-sent")))
        return AgentAnswer("done")

    async with traced(answering, wait=0.4) as (connection, address):
        url = address
        agent = await connection.open("c1", SCENARIO)
        began = time.monotonic()
        assert names(await agent.answer("no tool", 0)) == []
        assert names(await agent.answer("tool", 1)) == ["f"]
        assert 0.8 <= time.monotonic() - began < 3


async def test_an_answers_own_calls_are_not_doubled() -> None:
    url = ""

    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        first = tool_span("f", {"x": 1}, (conversation_id, turn_id), attributes={"gen_ai.tool.call.result": "ok"})
        await post(url, request(first, tool_span("g", {"x": 1}, (conversation_id, turn_id), span_id="2")))
        return AgentAnswer("done", (ToolCall(id="call_1", name="f", arguments={"x": 1}),))

    async with traced(answering) as (connection, address):
        url = address
        answer = await (await connection.open("c1", SCENARIO)).answer("x", 0)
    assert (answer.tool_calls[0].id, answer.tool_calls[0].result) == ("call_1", "ok")
    assert names(answer) == ["f", "g"]


async def test_a_class_that_reports_its_calls_itself_is_not_waited_for() -> None:
    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        calls = (ToolCall(name="f", source="openai_agents"),) if message == "tool" else ()
        return AgentAnswer("done", calls)

    async with traced(answering, wait=60) as (connection, _):
        agent = await connection.open("c1", SCENARIO)
        assert names(await agent.answer("tool", 0)) == ["f"]
        assert names(await agent.answer("no tool", 1)) == []


async def test_silence_stays_silence() -> None:
    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        raise AgentDidNotAnswer("no power")

    async with traced(answering) as (connection, _):
        agent = await connection.open("c1", SCENARIO)
        with pytest.raises(AgentDidNotAnswer, match="no power"):
            await agent.answer("x", 0)


async def test_what_is_no_trace_is_refused() -> None:
    async def answering(conversation_id: str, message: str, turn_id: int) -> AgentAnswer:
        return AgentAnswer("done")

    async with traced(answering) as (connection, url):
        await connection.open("c1", SCENARIO)
        assert await post(url, {}) == 200
        assert await post(url, gzip.compress(json.dumps(request()).encode()), Content_Encoding="gzip") == 200
        assert await post(url, b"{") == 400
        assert await post(url, b"\xff\xff", Content_Type="application/x-protobuf") == 400
        assert await post(url, {}, Content_Type="text/plain") == 415
        assert await post(url, b"x" * (MAX_BODY_BYTES + 1)) == 413
        bomb = gzip.compress(b" " * (MAX_BODY_BYTES + 1))
        assert await post(url, bomb, Content_Encoding="gzip") == 413
        assert await post(url.replace("traces", "metrics"), {}) == 404
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            assert response.status == 405


async def test_a_port_that_is_taken_is_a_config_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"trace_receiver: can't listen on 127\.0\.0\.1:{port} for traces: .*in use"
        ):
            TraceReceiver(TraceReceiverConfig(enabled=True, port=port))


async def test_an_address_that_is_not_ours_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"trace_receiver: can't listen on 203\.0\.113\.7:"):
        TraceReceiver(TraceReceiverConfig(enabled=True, host="203.0.113.7", port=free_port()))


async def test_the_port_is_free_again_after_a_run_that_never_began() -> None:
    port = free_port()
    for _ in range(2):
        receiver = TraceReceiver(TraceReceiverConfig(enabled=True, port=port))
        await receiver.close()
