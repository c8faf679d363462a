"""An agent over real HTTP."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from arksim_ci.agents.agent import AgentConnection, AgentDidNotAnswer
from arksim_ci.agents.chat_completions import ChatCompletionsConnection
from arksim_ci.agents.transport import AgentHttp
from arksim_ci.schema.scenario import KnowledgeItem, Scenario
from arksim_ci.schema.simulation import ToolCall
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion, wait_until

SCENARIO = Scenario(
    scenario_id="s1",
    user_id="u1",
    goal="You want a refund",
    agent_context="A shop",
    user_profile="You are Ann",
    knowledge=(KnowledgeItem(content="Refunds take 5 days"), KnowledgeItem(content="Shoes are sold")),
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(llm=lambda request: Reply(content="unused")) as running:
        yield running


class Waits:
    """Notes how long would be waited."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@contextlib.asynccontextmanager
async def connected(
    endpoint: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 5,
    waits: Waits | None = None,
) -> AsyncIterator[AgentConnection]:
    http = AgentHttp(endpoint, headers or {}, timeout, sleep=waits or Waits(), now=lambda: 0.0)
    connection = ChatCompletionsConnection(http, body)
    try:
        yield connection
    finally:
        await connection.close()


async def _ask(connection: AgentConnection, message: str = "Hello") -> str:
    agent = await connection.open("c1", SCENARIO)
    return (await agent.answer(message, 0)).content


async def test_the_body_the_first_messages_and_the_growing_conversation_are_sent(server: ScriptedServer) -> None:
    body = {"model": "m", "temperature": 0.2, "messages": [{"role": "system", "content": "Be brief."}]}
    server.agent = lambda request: Reply(content=f"answer {request.number}")
    async with connected(server.agent_url, body, {"authorization": "Bearer k", "X-Tenant": "t"}) as connection:
        agent = await connection.open("c1", SCENARIO)
        assert (await agent.answer("one", 0)).content == "answer 0"
        assert (await agent.answer("two", 1)).content == "answer 1"
        assert await _ask(connection, "other conversation") == "answer 2"
    first, second, other = server.requests["agent"]
    system = {"role": "system", "content": "Be brief."}
    one = {"role": "user", "content": "one"}
    assert first.body == {"model": "m", "temperature": 0.2, "messages": [system, one]}
    assert second.body["messages"] == [
        system,
        one,
        {"role": "assistant", "content": "answer 0"},
        {"role": "user", "content": "two"},
    ]
    assert other.body["messages"] == [system, {"role": "user", "content": "other conversation"}]
    sent = {name.lower(): value for name, value in first.headers.items()}
    assert (sent["authorization"], sent["x-tenant"], sent["content-type"]) == ("Bearer k", "t", "application/json")
    assert body["messages"] == [system]


async def test_a_content_type_of_the_user_is_not_doubled(server: ScriptedServer) -> None:
    async with connected(server.agent_url, headers={"content-type": "application/json; charset=utf-8"}) as connection:
        await _ask(connection)
    headers = [v for n, v in server.requests["agent"][0].headers.items() if n.lower() == "content-type"]
    assert headers == ["application/json; charset=utf-8"]


async def test_metadata_is_sent_when_enabled(server: ScriptedServer) -> None:
    async with connected(server.agent_url, {"enable_metadata": True, "metadata": {"team": "x"}}) as connection:
        agent = await connection.open("c1", SCENARIO)
        await agent.answer("one", 0)
        await agent.answer("two", 1)
    assert "enable_metadata" not in server.requests["agent"][0].body
    assert [request.body["metadata"] for request in server.requests["agent"]] == [
        {
            "team": "x",
            "chat_id": "c1",
            "user_goal": "You want a refund",
            "knowledge": [{"content": "Refunds take 5 days"}, {"content": "Shoes are sold"}],
            "turn_id": turn,
        }
        for turn in (0, 1)
    ]


