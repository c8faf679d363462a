"""A whole run against an agent that speaks A2A, from the command line."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.a2a_server import A2AServer, Turn
from tests.support.project import Project, arksim_ci, llm
from tests.support.scripted_server import ScriptedServer

EXAMPLE = Path(__file__).parents[3] / "examples" / "a2a-agent"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Path]:
    """The example's server, started as its config.yaml says, and a copy of its configuration that leads there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = yaml.safe_load((EXAMPLE / "config.yaml").read_text())
    config["agent_config"]["api_config"]["endpoint"] = f"http://127.0.0.1:{port}"
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "scenarios.json").write_text((EXAMPLE / "scenarios.json").read_text())
    server = subprocess.Popen([sys.executable, str(EXAMPLE / "server.py"), str(port)])
    try:
        _wait_for(port)
        yield tmp_path
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the example's server does not start")


def test_the_example_passes_its_own_gate(example: Path) -> None:
    finished = arksim_ci("simulate-evaluate", "config.yaml", cwd=example, output_dir=example / "results" / "evaluation")
    assert finished.code == 0, finished.err
    conversations = {each.scenario_id: each for each in finished.simulation.conversations}
    [first, *_] = conversations["cancel-order"].turns()
    assert first.agent.content.endswith("Shall I cancel it? Please answer yes or no.")
    [call] = first.agent.tool_calls or []
    assert (call.name, call.arguments, call.source) == ("get_order", {"order_id": "ORD-1002"}, "a2a_protocol")
    assert finished.verdict.checks[0].passed_conversations == 3


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(llm()) as running:
        yield running


def a2a_project(folder: Path, server: ScriptedServer) -> Project:
    project = Project(folder, server)
    api = {"endpoint": "${AGENT_URL}", "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}}
    project.config["agent_config"] = {"agent_type": "a2a", "agent_name": "shop", "api_config": api}
    return project


def test_headers_contexts_and_what_an_agent_repeats_of_a_secret(tmp_path: Path, server: ScriptedServer) -> None:
    async def repeats(turn: Turn) -> None:
        await turn.begin()
        await turn.artifact(f"You sent {turn.headers['authorization']}")
        await turn.updater.complete()

    with A2AServer(repeats) as agent:
        project = a2a_project(tmp_path, server)
        secret = "token-0123456789abcdef"
        finished = project.run(environment={"AGENT_URL": agent.url, "SHOP_TOKEN": secret})
    assert finished.code == 0, finished.err
    assert len(agent.card_requests) == 1
    ids = {each.conversation_id for each in finished.simulation.conversations}
    assert {turn.context_id for turn in agent.turns} == ids
    assert {turn.headers["authorization"] for turn in agent.turns} == {f"Bearer {secret}"}
    said = "".join((project.output_dir / name).read_text(errors="replace") for name in finished.files)
    assert "You sent" in said
    assert secret not in said + finished.out + finished.err


def test_a_task_that_fails_later_is_an_agent_that_stopped_answering(tmp_path: Path, server: ScriptedServer) -> None:
    async def fails_later(turn: Turn) -> None:
        if "number 1" in turn.text:
            await turn.say("Within 30 days.")
            return
        await turn.begin()
        await turn.updater.failed(turn.message("The database is down."))

    with A2AServer(fails_later) as agent:
        finished = a2a_project(tmp_path, server).run(environment={"AGENT_URL": agent.url, "SHOP_TOKEN": "x" * 9})
    assert finished.code == 1, finished.err
    assert finished.failures == ["AGENT_NEVER_SPOKE"]
    for conversation in finished.simulation.conversations:
        assert len(conversation.turns()) == 1
        assert conversation.agent_silence is not None
        assert conversation.agent_silence.kind == "stopped_answering"
        assert "the agent's task failed: The database is down." in conversation.agent_silence.cause


def test_an_agent_without_a_card_never_spoke(tmp_path: Path, server: ScriptedServer) -> None:
    project = a2a_project(tmp_path, server)
    finished = project.run(environment={"AGENT_URL": f"http://127.0.0.1:{server.port}", "SHOP_TOKEN": "x" * 9})
    assert finished.code == 1, finished.err
    assert finished.failures[0] == "AGENT_NEVER_SPOKE"
    assert "there is no agent card at" in json.dumps(finished.file("simulation.json"))
