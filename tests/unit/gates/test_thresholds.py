from __future__ import annotations

import math

import pytest

from arksim_ci.gates.verdict import decide
from arksim_ci.schema.expectation import ExpectedMetric, NotMeasured
from tests.unit.gates.builders import (
    BUILTIN,
    GOAL,
    LABELS,
    TURN_NUMBERS,
    check_of,
    evaluation,
    expectation,
    held,
    judged,
    turn,
    types,
)

CLARITY = ExpectedMetric(name="clarity", kind="numeric", scope="turn", scale=(0, 10))
SUITABILITY = ExpectedMetric(name="suitability", kind="numeric", scope="conversation", scale=(0, 5))
NO_SCALE = ExpectedMetric(name="latency", kind="numeric", scope="turn")


def test_the_mean_over_the_turns_of_a_conversation_is_held_to_the_threshold() -> None:
    good = judged("c", [turn(0, faithfulness=2), turn(1, faithfulness=5)])
    assert decide(evaluation(good), expectation(held("c", 2), thresholds={"faithfulness": 3.5})).exit_code == 0
    verdict = decide(evaluation(good), expectation(held("c", 2), thresholds={"faithfulness": 3.6}))
    assert verdict.exit_code == 1
    (failing,) = check_of(verdict, "faithfulness").failing
    assert (failing.conversation_id, failing.scenario_id, failing.turn_id, failing.value) == ("c", "s-c", None, 3.5)


def test_a_bad_conversation_is_not_averaged_away_by_good_ones() -> None:
    verdict = decide(
        evaluation(judged("bad", [turn(faithfulness=1)]), *(judged(f"c{i}") for i in range(9))),
        expectation(held("bad"), *(held(f"c{i}") for i in range(9)), thresholds={"faithfulness": 3}),
    )
    assert verdict.exit_code == 1
    (failure,) = verdict.failures
    assert failure.model_dump() == {
        "type": "METRIC_BELOW_MIN_PASS_RATE",
        "metric": "faithfulness",
        "threshold": 3.0,
        "pass_rate": 0.9,
        "min_pass_rate": 1.0,
        "inherited": True,
    }


@pytest.mark.parametrize(("value", "code"), [(0.8, 0), (0.79, 1), (-1.0, 3), (5.0, 3), (math.nan, 3)])
def test_goal_completion_is_compared_directly(value: float, code: int) -> None:
    verdict = decide(evaluation(judged("c", goal=value)), expectation(held("c"), thresholds={"goal_completion": 0.8}))
    assert verdict.exit_code == code


@pytest.mark.parametrize(("value", "code"), [(0.7, 0), (0.69, 1), (-1.0, 3), (2.0, 3)])
def test_overall_score_is_compared_directly(value: float, code: int) -> None:
    verdict = decide(evaluation(judged("c", overall=value)), expectation(held("c"), thresholds={"overall_score": 0.7}))
    assert verdict.exit_code == code


@pytest.mark.parametrize(
    "spoiled",
    [judged("c", [turn(label="evaluation_run_failed")]), judged("c", goal=-1)],
    ids=["a label", "goal completion"],
)
def test_overall_score_is_not_measured_where_a_part_of_it_is_not(spoiled: object) -> None:
    verdict = decide(evaluation(spoiled), expectation(held("c"), thresholds={"overall_score": 0.1}))  # type: ignore[arg-type]
    assert verdict.exit_code == 3
    assert "METRIC_NOT_EVALUATED" in types(verdict)


def test_overall_score_without_goal_completion_among_the_metrics() -> None:
    expected = expectation(held("c"), metrics=[LABELS], thresholds={"overall_score": 0.7})
    assert decide(evaluation(judged("c", goal=-1, overall=0.7)), expected).exit_code == 0


def test_rounding_of_floating_point_numbers_fails_nobody() -> None:
    overall = 0.75 * (3 / 5) + 0.25 * 0.2
    assert overall < 0.5, "half by the formula, a little less in binary"
    verdict = decide(
        evaluation(judged("c", overall=overall)), expectation(held("c"), thresholds={"overall_score": 0.5})
    )
    assert verdict.exit_code == 0


@pytest.mark.parametrize(("value", "code"), [(7, 0), (6, 1), (11, 3), (-0.5, 3)])
def test_a_custom_turn_metric_has_its_own_scale(value: float, code: int) -> None:
    verdict = decide(
        evaluation(judged("c", [turn(clarity=value)])),
        expectation(held("c"), metrics=[*BUILTIN, CLARITY], thresholds={"clarity": 7}),
    )
    assert verdict.exit_code == code


@pytest.mark.parametrize(("value", "code"), [(4, 0), (3, 1), (6, 3)])
def test_a_custom_conversation_metric_is_compared_directly(value: float, code: int) -> None:
    verdict = decide(
        evaluation(judged("c", scores={"suitability": value})),
        expectation(held("c"), metrics=[SUITABILITY], thresholds={"suitability": 4}),
    )
    assert verdict.exit_code == code


