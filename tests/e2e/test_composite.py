"""`uses: ./composite`, run by act: the gate beside the job's steps, with agents whose packages conflict with the gate's own."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.act_runner import Act, Workflow
from tests.support.docker_action import EVENT, PULL_REQUEST
from tests.support.fake_github import FakeGitHub
from tests.support.fake_results_service import FakeResultsService, Fault
from tests.support.tools import missing

pytestmark = [pytest.mark.xdist_group("composite"), pytest.mark.timeout(900)]  # the first run installs the tools

CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"
OLD_PYDANTIC = "pydantic==1.10.26"
"""Ours is pydantic 2."""
KEY = "sk-composite-0123456789"
REFUSED = Fault(403, '{"code": "permission_denied", "msg": "no"}')

AGENT = """
import os
import sys

import pydantic
from arksim.simulation_engine.agent.base import BaseAgent
from arksim import AgentConfig, AgentResponse
from arksim.simulation_engine.tool_types import ToolCall

assert pydantic.VERSION.startswith("1."), pydantic.VERSION
tokens = [name for name in os.environ if name.startswith(("INPUT_", "ACTIONS_")) or name in ("GITHUB_TOKEN", "GITHUB_OUTPUT")]
assert not tokens, tokens
print(f"the agent runs in {sys.executable}; the job says {os.environ['OF_THE_JOB']}")


class Order(pydantic.BaseModel):
    order_id: str

    @pydantic.validator("order_id")
    def known(cls, value):
        return value


class Agent(BaseAgent):
    def __init__(self, agent_config: AgentConfig) -> None:
        super().__init__(agent_config)

    async def get_chat_id(self):
        return "1"

    async def execute(self, user_query, **kwargs):
        order = Order(order_id="ORD-1001")
        calls = [ToolCall(id="1", name="get_order", arguments=order.dict())]
        return AgentResponse(content="Order ORD-1001 has been shipped.", tool_calls=calls if FAULT is None else [])


