"""Situations in which a gate goes green by mistake elsewhere, by their row in the list of such situations."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.config.checks import gates
from arksim_ci.config.errors import ConfigError
from arksim_ci.config.scenarios import load_scenarios
from arksim_ci.schema.vocabulary import normalize_label
from tests.unit.config.project import load, problems, scenario, write


def test_row_2_a_label_matches_in_any_case(tmp_path: Path) -> None:
    text = "qualitative_failure_labels: {agent_behavior_failure: [' FALSE Information ']}\n"
    labels = gates(load(write(tmp_path, text)).config).qualitative_failure_labels["agent_behavior_failure"]
    assert normalize_label("False Information") in labels


def test_row_3_a_misspelt_key(tmp_path: Path) -> None:
    found = problems(write(tmp_path, "numeric_threshold: {faithfulness: 3}\n"))
    assert found == ['config.yaml:9: numeric_threshold: unknown key; did you mean "numeric_thresholds"?']


def test_row_4_a_threshold_on_a_misspelt_metric(tmp_path: Path) -> None:
    found = problems(write(tmp_path, "numeric_thresholds:\n  faithfullness: 3\n"))
    assert found[0].startswith(
        'config.yaml:10: numeric_thresholds.faithfullness: no metric of this name runs; did you mean "faithfulness"? Known: '
    )


def test_row_5_a_misspelt_metric_to_run(tmp_path: Path) -> None:
    found = problems(write(tmp_path, "metrics_to_run: [faithfullness]\n"))
    assert 'metrics_to_run[0]: there is no metric "faithfullness"; did you mean "faithfulness"?' in found[0]


def test_row_6_the_label_metric_alone_runs_and_gates(tmp_path: Path) -> None:
    text = """\
metrics_to_run: [agent_behavior_failure]
qualitative_failure_labels: {agent_behavior_failure: [false information]}
"""
    config = load(write(tmp_path, text)).config
    assert config.metrics_to_run == ("agent_behavior_failure",)
    assert gates(config).qualitative_failure_labels == {"agent_behavior_failure": ("false information",)}


def test_row_7_a_wrong_path_of_the_configuration(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(ConfigError, match=r'config\.yml: there is no such file; did you mean "config\.yaml"\?'):
        load(tmp_path / "config.yml")


def test_row_10_no_scenario(tmp_path: Path) -> None:
    write(tmp_path, scenarios=[])
    with pytest.raises(ConfigError, match="holds no scenario"):
        load_scenarios(tmp_path / "scenarios.json")


def test_row_14_a_misspelt_key_of_a_scenario(tmp_path: Path) -> None:
    write(tmp_path, scenarios=[scenario(assertion=[{"type": "tool_calls", "expected": []}])])
    with pytest.raises(ConfigError, match=r'"refund" assertion: unknown key; did you mean "assertions"\?'):
        load_scenarios(tmp_path / "scenarios.json")
