"""Holds the golden runs: real configurations, scripted words, and nothing that differs from one day to the next."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from arksim_ci.pipeline.preparation import prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.run import run
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.process import Guest
from arksim_ci.reports.context import CommentContext
from tests.integration.golden.plays import BANK, SUPPORT_AGENT, Play, bank_agent, llm_of
from tests.support.fast_run import Recorded
from tests.support.project import ROOT
from tests.support.scripted_server import ScriptedServer

BANK_CASE = ROOT.parent / "shared" / "cases" / "bank-insurance"
SAMPLE = ROOT / "examples" / "support-agent"
MOMENT = datetime(2026, 8, 3, 12, 0, tzinfo=UTC)
COMMIT = "4f2c81d09ab37e55c1d0b6f7a8e92d3344556677"


@dataclass(frozen=True)
class Golden:
    """A run that is recorded: the project, what is said in it, and settings that differ from the project's own."""

    name: str
    project: Path
    play: Play
    settings: dict[str, Any]


RUNS = (
    Golden("support-agent", SAMPLE, SUPPORT_AGENT, {"max_turns": 3}),
    Golden("bank-insurance", BANK_CASE, BANK, {"max_turns": 2}),
)


async def record(golden: Golden, folder: Path) -> Path:
    """Hold the run in a copy of its project.

    Returns:
        The output folder.
    """
    project = folder / golden.name
    shutil.copytree(golden.project, project)
    with ScriptedServer(llm_of(golden.play)) as server, _agent(golden, server) as endpoint:
        config = yaml.safe_load((project / "config.yaml").read_text(encoding="utf-8"))
        config["agent_config"]["api_config"]["endpoint"] = endpoint
        config |= {
            "provider": "openai_compatible",
            "model": "scripted-1",
            "base_url": server.base_url,
            "num_workers": 1,
        }
        config |= golden.settings
        (project / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        variables = {"OPENAI_API_KEY": "sk-golden-0123456789"}
        relay = LLMRelay()
        async with Guest(relay, lambda text: None) as guest:
            plan = await prepare(project / "config.yaml", [], "simulate-evaluate", variables, guest.host)
            context = CommentContext(config_path="config.yaml", scenario_path="scenarios.json")
            await run(plan, _surroundings(variables), guest.host(plan.config), relay, context=context)
            return plan.config.output_dir


def _surroundings(variables: dict[str, str]) -> Surroundings:
    return Surroundings(
        environment=variables,
        progress=Recorded(),
        now=lambda: MOMENT,
        monotonic=itertools.chain([0.0], itertools.repeat(83.0)).__next__,
        sleep=asyncio.sleep,
        new_id=_counted(),
        commit=COMMIT,
        stop=asyncio.Event(),
    )


def _counted() -> Callable[[], str]:
    numbers = iter(range(1, 1_000_000))
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012}"


@contextmanager
def _agent(golden: Golden, server: ScriptedServer) -> Iterator[str]:
    """The address of the agent under test: the sample agent itself, or the bank's scripted one."""
    if golden.project != SAMPLE:
        server.agent = bank_agent
        yield server.agent_url
        return
    command = [sys.executable, "-u", str(SAMPLE / "agent.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()