FAULT = os.environ.get("FAULT")
"""
CONFIG = {
    "agent_config": {"agent_type": "custom", "agent_name": "shop", "custom_config": {"module_path": "./agent.py"}},
    "scenario_file_path": "./scenarios.json",
    "num_conversations_per_scenario": 1,
    "max_turns": 1,
    "provider": "offline",
}
SCENARIO = {
    "scenario_id": "status",
    "user_id": "alice",
    "goal": "Find out the status of order ORD-1001.",
    "agent_context": "The support of a shop.",
    "user_profile": "You are brief.",
    "knowledge": [{"content": "Order ORD-1001 has been shipped."}],
    "origin": {},
    "assertions": [{"type": "tool_calls", "match_mode": "contains", "expected": [{"name": "get_order"}]}],
}


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as github:
        yield github


@pytest.fixture
def results() -> Iterator[FakeResultsService]:
    with FakeResultsService() as results:
        yield results


@pytest.fixture
def act(tmp_path: Path, github: FakeGitHub, results: FakeResultsService) -> Act:
    if not shutil.which("git"):
        missing("git is not installed; act needs it")
    made = Act(None, tmp_path, "127.0.0.1", github, results)
    project = made.repository / "arksim"
    project.mkdir()
    (project / "agent.py").write_text(AGENT, encoding="utf-8")
    (project / "config.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    (project / "scenarios.json").write_text(json.dumps({"schema_version": "v1", "scenarios": [SCENARIO]}))
    (project / "requirements.txt").write_text(f"{OLD_PYDANTIC}\n", encoding="utf-8")
    return made


def workflow(*before: dict[str, Any], inputs: dict[str, str], env: dict[str, str] | None = None) -> str:
    """A job with the gate, which tells what became of it in its last step."""
    gate = {"id": "gate", "uses": "./composite", "with": inputs, "continue-on-error": True}
    after = {
        "run": 'printf "gate=%s\\n" "$OUTCOME" >> "$GITHUB_OUTPUT"',
        "env": {"OUTCOME": "${{ steps.gate.outcome }}"},
    }
    steps = [{"uses": CHECKOUT}, *before, gate, after]
    job = {"runs-on": "ubuntu-latest", "env": {"OF_THE_JOB": "hello", **(env or {})}, "steps": steps}
    return yaml.safe_dump({"on": "pull_request", "jobs": {"gate": job}})


def run(act: Act, *before: dict[str, Any], inputs: dict[str, str], env: dict[str, str] | None = None) -> Workflow:
    return act.run("gate.yml", workflow(*before, inputs=inputs, env=env), "pull_request", EVENT)


def archive(results: FakeResultsService, name: str) -> zipfile.ZipFile:
    (artifact,) = [each for each in results.finished() if each.name == name]
    return zipfile.ZipFile(io.BytesIO(results.memory.blobs[artifact.key][0]))


def test_requirements_that_conflict_with_ours(act: Act, github: FakeGitHub, results: FakeResultsService) -> None:
    ended = run(act, inputs={"requirements": "arksim/requirements.txt", "api-key": KEY})

    assert ended.code == 0, ended.log
    outputs = ended.outputs("gate")
    assert outputs["gate"] == "success", ended.log
    assert (outputs["exit-code"], outputs["conclusion"], outputs["passed"]) == ("0", "passed", "true")
    assert "the job says hello" in ended.log
    assert "Gate passed: shop" in ended.summary("gate")
    (comment,) = github.bodies(PULL_REQUEST)
    assert comment.startswith("## ✅ Gate passed: shop")
    for name in ("artifact-url", "report-url"):
        assert outputs[name].startswith("https://github.com/org/shop/actions/runs/1/artifacts/")
        assert outputs[name] in comment, name
    assert outputs["comment-url"] == github.comments[0]["html_url"]
    assert sorted(each.name for each in results.finished()) == ["arksim-evaluation", "arksim-report.html"]
    assert {"verdict.json", "evaluation.json", "simulation.json"} <= set(
        archive(results, "arksim-evaluation").namelist()
    )
    everything = "".join([ended.log, ended.summary("gate"), comment, *outputs.values()])
    assert KEY not in everything.replace(f"::add-mask::{KEY}", "")


def test_a_failed_gate_in_the_job_s_own_python_with_a_taken_name(
    act: Act, github: FakeGitHub, results: FakeResultsService
) -> None:
    install = {"run": f"python3 -m venv .venv && .venv/bin/pip install --quiet {OLD_PYDANTIC}"}
    inputs = {"python": ".venv/bin/python", "retention-days": "3", "setup-command": "python -c 'import pydantic.main'"}
    run(act, install, inputs=inputs)
    github.comments.clear()
    ended = run(act, install, inputs=inputs, env={"FAULT": "no call"})

    outputs = ended.outputs("gate")
    assert outputs["gate"] == "failure", ended.log
    assert (outputs["exit-code"], outputs["conclusion"], outputs["passed"]) == ("1", "failed", "false")
    assert "/.venv/bin/python; the job says hello" in ended.log
    names = {each.name for each in results.finished()}
    assert names == {"arksim-evaluation", "arksim-evaluation-2", "arksim-report.html", "arksim-report-2.html"}
    assert json.loads(archive(results, "arksim-evaluation-2").read("verdict.json"))["exit_code"] == 1
    assert all(each.expires_at for each in results.finished())
    (comment,) = github.bodies(PULL_REQUEST)
    for name in ("artifact-url", "report-url"):
        assert outputs[name] in comment
    assert "get_order" in comment


def test_publishing_trouble_leaves_the_exit_code_what_it_is(
    act: Act, github: FakeGitHub, results: FakeResultsService
) -> None:
    github.may = {"pull_requests:read"}
    inputs = {"requirements": "arksim/requirements.txt", "artifact-name": "a", "fail-on-gate": "false"}
    results.faults["CreateArtifact"] = [REFUSED] * 20
    ended = run(act, inputs=inputs, env={"FAULT": "no call"})

    outputs = ended.outputs("gate")
    assert outputs["gate"] == "success", ended.log
    assert outputs["exit-code"] == "1"
    assert github.bodies(PULL_REQUEST) == []
    assert "pull-requests: write" in ended.log
    assert "the artifact a-evaluation was not uploaded" in ended.log
    assert "Gate failed" in ended.summary("gate")


@pytest.mark.parametrize(
    ("inputs", "code", "says"),
    [
        ({"comment": "allways"}, "2", 'input comment: "allways" is not allowed'),
        ({"python": "no-such-python"}, "2", "input python: no Python 3.11 or newer"),
        ({"provider": "openai"}, "2", "OPENAI_API_KEY"),
        ({"setup-command": "no-such-tool"}, "3", "commands are those that the job's earlier steps installed"),
    ],
)
def test_what_ends_with_2_or_3(act: Act, github: FakeGitHub, inputs: dict[str, str], code: str, says: str) -> None:
    ended = run(act, inputs=inputs)
    outputs = ended.outputs("gate")
    assert outputs["gate"] == "failure", ended.log
    assert (outputs["exit-code"], outputs["conclusion"]) == (code, "error")
    assert says in ended.log
    assert says in ended.summary("gate") or code == "3"


def test_an_agent_on_the_runner_s_localhost_and_its_focus_files(
    act: Act, github: FakeGitHub, results: FakeResultsService
) -> None:
    inputs = {
        "config": "examples/support-agent/config.yaml",
        "provider": "offline",
        "agent-command": "python3 examples/support-agent/agent.py",
        "comment": "off",
        "artifact-name": "support",
    }
    ended = run(act, inputs=inputs)
    outputs = ended.outputs("gate")
    assert outputs["gate"] == "failure", ended.log
    assert outputs["exit-code"] == "1"
    assert outputs["focus-artifact-url"].startswith("https://github.com/org/shop/actions/runs/1/artifacts/")
    assert "all_failures.json" in archive(results, "support-focus").namelist()
    assert "agent.log" in archive(results, "support-evaluation").namelist()
    assert outputs["focus-artifact-url"] in ended.summary("gate")
    assert github.bodies(PULL_REQUEST) == []


def test_without_uploads(act: Act, github: FakeGitHub, results: FakeResultsService) -> None:
    inputs = {
        "config": "examples/support-agent/config.yaml",
        "agent-command": "python3 examples/support-agent/agent.py --fixed",
        "upload-artifacts": "false",
    }
    ended = run(act, inputs=inputs)
    outputs = ended.outputs("gate")
    assert outputs["gate"] == "success", ended.log
    assert outputs["conclusion"] == "passed"
    assert not outputs.get("artifact-url")
    assert results.seen == []
    assert len(github.bodies(PULL_REQUEST)) == 1