async def test_without_enable_metadata_none_is_sent(server: ScriptedServer) -> None:
    async with connected(server.agent_url, {"enable_metadata": False}) as connection:
        await _ask(connection)
    assert set(server.requests["agent"][0].body) == {"messages"}


async def test_22_a_tool_only_answer_is_kept_and_its_text_alone_sent_back(server: ScriptedServer) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": '{"order": 5}'}}
    server.agent = lambda request: (
        Reply(body=completion(None, tool_calls=[call])) if request.number == 0 else Reply(content="ok")
    )
    async with connected(server.agent_url) as connection:
        agent = await connection.open("c1", SCENARIO)
        answer = await agent.answer("one", 0)
        assert (answer.content, answer.tool_calls) == ("", (ToolCall(id="c", name="refund", arguments={"order": 5}),))
        await agent.answer("two", 1)
    assert server.requests["agent"][1].body["messages"][1] == {"role": "assistant", "content": ""}


async def test_a_streamed_answer_is_read(server: ScriptedServer) -> None:
    stream = b'data: {"choices": [{"delta": {"content": "He"}}]}\n\ndata: {"choices": [{"delta": {"content": "y"}}]}\n\ndata: [DONE]\n\n'
    server.agent = lambda request: Reply(body=stream, headers={"Content-Type": "text/event-stream"})
    async with connected(server.agent_url, {"stream": True}) as connection:
        assert await _ask(connection) == "Hey"


async def test_cookies_stay_within_their_conversation(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(content="ok", headers={"Set-Cookie": f"session=s{request.number}; Path=/"})
    endpoint = server.agent_url.replace("127.0.0.1", "localhost")
    async with connected(endpoint, headers={"Cookie": "team=x"}) as connection:
        one, two = await connection.open("c1", SCENARIO), await connection.open("c2", SCENARIO)
        for agent in (one, two, one):
            await agent.answer("hi", 0)
    assert [request.headers["Cookie"] for request in server.requests["agent"]] == [
        "team=x",
        "team=x",
        "team=x; session=s0",
    ]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
async def test_17_a_status_after_which_the_agent_cannot_have_acted_is_asked_again(
    server: ScriptedServer, status: int
) -> None:
    server.agent = lambda request: Reply(status=status, body={}) if request.number < 2 else Reply(content="there")
    async with connected(server.agent_url) as connection:
        assert await _ask(connection) == "there"
    assert len(server.requests["agent"]) == 3
    assert server.requests["agent"][0].body == server.requests["agent"][2].body


async def test_retry_after_is_obeyed(server: ScriptedServer) -> None:
    waits = Waits()
    server.agent = lambda request: (
        Reply(status=429, body={}, headers={"Retry-After": "7"}) if request.number == 0 else Reply(content="ok")
    )
    async with connected(server.agent_url, waits=waits) as connection:
        await _ask(connection)
    assert waits.seconds == [7.0]


async def test_a_busy_agent_is_given_up_with_what_it_said(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(status=503, body={"detail": "starting"})
    async with connected(server.agent_url) as connection:
        with pytest.raises(AgentDidNotAnswer) as caught:
            await _ask(connection)
    assert str(caught.value) == f'HTTP 503 from {server.agent_url}: {{"detail": "starting"}} (tried 5 times)'


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500, 501])
async def test_another_status_is_not_asked_again(server: ScriptedServer, status: int) -> None:
    server.agent = lambda request: Reply(status=status, body={"detail": "no"})
    async with connected(server.agent_url) as connection:
        with pytest.raises(AgentDidNotAnswer, match=f"HTTP {status} from "):
            await _ask(connection)
    assert len(server.requests["agent"]) == 1


async def test_a_refused_connection_is_tried_again_and_then_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits = Waits()
    async with connected(f"http://127.0.0.1:{port}/agent", waits=waits) as connection:
        with pytest.raises(
            AgentDidNotAnswer, match=rf"can't connect to http://127\.0\.0\.1:{port}/agent: .*\(tried 5 times\)"
        ):
            await _ask(connection)
    assert len(waits.seconds) == 4


