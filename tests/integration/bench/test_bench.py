"""The benchmark measures what it says: its smallest size, and no times."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench import load, measure, project, table
from bench.measure import Run
from bench.venvs import Tool
from tests.support.tools import missing

OURS = Tool("arksim-ci", (sys.executable, "-m", "arksim_ci"))
PEER = os.environ.get("ARKSIM_PEER_PYTHON", "")
QUICK = ("--llm-seconds=0.02", "--agent-seconds=0.02", "--jitter=0.5")
CONVERSATIONS = 10


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Run, Path]]:
    """One run of each tool that is there."""
    tools = [Tool("arksim", (str(Path(PEER).parent / "arksim"),))] if PEER else []
    folders = [tmp_path_factory.mktemp("bench") / tool.name for tool in [*tools, OURS]]
    with measure.mock_server(*QUICK) as server:
        return [
            (measure.run(tool, CONVERSATIONS, server, folder), folder)
            for tool, folder in zip([*tools, OURS], folders, strict=True)
        ]


def ours(runs: list[tuple[Run, Path]]) -> Run:
    return runs[-1][0]


def failures(folder: Path) -> Counter[str]:
    evaluation: Any = project.evaluation(folder)
    return Counter(
        turn["turn_behavior_failure"] for each in evaluation["conversations"] for turn in each["turn_scores"]
    )


def test_a_turn_costs_one_judgement_and_one_message(runs: list[tuple[Run, Path]]) -> None:
    run = ours(runs)
    assert run.calls("judge") == CONVERSATIONS * 5 + CONVERSATIONS
    assert run.calls("simulated_user") == CONVERSATIONS * 5
    assert run.stats["conversations"] == CONVERSATIONS
    assert 1 <= run.stats["most_llm_in_flight"] <= project.WORKERS


def test_most_of_what_is_sent_was_sent_before(runs: list[tuple[Run, Path]]) -> None:
    run = ours(runs)
    assert run.tokens("cached_tokens") / run.tokens("prompt_tokens") >= 0.7


def test_both_tools_see_the_same_failures_and_we_ask_less(runs: list[tuple[Run, Path]]) -> None:
    if not PEER:
        missing("ARKSIM_PEER_PYTHON does not name the Python of a venv with arksim 0.3.8")
    (theirs, their_folder), (run, our_folder) = runs
    found, expected = failures(their_folder), failures(our_folder)
    for label in ("no failure", "skipped_good_performance"):
        del found[label], expected[label]
    assert found == expected != Counter()
    assert run.calls("judge") <= theirs.calls("judge") / 4
    assert run.tokens("prompt_tokens") < theirs.tokens("prompt_tokens")


def test_the_table_has_a_row_for_each_tool_and_their_ratio(runs: list[tuple[Run, Path]]) -> None:
    measured = [run for run, _ in runs]
    lines = table.table(measured).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert len(lines) == (5 if PEER else 3)


def test_no_tool_can_be_faster_than_the_lower_bound(runs: list[tuple[Run, Path]]) -> None:
    measured = [run for run, _ in runs]
    assert all(run.wall >= table.lower_bound(measured) for run in measured)


def test_a_tool_that_did_not_finish_is_not_measured(tmp_path: Path) -> None:
    broken = Tool("broken", (sys.executable, "-c", "pass"))
    with measure.mock_server(*QUICK) as server, pytest.raises(RuntimeError, match="judged 0 of 25 turns"):
        measure.run(broken, 5, server, tmp_path / "broken")


async def test_the_server_answers_every_call_of_the_load() -> None:
    with measure.mock_server("--llm-seconds=0") as server:
        assert await load.calls_per_second(server, 500) > 0
        stats = await asyncio.to_thread(measure.fetch, f"{server}/stats")
    assert stats["roles"]["judge"]["calls"] == 500
