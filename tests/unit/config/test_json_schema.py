from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from arksim_ci.config.json_schema import SCHEMA_KINDS, SchemaKind, json_schema
from arksim_ci.config.model import RunConfig
from tests.unit.config.project import scenario
from tests.unit.config.test_scenarios import simulation

CASE = Path(__file__).parents[4] / "shared" / "cases" / "bank-insurance"

EVALUATION: dict[str, Any] = {
    "schema_version": "v1.1",
    "generated_at": "2026-01-01T00:00:00Z",
    "evaluator_version": "0.3.8",
    "evaluation_id": "e",
    "simulation_id": "s",
    "conversations": [],
    "unique_errors": [],
}
VERDICT: dict[str, Any] = {
    "schema_version": "v1",
    "evaluation_id": "e",
    "simulation_id": "s",
    "generated_at": "2026-01-01T00:00:00Z",
    "run": {
        "agent_name": "a",
        "command": "evaluate",
        "commit": None,
        "started_at": "2026-01-01T00:00:00Z",
        "duration_seconds": 1.5,
        "version": "1.0.0",
    },
    "status": "COMPLETED",
    "passed": None,
    "exit_code": 0,
    "score": None,
    "checks": [],
    "failures": [],
    "coverage": dict.fromkeys(
        (
            "expected_conversations",
            "simulated_conversations",
            "evaluated_conversations",
            "expected_turns",
            "evaluated_turns",
            "expected_metric_values",
            "evaluated_metric_values",
        ),
        0,
    ),
    "attempts": {"test_cases": 0, "attempts": 0, "silent_attempts": 0, "retries": 0, "still_silent": 0},
    "judge": {"provider": "offline", "model": "m", "judge_mode": "combined", "prompts_hash": "h"},
    "usage": {},
    "warnings": [],
}
RECOMMENDATION = {"unique_error_id": "u", "module_fixes": [], "best_module_fix": "", "best_module_fix_reasoning": ""}

GOOD: dict[SchemaKind, Any] = {
    "config": {"max_turns": 3, "provider": "claude", "model": None, "min_pass_rate": {"clarity": 0.5}},
    "scenarios": {
        "schema_version": "v1",
        "scenarios": [scenario(origin={"x": 1}, knowledge=[{"content": "", "metadata": 1}])],
    },
    "simulation": simulation("refund"),
    "evaluation": {**EVALUATION, "added_by_another_tool": 1},
    "verdict": VERDICT,
    "recommendations": {"recommendations": [RECOMMENDATION]},
}
BAD: dict[SchemaKind, list[Any]] = {
    "config": [{"max_turn": 3}, {"max_turns": 0}, {"min_coverage": 2}, {"run_timeout_seconds": 0}, {"provider": "x"}],
    "scenarios": [
        {"schema_version": "v1", "scenarios": []},
        {"schema_version": "v1", "scenarios": [scenario(assertion=[])]},
        {"schema_version": "v1", "scenarios": [scenario(scenario_id="x" * 1001)]},
    ],
    "simulation": [{"schema_version": "v1"}],
    "evaluation": [{**EVALUATION, "unique_errors": None}],
    "verdict": [{**VERDICT, "exit_code": 2}, {**VERDICT, "failures": [{"type": "OTHER"}]}],
    "recommendations": [{"recommendations": [{}]}],
}


def validator(kind: SchemaKind) -> Draft202012Validator:
    return Draft202012Validator(json_schema(kind))


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_each_schema_is_valid_and_tells_good_files_from_bad_ones(kind: SchemaKind) -> None:
    Draft202012Validator.check_schema(json_schema(kind))
    validator(kind).validate(GOOD[kind])
    for bad in BAD[kind]:
        assert not validator(kind).is_valid(bad)


def test_only_known_words_stand_in_the_schemas() -> None:
    text = json.dumps([json_schema(kind) for kind in SCHEMA_KINDS])
    assert not any(f'"{word}":' in text for word in ("gt", "ge", "lt", "le"))


def test_every_config_key_is_described_and_has_its_default() -> None:
    properties = json_schema("config")["properties"]
    assert list(properties) == list(RunConfig.model_fields)
    assert all(value.get("description") for value in properties.values())
    assert properties["max_turns"]["default"] == 5
    assert properties["output_dir"]["default"] == "results/evaluation"


def test_the_real_projects_files() -> None:
    if not CASE.is_dir():
        pytest.skip("the shared folder with the real project's files is not here")
    validator("config").validate(yaml.safe_load((CASE / "config.yaml").read_text(encoding="utf-8")))
    validator("scenarios").validate(json.loads((CASE / "scenarios.json").read_text(encoding="utf-8")))