async def test_23_a_time_out_is_not_asked_again(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(content="late", delay=0.5)
    async with connected(server.agent_url, timeout=0.2) as connection:
        with pytest.raises(AgentDidNotAnswer, match=r"no complete answer within 0\.2 seconds"):
            await _ask(connection)
    wait_until(lambda: server.in_flight["agent"] == 0)
    assert len(server.requests["agent"]) == 1


async def test_a_connection_cut_in_the_middle_is_not_asked_again(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(drop=True)
    async with connected(server.agent_url) as connection:
        with pytest.raises(AgentDidNotAnswer, match=r"no answer from .*closed"):
            await _ask(connection)
    assert len(server.requests["agent"]) == 1


async def test_23_an_answer_that_drips_is_bounded_as_a_whole(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(content="slow", drip=0.02)
    async with connected(server.agent_url, timeout=0.3) as connection:
        with pytest.raises(AgentDidNotAnswer, match=r"within 0\.3 seconds"):
            await _ask(connection)
    wait_until(lambda: server.in_flight["agent"] == 0)


async def test_an_answer_that_is_too_large_is_refused(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(content="x" * 2_000_000)
    connection = ChatCompletionsConnection(AgentHttp(server.agent_url, {}, 5, max_answer_bytes=1024 * 1024), None)
    with pytest.raises(AgentDidNotAnswer, match="the answer is larger than 1 MB"):
        await _ask(connection)
    await connection.close()


async def test_a_redirect_is_not_followed(server: ScriptedServer) -> None:
    target = f"{server.base_url}/chat/completions?token=abcdefghij"
    server.agent = lambda request: Reply(status=307, body={}, headers={"Location": target})
    async with connected(server.agent_url, headers={"Authorization": "Bearer secret-key-123"}) as connection:
        with pytest.raises(
            AgentDidNotAnswer, match=r"HTTP 307 sends on to .*/chat/completions; set the endpoint"
        ) as caught:
            await _ask(connection)
    assert "abcdefghij" not in str(caught.value)
    assert server.requests["llm"] == []


@pytest.mark.parametrize("status", [200, 500])
async def test_27_a_cause_holds_no_secret(
    server: ScriptedServer, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(request: Request) -> Reply:
        return Reply(
            status=status,
            body={"detail": f"x{'-' * 270}{request.headers['Authorization']} {request.headers['X-Api-Key']}"},
        )

    endpoint = server.agent_url + "?code=query-secret-1"
    headers = {"Authorization": "Bearer header-secret-1", "X-Api-Key": "header-secret-2"}
    server.agent = echo
    async with connected(endpoint, headers=headers) as connection:
        with pytest.raises(AgentDidNotAnswer) as caught:
            await _ask(connection)
    assert "***" in str(caught.value)
    assert "secret" not in str(caught.value)
    logged = [record.getMessage() for record in caplog.records if record.name != "aiohttp.access"]  # the server's own
    assert "secret" not in str(logged)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>Welcome</html>", "not JSON: <html>Welcome</html> Understood are"),
        (b"", "not JSON: an empty body"),
        (b"\xff\xfe{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ({"reply": "Hi"}, "no known shape"),
        ({"error": {"message": "quota"}}, "the agent answered with an error: quota"),
    ],
    ids=["html", "empty", "bytes", "nested", "unknown", "error"],
)
async def test_an_answer_that_cannot_be_read_is_no_answer(server: ScriptedServer, body: Any, said: str) -> None:
    server.agent = lambda request: Reply(body=body)
    async with connected(server.agent_url) as connection:
        with pytest.raises(AgentDidNotAnswer, match=said):
            await _ask(connection)


async def test_user_info_of_the_endpoint_authorises_and_is_not_shown(server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(status=400, body=request.headers.get("Authorization", "nothing"))
    async with connected(server.agent_url.replace("http://", "http://ann:pass-word-1@")) as connection:
        with pytest.raises(AgentDidNotAnswer) as caught:
            await _ask(connection)
    assert "Basic" in str(caught.value)
    assert "pass-word-1" not in str(caught.value)
