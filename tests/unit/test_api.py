"""What `import arksim_ci` gives, and a configuration from Python."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import arksim_ci
from arksim_ci.user_code import metric_classes

DOCUMENTED = {
    "run_simulation",
    "run_evaluation",
    "run",
    "load_config",
    "check_numeric_thresholds",
    "check_qualitative_failure_labels",
    "decide",
    "Evaluation",
    "Simulation",
    "Verdict",
    "Recommendations",
    "Scenarios",
    "QuantitativeMetric",
    "QualitativeMetric",
    "QuantResult",
    "QualResult",
    "ScoreInput",
    "ChatMessage",
    "format_chat_history",
}


def test_every_public_name_is_there_documented_and_listed() -> None:
    assert set(arksim_ci.__all__) >= DOCUMENTED
    assert set(dir(arksim_ci)) >= set(arksim_ci.__all__)
    for name in arksim_ci.__all__:
        thing = getattr(arksim_ci, name)
        assert name == "__version__" or thing.__doc__, name


def test_type_checkers_see_the_very_names_that_are_imported_late() -> None:
    tree = ast.parse(Path(arksim_ci.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    late = {name: f"arksim_ci.{module}" for name, module in arksim_ci._HOME_OF.items()}
    assert seen == late
    assert set(arksim_ci.__all__) == {*late, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        arksim_ci.nope  # noqa: B018


def test_the_metric_classes_are_those_that_metric_files_get() -> None:
    assert arksim_ci.QuantitativeMetric is metric_classes.QuantitativeMetric
    assert arksim_ci.ScoreInput is metric_classes.ScoreInput


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LLM_PROVIDER", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps({"schema_version": "v1", "scenarios": []}))
    return path


AGENT = {
    "agent_type": "chat_completions",
    "agent_name": "a",
    "api_config": {"endpoint": "http://localhost:1", "body": {"messages": []}},
}


def test_a_mapping_is_a_configuration_whose_paths_start_here(scenarios: Path, tmp_path: Path) -> None:
    config = arksim_ci.load_config({"agent_config": AGENT, "scenario_file_path": "scenarios.json"}, max_turns=3)
    assert config.max_turns == 3
    assert config.scenario_file_path == scenarios
    assert config.output_dir == tmp_path / "results" / "evaluation"
    assert config.numeric_thresholds is None


def test_paths_of_a_file_start_from_it_and_those_of_the_arguments_from_here(scenarios: Path, tmp_path: Path) -> None:
    (tmp_path / "arksim").mkdir()
    (tmp_path / "arksim" / "config.yaml").write_text(json.dumps({"agent_config": AGENT}))
    config = arksim_ci.load_config(Path("arksim/config.yaml"), scenario_file_path=Path("scenarios.json"))
    assert config.scenario_file_path == scenarios
    assert config.output_dir == tmp_path / "arksim" / "results" / "evaluation"


def test_none_means_the_default(scenarios: Path) -> None:
    given = {"agent_config": AGENT, "scenario_file_path": str(scenarios), "max_turns": 9, "prices": None}
    assert arksim_ci.load_config(given, max_turns=None).max_turns == 5


def test_problems_name_where_a_setting_came_from(scenarios: Path) -> None:
    with pytest.raises(arksim_ci.ConfigError) as caught:
        arksim_ci.load_config({"agent_config": AGENT, "scenario_file_path": scenarios, "max_turn": 1}, min_coverage=2)
    assert sorted((problem.source, problem.key) for problem in caught.value.problems) == [
        ("the arguments", "min_coverage"),
        ("the configuration", "max_turn"),
    ]
