"""What the action makes of results: the step's exit code, lines of scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.action.results import exit_code_of_step, scenario_lines
from tests.support import samples


@pytest.mark.parametrize("code", [0, 2, 3])
def test_fail_on_gate_false_changes_nothing_but_1(code: int) -> None:
    verdict = samples.gate_failed().verdict
    assert exit_code_of_step(verdict, code, fail_on_gate=False) == code


def test_fail_on_gate_false_turns_1_into_0_only_where_the_run_was_complete() -> None:
    verdict = samples.gate_failed().verdict
    assert exit_code_of_step(verdict, 1, fail_on_gate=True) == 1
    assert exit_code_of_step(verdict, 1, fail_on_gate=False) == 0
    assert exit_code_of_step(verdict, 1, fail_on_gate=False, written=False) == 3
    late = verdict.model_copy(update={"status": "TIMED_OUT"})
    assert exit_code_of_step(late, 1, fail_on_gate=False) == 3
    undecided = [verdict.checks[0].model_copy(update={"passed": None}), *verdict.checks[1:]]
    assert exit_code_of_step(verdict.model_copy(update={"checks": undecided}), 1, fail_on_gate=False) == 3


def test_the_line_of_each_scenario(tmp_path: Path) -> None:
    path = tmp_path / "scenarios.json"
    scenarios = [{"scenario_id": name, "goal": "x"} for name in ("a", "b")]
    path.write_text(json.dumps({"schema_version": "v1", "scenarios": scenarios}, indent=2))
    assert scenario_lines(path) == {"a": 5, "b": 9}


@pytest.mark.parametrize("text", ["", "[]", '{"scenarios": 3}', '{"scenarios": [1, {}]}', "[" * 5000])
def test_a_file_of_another_shape_has_no_lines(tmp_path: Path, text: str) -> None:
    (tmp_path / "scenarios.json").write_text(text)
    assert scenario_lines(tmp_path / "scenarios.json") == {}
    assert scenario_lines(tmp_path / "missing.json") == {}
    assert scenario_lines(None) == {}
