"""A whole run with a custom agent, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "custom-agent"


def run(config: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """Run `simulate-evaluate`; returns the exit code, verdict.json and what was printed."""
    folder = config.parent / "out"
    paths = ["--output_dir", str(folder), "--output_file_path", str(folder / "simulation.json")]
    command = [sys.executable, "-m", "arksim_ci", "simulate-evaluate", str(config), *paths, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    verdict = folder / "verdict.json"
    return done.returncode, json.loads(verdict.read_text()) if verdict.exists() else {}, done.stdout + done.stderr


def project(folder: Path, agent: str) -> Path:
    config = folder / "config.yaml"
    config.write_text(
        (EXAMPLE / "config.yaml").read_text(encoding="utf-8").replace("shop_agent", "my_agent"), encoding="utf-8"
    )
    scenarios = json.loads((EXAMPLE / "scenarios.json").read_text(encoding="utf-8"))
    for scenario in scenarios["scenarios"]:
        scenario["assertions"] = []
    (folder / "scenarios.json").write_text(json.dumps(scenarios), encoding="utf-8")
    (folder / "my_agent.py").write_text(agent, encoding="utf-8")
    return config


def test_the_example_passes(tmp_path: Path) -> None:
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    code, verdict, printed = run(tmp_path / "config.yaml")
    assert (code, verdict["passed"]) == (0, True), printed
    assert [(check["kind"], check["evaluated_conversations"]) for check in verdict["checks"]] == [("assertion", 3)]


def test_metrics_of_all_four_kinds_judge_the_example(tmp_path: Path) -> None:
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    labels = ["--qualitative_failure_labels.tool_use", "spoke", "--qualitative_failure_labels.stays_in_role", "no"]
    thresholds = ["--numeric_thresholds.names_the_order", "1", "--numeric_thresholds.brevity", "4"]
    metrics = ["--custom_metrics_file_paths", str(tmp_path / "metrics.py")]
    code, verdict, printed = run(tmp_path / "config.yaml", *metrics, *thresholds, *labels)
    assert code == 0, printed
    passed = {check["name"]: check["passed_conversations"] for check in verdict["checks"]}
    assert passed == dict.fromkeys(["names_the_order", "brevity", "tool_use", "stays_in_role", "assertions"], 3)
    evaluation = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    for conversation in evaluation["conversations"]:
        assert [score["name"] for score in conversation["convo_scores"]] == ["brevity"]
        assert [label["value"] for label in conversation["convo_qual_scores"]] == ["yes"]
        for turn in conversation["turn_scores"]:
            assert {"names_the_order": 1.0}.items() <= {
                score["name"]: score["value"] for score in turn["scores"]
            }.items()
            assert {"tool_use"} <= {label["name"] for label in turn["qual_scores"]}


SILENT_ONCE = """
from arksim.simulation_engine.agent.base import BaseAgent
class Silent(BaseAgent):
    async def get_chat_id(self): return "x"
    async def execute(self, user_query, **kwargs):
        if "ORD-1002" in kwargs["metadata"]["user_goal"]:
            return None
        return "Order ORD-1001 is for the Wireless Headphones; its status is shipped."
"""


@pytest.mark.parametrize(("tolerated", "expected"), [("0", 1), ("0.5", 0)])
def test_row_16_a_conversation_that_got_none_is_silent_and_the_rest_is_kept(
    tmp_path: Path, tolerated: str, expected: int
) -> None:
    config = project(tmp_path, SILENT_ONCE)
    backoff = ["--no_response_retry_backoff_seconds", "0"]
    code, verdict, printed = run(config, "--max_never_spoke_share", tolerated, *backoff)
    assert code == expected, printed
    conversations = json.loads((tmp_path / "out" / "simulation.json").read_text())["conversations"]
    silent = [item for item in conversations if item.get("agent_silence")]
    assert len(conversations) == 3
    assert [item["scenario_id"] for item in silent] == ["cancel-order"]
    assert silent[0]["agent_silence"]["kind"] == "never_spoke"
    assert "execute() returned NoneType" in silent[0]["agent_silence"]["cause"]
    assert verdict["coverage"]["evaluated_conversations"] == 2
    assert [failure["type"] for failure in verdict["failures"]] == (["AGENT_NEVER_SPOKE"] if expected else [])


def test_an_agent_that_cannot_be_loaded_is_a_config_error(tmp_path: Path) -> None:
    config = project(tmp_path, "import a_package_of_nowhere\n")
    code, verdict, printed = run(config)
    assert (code, verdict) == (2, {}), printed
    assert "my_agent.py:1" in printed
    assert "`requirements`" in printed
