"""One step of a job with hostile text from every side, which all tests here look at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import hostile_run
from tests.support.action_step import Ended, Step
from tests.support.fake_github import FakeGitHub
from tests.support.scripted_server import Request, ScriptedServer


@dataclass(frozen=True)
class Hostile:
    """What the step left behind."""

    ended: Ended
    comments: list[str]
    asked: list[Request]

    @property
    def folder(self) -> Path:
        return self.ended.workspace / "results" / "evaluation"

    def text(self, name: str) -> str:
        """A file of the output folder, byte for byte as UTF-8."""
        return (self.folder / name).read_bytes().decode("utf-8")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    with ScriptedServer(hostile_run.llm, hostile_run.agent) as server, FakeGitHub() as github:
        step = Step(tmp_path_factory.mktemp("hostile"), server, github)
        step.project.scenarios = hostile_run.scenarios()
        step.project.config |= {"num_conversations_per_scenario": 1, "max_turns": 2, "max_recommendations": 100}
        step.project.config["qualitative_failure_labels"] = {"agent_behavior_failure": [hostile_run.FAKE_LABEL]}
        step.project.config["numeric_thresholds"] = {"faithfulness": 3.5}
        step.project.config["agent_config"]["agent_name"] = hostile_run.AGENT_NAME
        ended = asyncio.run(step.run())
        yield Hostile(ended, github.bodies(), server.requests["llm"])
