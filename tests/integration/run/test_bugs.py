"""A bug of ours: the run ends as FAILED, nothing that is finished is lost, and the next start goes on from there."""

from __future__ import annotations

import asyncio
import itertools
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from arksim_ci.agents.agent import Agent, AgentAnswer
from arksim_ci.pipeline import measuring
from arksim_ci.pipeline.guard import RedactedConnection
from arksim_ci.pipeline.preparation import prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.run import RunResult, run
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.schema.scenario import Scenario
from tests.support.project import Project, scenario
from tests.unit.pipeline.test_conversations import Silent

NUMBERS = itertools.count()


class Host:
    """Nobody has Python of their own here."""

    async def start(self) -> None: ...
    async def load_metrics(self, paths: Any) -> list[Any]:
        return []

    async def load_agent(self, module_path: Any, class_name: str | None = None) -> str:
        return ""


class Clerk:
    """Answers, or runs into a bug where the user's scenario is the broken one."""

    def __init__(self, *, broken: bool) -> None:
        self._broken = broken
        self.opened: list[str] = []

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        self.opened.append(scenario.scenario_id)
        return _Clerk(self._broken and scenario.scenario_id == "broken")

    async def close(self) -> None:
        raise OSError("the connection is gone already")


class _Clerk:
    def __init__(self, broken: bool) -> None:
        self._broken = broken

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        if self._broken and turn_id == 1:
            raise ZeroDivisionError("division by zero")
        return AgentAnswer("Within 30 days.")

    async def close(self) -> None: ...


async def run_here(project: Project, *, resume: bool = True) -> RunResult:
    host: Any = Host()
    plan = await prepare(project.write(), [], "simulate-evaluate", {}, lambda config: host)
    around = Surroundings(
        environment={},
        progress=Silent(),
        now=lambda: datetime.now(UTC),
        monotonic=time.monotonic,
        sleep=asyncio.sleep,
        new_id=lambda: f"id{next(NUMBERS)}",
        commit=None,
        stop=asyncio.Event(),
    )
    return await run(plan, around, host, LLMRelay(), resume=resume)


@pytest.mark.parametrize("resume", [True, False])
async def test_a_bug_in_one_conversation(project: Project, monkeypatch: pytest.MonkeyPatch, resume: bool) -> None:
    project.scenarios = [scenario("fine"), scenario("broken"), scenario("good")]
    project.config["num_conversations_per_scenario"] = 1
    clerk = Clerk(broken=True)
    monkeypatch.setattr(measuring, "agent_of", lambda plan, host, around, redact: RedactedConnection(clerk, redact))
    result = await run_here(project)
    verdict, conversations = result.results.verdict, result.results.simulation.conversations
    assert result.exit_code == 3
    assert verdict.status == "FAILED"
    assert verdict.failures[0].type == "RUN_NOT_COMPLETED"
    assert [len(each.turns()) for each in conversations] == [2, 1, 2]
    assert conversations[1].not_finished == "internal error: ZeroDivisionError: division by zero"
    assert result.results.evaluation is not None
    states = [each.evaluation_status for each in result.results.evaluation.conversations]
    assert states == ["Done", "Evaluation Failed", "Done"]

    mended = Clerk(broken=False)
    monkeypatch.setattr(measuring, "agent_of", lambda plan, host, around, redact: RedactedConnection(mended, redact))
    again = await run_here(project, resume=resume)
    assert again.exit_code == 0
    assert mended.opened == (["broken"] if resume else ["fine", "broken", "good"])
    assert (again.results.verdict.simulation_id == verdict.simulation_id) is resume


async def test_a_bug_in_a_report(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> dict[str, str]:
        raise KeyError("template")

    monkeypatch.setattr("arksim_ci.reports.write.render_all", broken)
    result = await run_here(project)
    assert result.exit_code == 3
    assert result.trouble == ("internal error: KeyError: 'template'",)
    assert {"verdict.json", "evaluation.json", "simulation.json"} <= {path.name for path in result.files}
    monkeypatch.undo()
    again = await run_here(project)
    assert again.exit_code == 0
    assert again.results.verdict.simulation_id == result.results.verdict.simulation_id
    assert again.results.verdict.usage.judge.calls == 0
