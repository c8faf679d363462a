"""The situations in which ArkSim 0.3.8 ended green by mistake, by the number of their row, over the pure decision."""

from __future__ import annotations

import pytest

from arksim_ci.gates.verdict import decide
from arksim_ci.schema.expectation import ExpectedTurn, NotMeasured
from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.vocabulary import TURN_METRICS
from tests.unit.gates.builders import (
    LABELS,
    asserts,
    call,
    evaluation,
    expectation,
    held,
    judged,
    turn,
    types,
)

WITH_TOOL = [ExpectedTurn(turn_id=0, tool_calls=(call("refund"),))]


def test_row_1_every_judge_call_fails() -> None:
    nothing = judged("c", [turn(label="evaluation_run_failed", without=TURN_METRICS)], goal=-1, overall=-1).model_copy(
        update={"turn_success_ratio": -1, "evaluation_status": "Evaluation Failed"}
    )
    gaps = [
        NotMeasured(conversation_id="c", turn_id=0, metric=metric, cause="HTTP 500 from the judge")
        for metric in ("faithfulness", "agent_behavior_failure")
    ]
    verdict = decide(
        evaluation(nothing),
        expectation(
            held("c"),
            thresholds={"faithfulness": 3, "overall_score": 0.5},
            labels={"agent_behavior_failure": ["false information"]},
            not_measured=gaps,
        ),
    )
    assert verdict.exit_code == 3
    assert types(verdict) == ["INCOMPLETE_COVERAGE", *["METRIC_NOT_EVALUATED"] * 3]
    assert verdict.failures[1].model_dump()["causes"] == ["HTTP 500 from the judge"]
    assert verdict.score is None


def test_row_2_the_judge_writes_the_label_in_another_case() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(label="False Information")])),
        expectation(held("c"), labels={"agent_behavior_failure": ["false information"]}),
    )
    assert (verdict.exit_code, types(verdict)) == (1, ["FAILURE_LABEL_FOUND"])


@pytest.mark.parametrize(("label", "code"), [("no failure", 0), ("repetition", 1), ("evaluation_run_failed", 3)])
def test_row_6_the_failure_label_alone(label: str, code: int) -> None:
    verdict = decide(
        evaluation(judged("c", [turn(label=label, without=TURN_METRICS)], goal=-1, overall=-1)),
        expectation(held("c"), metrics=[LABELS], labels={"agent_behavior_failure": ["repetition"]}),
    )
    assert verdict.exit_code == code


def test_row_8_the_agent_makes_other_calls_than_asserted() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(tool_label="no failure")])),
        expectation(held("c", WITH_TOOL, assertions=[asserts(ExpectedToolCall(name="lookup"))])),
    )
    assert (verdict.exit_code, types(verdict)) == (1, ["ASSERTION_FAILED"])


def test_row_9_every_turn_is_an_unsafe_action() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(tool_label="unsafe action")])),
        expectation(held("c", WITH_TOOL), labels={"tool_call_behavior_failure": ["unsafe action"]}),
    )
    assert (verdict.exit_code, types(verdict)) == (1, ["FAILURE_LABEL_FOUND"])


def test_row_10_no_conversation_is_left() -> None:
    verdict = decide(evaluation(), expectation(thresholds={"faithfulness": 3}))
    assert (verdict.exit_code, types(verdict)) == (3, ["INCOMPLETE_COVERAGE"])
    assert verdict.checks[0].passed is None


def test_row_11_the_label_judge_fails_on_turns_that_scored_low() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(label="evaluation_run_failed", faithfulness=1)])),
        expectation(
            held("c"), thresholds={"faithfulness": 3}, labels={"agent_behavior_failure": ["false information"]}
        ),
    )
    assert verdict.exit_code == 1
    assert types(verdict) == ["METRIC_BELOW_MIN_PASS_RATE", "METRIC_NOT_EVALUATED"]


@pytest.mark.parametrize("kind", ["never_spoke", "stopped_answering"])
def test_row_15_the_agent_fails_in_nine_of_ten_conversations(kind: str) -> None:
    verdict = decide(
        evaluation(judged("good")),
        expectation(
            held("good"),
            *(held(f"c{i}", int(kind == "stopped_answering"), silence=kind) for i in range(9)),
            thresholds={"overall_score": 0.5},
        ),
    )
    assert (verdict.exit_code, types(verdict)) == (1, ["AGENT_NEVER_SPOKE"])


def test_row_29_one_unlucky_judgement_among_many() -> None:
    judgements = evaluation(judged("unlucky", [turn(faithfulness=1)]), *(judged(f"c{i}") for i in range(19)))
    cases = [held("unlucky"), *(held(f"c{i}") for i in range(19))]
    assert decide(judgements, expectation(*cases, thresholds={"faithfulness": 3})).exit_code == 1
    tolerant = decide(judgements, expectation(*cases, thresholds={"faithfulness": 3}, min_pass_rate=0.95))
    assert (tolerant.exit_code, tolerant.passed) == (0, True)


def test_a_tolerant_gate_with_little_measured_is_not_decided() -> None:
    judgements = evaluation(judged("c0"), judged("c1"))
    cases = [held(f"c{i}") for i in range(10)]
    verdict = decide(judgements, expectation(*cases, thresholds={"faithfulness": 3}, min_pass_rate=0.5))
    assert verdict.exit_code == 3
    assert verdict.checks[0].passed is None


def test_an_unparsable_answer_on_a_metric_that_no_gate_reads_is_a_warning() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(without=["verbosity"])])), expectation(held("c"), thresholds={"faithfulness": 3})
    )
    assert verdict.exit_code == 0
    assert len(verdict.warnings) == 1
