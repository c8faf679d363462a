"""A step of a job, with everything around it on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.action_step import Step
from tests.support.fake_github import FakeGitHub
from tests.support.fake_results_service import FakeResultsService
from tests.support.project import llm
from tests.support.scripted_server import ScriptedServer

GATES = {
    "numeric_thresholds": {"faithfulness": 3.5},
    "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(llm()) as running:
        yield running


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as running:
        yield running


@pytest.fixture
def results() -> Iterator[FakeResultsService]:
    with FakeResultsService() as running:
        yield running


@pytest.fixture
def step(tmp_path: Path, server: ScriptedServer, github: FakeGitHub) -> Step:
    """A step for a pull request of the repository itself, whose gate passes."""
    made = Step(tmp_path, server, github)
    made.project.config |= GATES
    return made
