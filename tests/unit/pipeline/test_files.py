"""What is written of a run: secrets replaced before anything is rendered, and numbers that are some."""

from __future__ import annotations

import json

import pytest

from arksim_ci.pipeline.files import as_json, redacted
from arksim_ci.redaction import redactor
from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
from tests.support import samples


def test_a_secret_that_escapes_would_hide_is_replaced_before_it_is_rendered() -> None:
    secret = "sk_live_*0123*_<key>"
    results = redacted(samples.hostile(f"the key is {secret}!"), redactor([secret]))
    text = render_comment(results, CommentContext())
    assert "0123" not in text


@pytest.mark.parametrize("word", ["COMPLETED", "conversation_id", "simulated_user"])
def test_a_secret_that_is_a_word_of_the_format_breaks_nothing(word: str) -> None:
    results = samples.gate_failed()
    assert redacted(results, redactor([word])).verdict.exit_code == 1


def test_the_results_are_not_copied_where_no_secret_stands_in_them() -> None:
    results = samples.gate_failed()
    assert redacted(results, redactor(["sk-not-in-it-0123"])).simulation is results.simulation


def test_a_file_is_json_with_the_text_as_it_was() -> None:
    verdict = samples.gate_failed().verdict
    said = verdict.model_copy(update={"warnings": ["NaN and Infinity are words here", "caf\u00e9 \u2028 \ud800 \x01"]})
    written = json.loads(as_json(said, str))
    assert written["warnings"] == ["NaN and Infinity are words here", "caf\u00e9 \u2028 ? \x01"]
    assert written == {**json.loads(as_json(verdict, str)), "warnings": written["warnings"]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_refused(number: float) -> None:
    verdict = samples.gate_failed().verdict
    broken = verdict.model_copy(update={"run": verdict.run.model_copy(update={"duration_seconds": number})})
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json(broken, str)
