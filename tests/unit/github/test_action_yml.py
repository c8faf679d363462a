"""action.yml, the code, the README and the contract name the same inputs and outputs, with the same defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from arksim_ci.github import inputs, outputs
from arksim_ci.github.context import read_context
from arksim_ci.github.inputs import read_inputs, variable

ROOT = Path(__file__).parents[3]
CONTRACT = ROOT.parent / "shared" / "contract.md"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def test_inputs_and_outputs_are_those_of_the_code_in_its_order() -> None:
    assert tuple(ACTION["inputs"]) == inputs.NAMES
    assert tuple(ACTION["outputs"]) == outputs.NAMES


def test_everything_is_described_and_has_its_default_spelled_out() -> None:
    for item in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert len(item["description"]) > 20
    assert all(isinstance(item.get("default"), str) for item in ACTION["inputs"].values())
    assert all(item.keys() <= {"description", "default", "required"} for item in ACTION["inputs"].values())


def test_the_defaults_of_action_yml_are_those_of_the_code() -> None:
    context = read_context({"GITHUB_WORKSPACE": "/github/workspace", "GITHUB_WORKFLOW": "Gate", "GITHUB_JOB": "test"})
    plain = {name: item["default"] for name, item in ACTION["inputs"].items() if "${{" not in item["default"]}
    given = {variable(name): default for name, default in plain.items()}
    assert read_inputs(given, context) == read_inputs({}, context)


def test_it_is_a_docker_action_with_branding() -> None:
    assert ACTION["runs"]["using"] == "docker"
    assert set(ACTION["branding"]) == {"icon", "color"}
    image = ACTION["runs"]["image"]
    assert image == "Dockerfile" or image.startswith("docker://ghcr.io/")


def table(text: str, header: str) -> dict[str, list[str]]:
    """The rows of a Markdown table by the names in their first cell."""
    body = text.split(header, 1)[1].split("\n\n", 1)[0]
    rows: dict[str, list[str]] = {}
    for line in body.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for name in re.findall(r"`([^`]+)`", cells[0]) if cells else []:
            rows[name] = cells[1:]
    return rows


@pytest.mark.skipif(not CONTRACT.exists(), reason="the contract is not beside this repository")
def test_the_contract_has_the_same_inputs_defaults_and_outputs() -> None:
    text = CONTRACT.read_text(encoding="utf-8")
    rows = table(text, "| input | default | meaning |\n")
    assert set(rows) == set(inputs.NAMES)
    for name, item in ACTION["inputs"].items():
        default = re.sub(r"^\$\{\{ (github\.event\.workflow_run\.id) \}\}$", r"\1", item["default"])
        stated = [part.strip().strip("`") for part in rows[name][0].split(",")]
        assert default in stated, name
    assert set(table(text, "| output | |\n")) == set(outputs.NAMES)


def test_the_readme_lists_every_input_with_its_default() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = table(text, "| input | default | |\n")
    assert tuple(rows) == inputs.NAMES
    for name, item in ACTION["inputs"].items():
        assert rows[name][0].strip("`") == item["default"], name


def test_the_readme_lists_every_output() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tuple(table(text, "| output | |\n")) == outputs.NAMES
