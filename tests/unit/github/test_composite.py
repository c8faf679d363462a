"""composite/action.yml: the same inputs and outputs as the Docker action, pinned, and nothing of the user's in a script's text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from arksim_ci.github.inputs import NAMES, OF_THE_COMPOSITE
from arksim_ci.github.outputs import NAMES as OUTPUTS

ROOT = Path(__file__).parents[3]
DOCKER: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
COMPOSITE: dict[str, Any] = yaml.safe_load((ROOT / "composite" / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = COMPOSITE["runs"]["steps"]
BY_ID = {step.get("id", "exit"): step for step in STEPS}
WHERE_IT_RUNS = {"agent-command"}
"""Inputs whose description says where the agent runs."""


def test_inputs_are_those_of_the_docker_action_and_python() -> None:
    assert tuple(COMPOSITE["inputs"]) == (*NAMES, *OF_THE_COMPOSITE)
    for name, item in DOCKER["inputs"].items():
        other = COMPOSITE["inputs"][name]
        assert other["default"] == item["default"], name
        assert other == item or name in WHERE_IT_RUNS, name
    assert COMPOSITE["inputs"]["python"]["default"] == "python3"


def test_outputs_are_those_of_the_docker_action() -> None:
    assert tuple(COMPOSITE["outputs"]) == OUTPUTS == tuple(DOCKER["outputs"])
    for name, item in DOCKER["outputs"].items():
        assert COMPOSITE["outputs"][name]["description"] == item["description"]
        assert f".outputs.{name}" in COMPOSITE["outputs"][name]["value"]


def test_name_and_branding_are_of_one_family() -> None:
    assert COMPOSITE["name"].startswith(DOCKER["name"])
    assert COMPOSITE["branding"] == DOCKER["branding"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step.get("id", "exit")))
def test_nothing_of_the_workflow_is_put_into_a_script_and_actions_are_pinned(step: dict[str, Any]) -> None:
    if "run" in step:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        # So that the user's commands and Python never see them: `INPUT_*` is kept from both.
        assert all(name.startswith("INPUT_") for name in step["env"])
    else:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_each_secret_is_in_the_environment_of_the_step_that_needs_it_alone() -> None:
    def holders(word: str) -> set[str]:
        return {name for name, step in BY_ID.items() if word in str(step.get("env", ""))}

    assert holders("toJSON(inputs)") == {"gate"}
    assert holders("github-token") == {"publish"}
    assert holders("api-key") == set()


def test_what_comes_after_the_gate_always_runs_and_the_exit_code_comes_last() -> None:
    after = list(BY_ID)[list(BY_ID).index("gate") + 1 :]
    assert after[-2:] == ["publish", "exit"]
    assert all(BY_ID[name]["if"].startswith("always()") for name in after)
    assert all(BY_ID[name]["continue-on-error"] is True for name in after[:-1])
    assert BY_ID["exit"]["if"] == "always()"
    assert "continue-on-error" not in BY_ID["exit"]
    assert "|| '3'" in BY_ID["exit"]["env"]["INPUT_EXIT_CODE"]


def test_every_step_and_output_that_is_named_is_there() -> None:
    text = (ROOT / "composite" / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"steps\.([\w-]+)\.", text)) <= set(BY_ID)
    staged = {f"{kind}{end}" for kind in ("evaluation", "focus", "report") for end in ("", "-again")}
    inner = {"hand-over", "step-exit-code", *staged}
    assert set(re.findall(r"steps\.gate\.outputs\.([\w-]+)", text)) == {*inner, *OUTPUTS} - {
        "report-url",
        "artifact-url",
        "focus-artifact-url",
    }
