"""What the action makes of results: the step's exit code, redaction before rendering, lines of scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.action.results import exit_code_of_step, redacted, scenario_lines
from arksim_ci.redaction import redactor
from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
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


def test_a_secret_that_escapes_would_hide_is_replaced_before_it_is_rendered() -> None:
    secret = "sk_live_*0123*_<key>"
    results = redacted(samples.hostile(f"the key is {secret}!"), redactor([secret]))
    text = render_comment(results, CommentContext())
    assert "0123" not in text


@pytest.mark.parametrize("word", ["COMPLETED", "conversation_id", "simulated_user"])
def test_a_secret_that_is_a_word_of_the_format_breaks_nothing(word: str) -> None:
    results = samples.gate_failed()
    assert redacted(results, redactor([word])).verdict.exit_code == 1


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
