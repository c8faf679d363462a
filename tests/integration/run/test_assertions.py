"""Assertions on tool calls, through the command line: each mode, and what a reader sees of a mismatch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Finished, Project, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion

Call = tuple[str, dict[str, Any]]
GET: Call = ("get_order", {"id": 7})
REFUND: Call = ("refund", {"id": 7, "amount": 12.5})

CASES: list[tuple[str, list[dict[str, Any]], list[Call], bool]] = [
    ("strict", [{"name": "get_order"}, {"name": "refund"}], [GET, REFUND], True),
    ("strict", [{"name": "refund"}, {"name": "get_order"}], [GET, REFUND], False),
    ("strict", [{"name": "get_order"}], [GET, GET], False),
    ("unordered", [{"name": "refund"}, {"name": "get_order"}], [GET, REFUND], True),
    ("unordered", [{"name": "refund"}, {"name": "get_order"}], [GET], False),
    ("contains", [{"name": "refund"}], [GET, REFUND], True),
    ("contains", [{"name": "cancel"}], [GET, REFUND], False),
    ("within", [{"name": "get_order"}, {"name": "refund"}], [GET, GET], True),
    ("within", [{"name": "get_order"}], [GET, REFUND], False),
    ("unordered", [{"name": "get_order", "arguments": {"id": 7}, "arg_match_mode": "exact"}], [GET], True),
    ("unordered", [{"name": "get_order", "arguments": {"id": "7"}, "arg_match_mode": "exact"}], [GET], False),
    ("unordered", [{"name": "refund", "arguments": {"id": 7}, "arg_match_mode": "partial"}], [REFUND], True),
    ("unordered", [{"name": "refund", "arguments": {"id": 7}, "arg_match_mode": "exact"}], [REFUND], False),
    ("unordered", [{"name": "refund", "arguments": {"id": 8}, "arg_match_mode": "ignore"}], [REFUND], True),
    ("unordered", [], [], True),
    ("unordered", [], [GET], False),
    ("contains", [], [GET], False),
]


def asserts(mode: str, expected: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "tool_calls", "match_mode": mode, "expected": expected}


def made(calls: list[Call]) -> Reply:
    listed = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    ]
    return Reply(body=completion("Done.", tool_calls=listed))


@pytest.fixture
def asserting(project: Project, server: ScriptedServer) -> Project:
    """A project of one turn a conversation, whose agent knows the scenario by its goal."""
    project.config |= {"max_turns": 1, "num_conversations_per_scenario": 1}
    project.config["agent_config"]["api_config"]["body"]["enable_metadata"] = True
    return project


def run(project: Project, server: ScriptedServer, scenarios: dict[str, tuple[list[Any], list[Call]]]) -> Finished:
    """Run with scenarios `name -> (assertions, calls that the agent makes)`."""
    project.scenarios = [
        scenario(name, goal=f"Goal of {name}.", assertions=given) for name, (given, _) in scenarios.items()
    ]

    def agent(request: Request) -> Reply:
        name = request.body["metadata"]["user_goal"].removeprefix("Goal of ").removesuffix(".")
        return made(scenarios[name][1])

    server.agent = agent
    return project.run()


def test_every_mode_decides_as_documented(asserting: Project, server: ScriptedServer) -> None:
    scenarios = {
        f"case-{at}": ([asserts(mode, expected)], calls) for at, (mode, expected, calls, _) in enumerate(CASES)
    }
    finished = run(asserting, server, scenarios)
    assert finished.code == 1, finished.err
    failed = {failure.scenario_id for failure in finished.verdict.failures if failure.type == "ASSERTION_FAILED"}
    assert failed == {f"case-{at}" for at, (*_, passes) in enumerate(CASES) if not passes}
    kept = {each.scenario_id: each.turns()[0].agent.tool_calls for each in finished.simulation.conversations}
    assert [(call.name, call.arguments) for call in kept["case-0"] or []] == [GET, REFUND]
    assert kept["case-14"] is None


def test_several_assertions_all_count(asserting: Project, server: ScriptedServer) -> None:
    both = [
        asserts("contains", [{"name": "get_order"}]),
        asserts("within", [{"name": "get_order"}, {"name": "refund"}]),
    ]
    finished = run(asserting, server, {"good": (both, [GET]), "bad": (both, [GET, ("delete_account", {})])})
    assert finished.code == 1, finished.err
    [failure] = finished.verdict.failures
    assert (failure.type, failure.scenario_id, failure.match_mode) == ("ASSERTION_FAILED", "bad", "within")  # type: ignore[union-attr]
    [check] = finished.verdict.checks
    assert (check.name, check.passed_conversations, check.evaluated_conversations) == ("assertions", 1, 2)


def test_without_assertions_there_is_no_such_gate(asserting: Project, server: ScriptedServer) -> None:
    finished = run(asserting, server, {"free": ([], [GET])})
    assert finished.code == 0, finished.err
    assert finished.verdict.checks == []


def test_the_mismatch_is_shown_as_a_diff_everywhere(asserting: Project, server: ScriptedServer) -> None:
    expected = [
        {"name": "get_order", "arguments": {"id": 8}, "arg_match_mode": "exact"},
        {"name": "confirm", "arguments": {"id": 7}, "arg_match_mode": "partial"},
    ]
    finished = run(asserting, server, {"refunds": ([asserts("unordered", expected)], [GET, REFUND])})
    [failure] = finished.verdict.failures
    diff = ["- get_order(id=8)", "+ get_order(id=7)", "+ refund(id=7, amount=12.5)", "- confirm(id=7, …)"]
    assert failure.diff == diff  # type: ignore[union-attr]
    report = (asserting.output_dir / "final_report.md").read_text(encoding="utf-8")
    assert "\n".join(["```diff", *diff, "```"]) in report
    page = (asserting.output_dir / "final_report.html").read_text(encoding="utf-8")
    assert '<span class="r">- get_order(id=8)' in page
    assert '<span class="a">+ get_order(id=7)' in page
    assert "get_order(id=7)</code>" in page


def test_the_calls_of_a_custom_agent_are_kept_and_asserted(asserting: Project, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "from arksim import AgentConfig, AgentResponse\n"
        "from arksim.simulation_engine.agent.base import BaseAgent\n"
        "from arksim.simulation_engine.tool_types import ToolCall\n\n"
        "class Shop(BaseAgent):\n"
        "    async def get_chat_id(self):\n        return 'x'\n"
        "    async def execute(self, user_query, **kwargs):\n"
        "        call = ToolCall(id='1', name='get_order', arguments={'id': 7}, result='shipped')\n"
        "        return AgentResponse(content='', tool_calls=[call])\n"
    )
    asserting.config["agent_config"] = {
        "agent_type": "custom",
        "agent_name": "shop",
        "custom_config": {"module_path": "./agent.py"},
    }
    wanted = {"name": "get_order", "arguments": {"id": 7}, "arg_match_mode": "exact"}
    asserting.scenarios = [
        scenario("good", assertions=[asserts("strict", [wanted])]),
        scenario("none", assertions=[asserts("strict", [])]),
    ]
    finished = asserting.run()
    assert finished.code == 1, finished.err
    [failure] = finished.verdict.failures
    assert (failure.scenario_id, failure.diff) == ("none", ["+ get_order(id=7)"])  # type: ignore[union-attr]
    [call] = finished.simulation.conversations[0].turns()[0].agent.tool_calls or []
    assert (call.name, call.result) == ("get_order", "shipped")
