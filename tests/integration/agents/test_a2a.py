"""An agent that speaks A2A: a real server of the official SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from a2a.types import Part

from arksim_ci.agents.a2a import A2AConnection
from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.transport import AgentHttp
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import ToolCall
from tests.support.a2a_server import A2AServer, Turn
from tests.support.scripted_server import Reply, ScriptedServer

SCENARIO = Scenario(scenario_id="s1", user_id="u1", goal="g", agent_context="a shop", user_profile="Ann", knowledge=())
WAYS = [(True, "JSONRPC"), (False, "JSONRPC"), (True, "HTTP+JSON"), (False, "HTTP+JSON")]


async def no_wait(_: float) -> None:
    await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def connected(
    url: str, headers: dict[str, str] | None = None, timeout: float = 10, *, traced: bool = False, **limits: Any
) -> AsyncIterator[A2AConnection]:
    http = AgentHttp(url, headers or {}, timeout, sleep=no_wait, now=lambda: 0.0, **limits)
    connection = A2AConnection(http, url, timeout, sleep=no_wait, traced=traced)
    try:
        yield connection
    finally:
        await connection.close()


async def ask(server: A2AServer, message: str = "Hello", **settings: Any) -> Any:
    async with connected(server.url, **settings) as connection:
        agent = await connection.open("c1", SCENARIO)
        return await agent.answer(message, 0)


async def shop(turn: Turn) -> None:
    await turn.begin()
    call = {"id": "1", "name": "get_order", "arguments": {"id": 7}, "result": "shipped"}
    await turn.artifact(f"About {turn.text}: ", artifact_id="a", calls=[call])
    await turn.artifact("shipped.", artifact_id="a", append=True)
    await turn.updater.complete()


@pytest.mark.parametrize(("streaming", "binding"), WAYS)
async def test_a_task_is_followed_to_its_end_by_every_way(streaming: bool, binding: str) -> None:
    with A2AServer(shop, streaming=streaming, binding=binding) as server:
        answer = await ask(server, "ORD-7")
    assert answer.content.replace("\n", "") == "About ORD-7: shipped."
    assert answer.tool_calls == (
        ToolCall(id="1", name="get_order", arguments={"id": 7}, result="shipped", source="a2a_protocol"),
    )


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_of_the_protocol_before_1_0_is_understood(streaming: bool) -> None:
    with A2AServer(shop, streaming=streaming, version="0.3") as server:
        answer = await ask(server, "ORD-7")
    assert answer.content.replace("\n", "") == "About ORD-7: shipped."
    assert [call.name for call in answer.tool_calls] == ["get_order"]


async def test_the_card_is_fetched_once_and_each_conversation_has_its_context() -> None:
    async def echo(turn: Turn) -> None:
        await turn.say(f"{turn.text} to you, too")

    with A2AServer(echo) as server:
        async with connected(server.url) as connection:
            first, second = await asyncio.gather(connection.open("c1", SCENARIO), connection.open("c2", SCENARIO))
            answers = [await first.answer("One", 0), await first.answer("Two", 1), await second.answer("Three", 0)]
    assert [answer.content for answer in answers] == [f"{word} to you, too" for word in ("One", "Two", "Three")]
    assert len(server.card_requests) == 1
    assert [turn.context_id for turn in server.turns] == ["c1", "c1", "c2"]


async def test_headers_and_the_extension_are_sent_with_everything() -> None:
    async def hello(turn: Turn) -> None:
        await turn.say("Hello")

    with A2AServer(hello) as server:
        await ask(server, headers={"Authorization": "Bearer key-0123456789", "X-Tenant": "t1"}, traced=True)
    [turn] = server.turns
    for headers in (server.card_requests[0], turn.headers):
        assert headers["authorization"] == "Bearer key-0123456789"
        assert headers["x-tenant"] == "t1"
    assert "tool-call-capture/v1" in turn.headers["a2a-extensions"]
    assert list(turn.context.message.extensions) == ["https://arksim.arklex.ai/a2a/tool-call-capture/v1"]  # type: ignore[union-attr]
    assert turn.headers["traceparent"].startswith("00-")
    assert turn.headers["baggage"] == "arksim.conversation_id=c1,arksim.turn_id=0"


@pytest.mark.parametrize(("streaming", "binding"), WAYS)
async def test_a_question_of_the_agent_is_an_answer_and_the_next_message_goes_on_with_its_task(
    streaming: bool, binding: str
) -> None:
    async def asks(turn: Turn) -> None:
        await turn.begin()
        if turn.text == "Cancel it":
            await turn.artifact("I found two orders.", artifact_id="found")
            await turn.updater.requires_input(turn.message("Which one?"))
        else:
            await turn.artifact(f"Cancelled {turn.text}.", artifact_id="done")
            await turn.updater.complete()

    with A2AServer(asks, streaming=streaming, binding=binding) as server:
        async with connected(server.url) as connection:
            agent = await connection.open("c1", SCENARIO)
            assert (await agent.answer("Cancel it", 0)).content == "I found two orders.\nWhich one?"
            assert (await agent.answer("ORD-7", 1)).content == "Cancelled ORD-7."
            await agent.answer("Cancel it", 2)
    tasks = [turn.task_id for turn in server.turns]
    assert tasks[0] == tasks[1] != tasks[2]


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_task_that_fails_is_silence_with_the_cause(streaming: bool) -> None:
    async def fails(turn: Turn) -> None:
        await turn.begin()
        await turn.updater.failed(turn.message("The database is down."))

    with (
        A2AServer(fails, streaming=streaming) as server,
        pytest.raises(AgentDidNotAnswer, match=r"the agent's task failed: The database is down\."),
    ):
        await ask(server)


async def test_an_agent_that_breaks_is_silence_with_the_cause() -> None:
    async def breaks(turn: Turn) -> None:
        raise RuntimeError("no such table: orders")

    with A2AServer(breaks, streaming=False) as server, pytest.raises(AgentDidNotAnswer, match="no answer by A2A"):
        await ask(server)
    assert len(server.turns) == 1


@pytest.mark.parametrize("streaming", [True, False])
async def test_the_time_limit_holds_for_the_whole_turn(streaming: bool) -> None:
    async def slow(turn: Turn) -> None:
        await turn.begin()
        await asyncio.sleep(30)

    with A2AServer(slow, streaming=streaming) as server:
        async with connected(server.url) as connection:
            agent = await connection.open("c1", SCENARIO)
            agent._timeout_seconds = 0.5
            with pytest.raises(AgentDidNotAnswer, match=r"no answer within 0\.5 seconds"):
                await agent.answer("Hello", 0)
    assert len(server.turns) == 1


async def test_a_server_that_answers_at_once_is_looked_at_until_the_task_ends() -> None:
    states = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    card = {
        "name": "shop",
        "supportedInterfaces": [{"url": "", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {},
    }
    methods: list[str] = []

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        methods.append(body["method"])
        task: dict[str, Any] = {"id": "t1", "contextId": "c1", "status": {"state": states[len(methods) - 1]}}
        if len(methods) == 3:
            task["artifacts"] = [{"artifactId": "a", "parts": [{"text": "Shipped."}]}]
        return {
            "jsonrpc": "2.0",
            "id": body["id"],
            "result": {"task": task} if body["method"] == "SendMessage" else task,
        }

    with ScriptedServer(llm=lambda request: Reply()) as scripted:
        card["supportedInterfaces"][0]["url"] = scripted.agent_url  # type: ignore[index]
        scripted.agent = lambda request: Reply(body=answer(request.body))
        scripted.cards["/"] = card
        async with connected(f"http://127.0.0.1:{scripted.port}") as connection:
            agent = await connection.open("c1", SCENARIO)
            assert (await agent.answer("Hello", 0)).content == "Shipped."
    assert methods == ["SendMessage", "GetTask", "GetTask"]


async def test_a_message_is_sent_again_only_where_the_agent_cannot_have_acted() -> None:
    with A2AServer(shop, streaming=False) as server:
        server.statuses = [(503, "starting"), (429, "slow down")]
        assert (await ask(server)).content
        assert len(server.turns) == 1
        server.statuses = [(500, "broken")]
        server.turns.clear()
        with pytest.raises(AgentDidNotAnswer, match=r"HTTP 500 from http://127.0.0.1:.*: .*broken"):
            await ask(server)
        assert server.turns == []


async def test_an_agent_that_comes_up_late_is_found_by_the_next_conversation() -> None:
    with A2AServer(shop) as server:
        async with connected("http://127.0.0.1:9") as connection:
            with pytest.raises(AgentDidNotAnswer, match=r"there is no agent card at http://127.0.0.1:9: can't connect"):
                await connection.open("c1", SCENARIO)
            connection._endpoint = server.url
            agent = await connection.open("c1", SCENARIO)
            assert (await agent.answer("Hello", 0)).content


async def test_what_is_no_a2a_agent_is_said_with_advice() -> None:
    with ScriptedServer(llm=lambda request: Reply()) as scripted:
        async with connected(f"http://127.0.0.1:{scripted.port}/agent") as connection:
            with pytest.raises(AgentDidNotAnswer) as caught:
                await connection.open("c1", SCENARIO)
    assert "HTTP 404" in str(caught.value)
    assert "set agent_config.api_config.endpoint to the base URL of an A2A agent" in str(caught.value)


async def test_a_card_that_offers_no_way_we_speak_is_said() -> None:
    with A2AServer(shop) as server:
        server.card.supported_interfaces[0].protocol_binding = "GRPC"
        with pytest.raises(AgentDidNotAnswer, match=r"offers GRPC; understood are JSONRPC and HTTP\+JSON"):
            await ask(server)


async def test_a_card_that_leads_nowhere_says_where_to() -> None:
    with (
        A2AServer(shop, card_url="http://127.0.0.1:9/rpc") as server,
        pytest.raises(AgentDidNotAnswer, match=r"can't connect to http://127.0.0.1:9/rpc"),
    ):
        await ask(server)


async def test_an_answer_that_is_too_large_is_refused() -> None:
    async def large(turn: Turn) -> None:
        await turn.say("x" * 300_000)

    with A2AServer(large) as server, pytest.raises(AgentDidNotAnswer, match=r"the answer is larger than 0\.25 MB"):
        await ask(server, max_answer_bytes=256 * 1024)


async def test_an_answer_in_parts_keeps_data_and_names_files() -> None:
    async def parts(turn: Turn) -> None:
        await turn.begin()
        await turn.artifact("Here:", parts=[Part(url="https://shop.example/a.pdf", media_type="application/pdf")])
        await turn.updater.complete()

    with A2AServer(parts) as server:
        assert (await ask(server)).content == "Here:\n[file https://shop.example/a.pdf, application/pdf]"


async def test_no_secret_is_in_an_error_or_a_log(caplog: pytest.LogCaptureFixture) -> None:
    secret = "sk-0123456789abcdef"

    async def repeats(turn: Turn) -> None:
        await turn.begin()
        await turn.updater.failed(turn.message(f"bad key {turn.headers['authorization']}"))

    caplog.set_level(logging.DEBUG)
    with A2AServer(repeats) as server:
        with pytest.raises(AgentDidNotAnswer) as failed:
            await ask(server, headers={"Authorization": f"Bearer {secret}"})
        server.statuses = [(400, f"bad key {secret}")]
        with pytest.raises(AgentDidNotAnswer) as refused:
            await ask(server, headers={"Authorization": f"Bearer {secret}"})
    assert "bad key" in str(failed.value)
    assert "bad key" in str(refused.value)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("arksim", "a2a.client"))]
    assert secret not in json.dumps([str(failed.value), str(refused.value), *ours])
