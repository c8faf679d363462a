"""Real workflow files with `uses: ./`, run by act: the repository's own dogfood workflow, then a rerun of what failed."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.act_runner import Act
from tests.support.docker import Docker
from tests.support.docker_action import EVENT, PULL_REQUEST
from tests.support.fake_github import FakeGitHub
from tests.support.tools import ROOT, missing

pytestmark = pytest.mark.timeout(900)

CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"


@pytest.fixture
def github(gateway: str) -> Iterator[FakeGitHub]:
    with FakeGitHub(host=gateway) as github:
        yield github


@pytest.fixture
def act(containers: Docker, tmp_path: Path, gateway: str, github: FakeGitHub) -> Act:
    if not shutil.which("git"):
        missing("git is not installed; act needs it")
    return Act(containers, tmp_path, gateway, github)


def rerun(focus_file: str) -> str:
    """A workflow that reruns a focus file against the repaired agent."""
    inputs = {
        "config": "examples/support-agent/config.yaml",
        "scenarios": focus_file,
        "agent-command": "python examples/support-agent/agent.py --fixed",
        "artifact-name": "rerun",
    }
    steps = [{"uses": CHECKOUT}, {"id": "gate", "uses": "./", "with": inputs}]
    return yaml.safe_dump({"on": "workflow_dispatch", "jobs": {"rerun": {"runs-on": "ubuntu-latest", "steps": steps}}})


def test_the_dogfood_workflow_and_a_rerun_of_its_focus_file(act: Act, github: FakeGitHub) -> None:
    dogfood = (ROOT / ".github" / "workflows" / "dogfood.yml").read_text(encoding="utf-8")
    gate = act.run("dogfood.yml", dogfood, "pull_request", EVENT)

    assert gate.code == 0, gate.log
    assert gate.results() == {"faults": "success", "repaired": "success"}
    outputs = gate.outputs("faults")
    assert (outputs["exit-code"], outputs["conclusion"], outputs["passed"]) == ("1", "failed", "false")
    assert outputs["artifact-url"].startswith("https://github.com/org/shop/actions/runs/1/artifacts/")
    assert gate.outputs("repaired")["exit-code"] == "0"
    assert "15 business days" in gate.summary("faults")
    (comment,) = github.bodies(PULL_REQUEST)
    assert "15 business days" in comment
    with zipfile.ZipFile(gate.artifact("dogfood-faults-evaluation")) as archive:
        assert archive.testzip() is None
        assert {"verdict.json", "evaluation.json", "simulation.json", "agent.log"} <= set(archive.namelist())
    with zipfile.ZipFile(gate.artifact("dogfood-faults-focus")) as archive:
        archive.extractall(act.repository / "focus")

    again = act.run("rerun.yml", rerun("focus/all_failures.json"), "workflow_dispatch", {})

    assert again.code == 0, again.log
    outputs = again.outputs("rerun")
    assert outputs["conclusion"] == "passed"
    assert 0 < int(outputs["conversations"]) < int(gate.outputs("faults")["conversations"])