def test_minus_one_is_no_value_on_any_scale() -> None:
    metric = ExpectedMetric(name="mood", kind="numeric", scope="turn", scale=(-5, 5))
    verdict = decide(
        evaluation(judged("c", [turn(mood=-1)])), expectation(held("c"), metrics=[metric], thresholds={"mood": -3})
    )
    assert verdict.exit_code == 3


@pytest.mark.parametrize("spoiled", [0.0, 6.0, -1.0, math.nan, math.inf])
def test_a_score_out_of_scale_is_not_measured(spoiled: float) -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0), turn(1, faithfulness=spoiled)])),
        expectation(held("c", 2), thresholds={"faithfulness": 3}),
    )
    assert verdict.exit_code == 3
    assert "METRIC_NOT_EVALUATED" in types(verdict)
    assert check_of(verdict, "faithfulness").passed is None


def test_a_conversation_fails_where_even_the_best_missing_turn_could_not_save_it() -> None:
    partly = judged("c", [turn(0, faithfulness=1), turn(1, without=["faithfulness"])])
    hopeless = decide(evaluation(partly), expectation(held("c", 2), thresholds={"faithfulness": 3.1}))
    assert hopeless.exit_code == 1
    assert check_of(hopeless, "faithfulness").failing[0].value == 1.0
    open_still = decide(evaluation(partly), expectation(held("c", 2), thresholds={"faithfulness": 3.0}))
    assert open_still.exit_code == 3


def test_without_a_scale_nobody_knows_the_best_case() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0, latency=1), turn(1)])),
        expectation(held("c", 2), metrics=[NO_SCALE], thresholds={"latency": 1000}),
    )
    assert verdict.exit_code == 3


def test_enormous_scores_of_a_metric_without_a_scale_are_averaged() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(i, latency=1.7e308) for i in range(9)])),
        expectation(held("c", 9), metrics=[NO_SCALE], thresholds={"latency": 1}),
    )
    assert verdict.exit_code == 0


def test_a_threshold_on_a_metric_that_does_not_run_is_never_met() -> None:
    for metrics in ([GOAL], [GOAL, *TURN_NUMBERS, LABELS]):
        expected = expectation(held("c"), metrics=metrics, thresholds={"agent_behavior_failure": 0, "faithfullness": 0})
        verdict = decide(evaluation(judged("c")), expected)
        assert verdict.exit_code == 3
        assert types(verdict) == ["METRIC_NOT_EVALUATED"] * 2
        assert check_of(verdict, "faithfullness").evaluated_conversations == 0


def test_the_cause_is_the_one_that_the_evaluator_gave() -> None:
    gap = NotMeasured(conversation_id="c", turn_id=0, metric="faithfulness", cause="HTTP 500")
    verdict = decide(
        evaluation(judged("c", [turn(without=["faithfulness"])])),
        expectation(held("c"), thresholds={"faithfulness": 3}, not_measured=[gap]),
    )
    assert verdict.failures[-1].model_dump()["causes"] == ["HTTP 500"]


def test_the_cause_is_read_off_the_file_where_nobody_gave_one() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0, faithfulness=7), turn(1, without=["faithfulness"])])),
        expectation(held("c", 2), thresholds={"faithfulness": 3}),
    )
    assert verdict.failures[-1].model_dump()["causes"] == [
        "7 is no value of this metric",
        "it is missing from the evaluation",
    ]


def test_a_conversation_that_broke_off_is_not_measured_however_good_its_start() -> None:
    verdict = decide(
        evaluation(judged("c")),
        expectation(held("c", not_finished="provider outage"), thresholds={"faithfulness": 3, "overall_score": 0.5}),
    )
    assert verdict.exit_code == 3
    assert types(verdict) == ["INCOMPLETE_COVERAGE", "METRIC_NOT_EVALUATED", "METRIC_NOT_EVALUATED"]
    assert "provider outage" in str(verdict.failures[1])


def test_the_lowest_of_values_given_twice_counts() -> None:
    for twice in ([judged("c"), judged("c", [turn(faithfulness=1)])], [judged("c", [turn(), turn(faithfulness=1)])]):
        verdict = decide(evaluation(*twice), expectation(held("c"), thresholds={"faithfulness": 3}))
        assert verdict.exit_code == 1
        assert any("twice" in warning for warning in verdict.warnings)


def test_what_is_given_twice_is_measured_only_where_both_are_values() -> None:
    for other in (9.0, math.nan, -1.0):
        verdict = decide(
            evaluation(judged("c"), judged("c", [turn(faithfulness=other)])),
            expectation(held("c"), thresholds={"faithfulness": 3}),
        )
        assert verdict.exit_code == 3
