"""Tool calls that only the agent's traces show, through the command line."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.support.project import Project, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.spans import request as otlp
from tests.support.spans import span, tool_span


@pytest.fixture
def port(project: Project) -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    project.config["trace_receiver"] = {"enabled": True, "port": port, "wait_timeout": 5}
    project.scenarios = [scenario(assertions=[{"type": "tool_calls", "expected": [{"name": "get_order"}]}])]
    project.config["max_turns"] = 1
    return port


def send(port: int, document: dict[str, Any]) -> None:
    url, body = f"http://127.0.0.1:{port}/v1/traces", json.dumps(document).encode()
    sent = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=10) as response:
        assert response.status == 200


def calls(finished: Any) -> list[list[tuple[str, str | None]]]:
    turns = [conversation.turns()[0] for conversation in finished.simulation.conversations]
    return [[(call.name, call.source) for call in turn.agent.tool_calls or []] for turn in turns]


def test_an_agent_that_names_the_turn_by_the_metadata_it_gets(
    project: Project, server: ScriptedServer, port: int
) -> None:
    project.config["agent_config"]["api_config"]["body"]["enable_metadata"] = True

    def agent(request: Request) -> Reply:
        metadata = request.body["metadata"]
        send(port, otlp(tool_span("get_order", {"id": 7}, (metadata["chat_id"], metadata["turn_id"]))))
        return Reply(content="It is shipped.")

    server.agent = agent
    finished = project.run()
    assert finished.code == 0, finished.err
    assert calls(finished) == [[("get_order", "otel_trace")]] * 2
    assert finished.simulation.conversations[0].turns()[0].agent.tool_calls[0].arguments == {"id": 7}  # type: ignore[index]
    assert any("tool_call_behavior_failure" in str(each.body) for each in server.requests["llm"])


def test_an_instrumented_agent_that_only_continues_the_trace(
    project: Project, server: ScriptedServer, port: int
) -> None:
    def agent(request: Request) -> Reply:
        headers = {name.lower(): value for name, value in request.headers.items()}
        _, trace, parent, _ = headers["traceparent"].split("-")
        root = span("POST /agent", trace=trace, parent=parent, span_id="1")
        send(port, otlp(root, tool_span("get_order", trace=trace, parent="1", span_id="2")))
        return Reply(content="It is shipped.")

    server.agent = agent
    finished = project.run()
    assert finished.code == 0, finished.err
    assert calls(finished) == [[("get_order", "otel_trace")]] * 2


def test_without_traces_the_assertion_fails(project: Project, server: ScriptedServer, port: int) -> None:
    project.config["trace_receiver"]["wait_timeout"] = 0.2
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.failures == ["ASSERTION_FAILED"] * 2


def test_traces_that_can_not_be_read_are_said_once(project: Project, server: ScriptedServer, port: int) -> None:
    project.config["trace_receiver"]["wait_timeout"] = 0.2

    def agent(request: Request) -> Reply:
        with pytest.raises(urllib.error.HTTPError, match="400"):
            send(port, [])  # type: ignore[arg-type]
        return Reply(content="It is shipped.")

    server.agent = agent
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.err.count("the trace receiver got a request that it can't read: no OTLP JSON") == 1


def test_a_port_that_is_taken_ends_the_run_before_anything_is_spent(
    project: Project, server: ScriptedServer, port: int
) -> None:
    with socket.create_server(("127.0.0.1", port)):
        finished = project.run()
    assert finished.code == 2
    assert f"trace_receiver: can't listen on 127.0.0.1:{port} for traces" in finished.err
    assert server.requests["llm"] == server.requests["agent"] == []


def test_a_receiver_that_is_not_enabled_takes_no_port(project: Project, server: ScriptedServer, port: int) -> None:
    project.config["trace_receiver"]["enabled"] = False
    with socket.create_server(("127.0.0.1", port)):
        assert project.run().code == 1
    assert all("traceparent" not in map(str.lower, each.headers) for each in server.requests["agent"])
