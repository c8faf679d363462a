from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.load import Overrides, parse_overrides
from arksim_ci.config.rules import LoadCommand
from arksim_ci.config.run_inputs import RunInputs, load_run_inputs
from tests.unit.config.project import ENVIRONMENT, scenario, write
from tests.unit.config.test_scenarios import simulation


def load_all(
    config: Path, *argv: str, command: LoadCommand = "simulate-evaluate", environment: dict[str, str] | None = None
) -> RunInputs:
    overrides = [Overrides(parse_overrides(argv), "the command line", config.parent)]
    variables = ENVIRONMENT if environment is None else environment
    return load_run_inputs(config, overrides, environment=variables, command=command)


def test_everything_that_a_run_starts_from(tmp_path: Path) -> None:
    found = load_all(write(tmp_path))
    assert [item.scenario_id for item in found.scenarios.scenarios] == ["refund"]
    assert found.provider.api_key_variable == "OPENAI_API_KEY"
    assert found.simulation is None
    assert "sk-0123456789" not in repr(found)


def test_the_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    config = write(tmp_path, "max_turns: 0\n", scenarios=[scenario(assertion=[])])
    with pytest.raises(ConfigError) as caught:
        load_all(config, environment={})
    lines = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert [line.split(": ")[0] for line in lines[:2]] == ["config.yaml:9", "scenarios.json:11"]
    assert "there is no key for the provider openai" in lines[2]
    assert len(lines) == 3


def test_a_wrong_provider_is_not_asked_for_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_all(write(tmp_path, "provider: opnai\n"), environment={})
    assert len(caught.value.problems) == 1


def test_a_simulation_is_loaded_and_matched_for_evaluate(tmp_path: Path) -> None:
    config = write(
        tmp_path, "simulation_file_path: simulation-1.json\n", scenarios=[scenario(), scenario(scenario_id="b")]
    )
    (tmp_path / "simulation-1.json").write_text(json.dumps(simulation("refund")), encoding="utf-8")
    found = load_all(config, command="evaluate")
    assert found.simulation and len(found.simulation.conversations) == 1
    assert found.warnings == ('scenario "b" has no conversation in the simulation file',)
    (tmp_path / "simulation-1.json").write_text(json.dumps(simulation("gone")), encoding="utf-8")
    with pytest.raises(ConfigError, match='scenario "gone" is not in the scenario file'):
        load_all(config, command="evaluate")
