"""The two checks for one's own programs, without an expectation."""

from __future__ import annotations

import logging
import math

import pytest

from arksim_ci.gates.labels import check_qualitative_failure_labels
from arksim_ci.gates.thresholds import check_numeric_thresholds
from arksim_ci.schema.vocabulary import TURN_METRICS
from tests.unit.gates.builders import evaluation, judged, turn


def test_the_documented_keywords() -> None:
    output = evaluation(judged("c", [turn(clarity=4)], goal=0.7, overall=0.9))
    assert check_numeric_thresholds(output, numeric_thresholds={"clarity": 3.5, "goal_completion": 0.6})
    assert check_numeric_thresholds(evaluator_output=output, numeric_thresholds={"overall_score": 0.9})
    assert check_qualitative_failure_labels(
        evaluator_output=output, qualitative_failure_labels={"agent_behavior_failure": ["false information"]}
    )


def test_no_gate_checks_nothing() -> None:
    for output in (evaluation(), evaluation(judged("c"))):
        assert check_numeric_thresholds(output, None)
        assert check_numeric_thresholds(output, {})
        assert check_qualitative_failure_labels(output, None)
        assert check_qualitative_failure_labels(output, {})


def test_nothing_evaluated_does_not_pass() -> None:
    assert not check_numeric_thresholds(evaluation(), {"faithfulness": 1})
    assert not check_qualitative_failure_labels(evaluation(), {"agent_behavior_failure": ["repetition"]})


def test_the_mean_of_each_conversation_is_held_to_the_threshold(caplog: pytest.LogCaptureFixture) -> None:
    output = evaluation(judged("a", [turn(0, faithfulness=2), turn(1, faithfulness=5)]), judged("b"))
    assert check_numeric_thresholds(output, {"faithfulness": 3.5})
    with caplog.at_level(logging.WARNING):
        assert not check_numeric_thresholds(output, {"faithfulness": 3.6})
    assert caplog.messages == ["Threshold on faithfulness: 3.5 in conversation a, below 3.6."]


@pytest.mark.parametrize("value", [-1.0, 0.0, 6.0, math.nan])
def test_a_score_that_was_not_measured_does_not_pass(value: float) -> None:
    output = evaluation(judged("a", [turn(0), turn(1, faithfulness=value)]))
    assert not check_numeric_thresholds(output, {"faithfulness": 0})


def test_a_metric_missing_on_one_turn_does_not_pass() -> None:
    output = evaluation(judged("a", [turn(0), turn(1, without=["faithfulness"])]))
    assert not check_numeric_thresholds(output, {"faithfulness": 1})


def test_a_conversation_without_turns_does_not_pass() -> None:
    assert not check_numeric_thresholds(evaluation(judged("a", [])), {"faithfulness": 1})


@pytest.mark.parametrize("name", ["goal_completion", "overall_score"])
def test_minus_one_does_not_pass_a_conversation_score(name: str) -> None:
    output = evaluation(judged("a", goal=-1, overall=-1))
    assert not check_numeric_thresholds(output, {name: -1})


def test_custom_conversation_metrics_are_compared_directly() -> None:
    output = evaluation(judged("a", [], scores={"fit": 4}), judged("b", [], scores={"fit": 3}))
    assert check_numeric_thresholds(output, {"fit": 3})
    assert not check_numeric_thresholds(output, {"fit": 3.5})
    assert not check_numeric_thresholds(evaluation(judged("a", scores={"fit": 4}), judged("b")), {"fit": 3})


def test_a_metric_that_appears_nowhere_does_not_pass(caplog: pytest.LogCaptureFixture) -> None:
    output = evaluation(judged("a"))
    with caplog.at_level(logging.WARNING):
        assert not check_numeric_thresholds(output, {"faithfullness": 1})
        assert not check_qualitative_failure_labels(output, {"statements": ["violated"]})
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("label", ["false information", " False Information "])
def test_a_forbidden_label_does_not_pass(label: str) -> None:
    output = evaluation(judged("a", [turn(0), turn(1, label=label)]))
    assert not check_qualitative_failure_labels(output, {"agent_behavior_failure": ["false information"]})
    assert check_qualitative_failure_labels(output, {"agent_behavior_failure": ["repetition"]})


def test_a_label_that_was_not_measured_does_not_pass() -> None:
    output = evaluation(judged("a", [turn(0), turn(1, label="evaluation_run_failed", without=TURN_METRICS)]))
    assert not check_qualitative_failure_labels(output, {"agent_behavior_failure": ["repetition"]})


@pytest.mark.parametrize("gate", ["agent_behavior_failure", "tool_call_behavior_failure"])
def test_labels_of_tool_calls(gate: str) -> None:
    output = evaluation(judged("a", [turn(0), turn(1, tool_label="unsafe action")]))
    assert not check_qualitative_failure_labels(output, {gate: ["unsafe action"]})
    assert check_qualitative_failure_labels(output, {gate: ["unsafe state"]})


def test_turns_without_a_custom_metric_are_skipped() -> None:
    output = evaluation(judged("a", [turn(0), turn(1, custom_labels={"statements": "ok"})]))
    assert check_qualitative_failure_labels(output, {"statements": ["violated"]})
    assert not check_qualitative_failure_labels(output, {"statements": ["OK"]})


def test_custom_labels_of_conversations() -> None:
    output = evaluation(judged("a", labels={"needs": "missing"}))
    assert not check_qualitative_failure_labels(output, {"needs": ["missing"]})
    assert check_qualitative_failure_labels(output, {"needs": ["partial"]})
