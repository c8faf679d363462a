from __future__ import annotations

import pytest

from arksim_ci.gates.verdict import decide
from arksim_ci.schema.expectation import ExpectedMetric, ExpectedTurn
from tests.unit.gates.builders import (
    BUILTIN,
    GOAL,
    LABELS,
    TOOL_LABELS,
    call,
    check_of,
    evaluation,
    expectation,
    held,
    judged,
    turn,
    types,
)

WITH_TOOL = [ExpectedTurn(turn_id=0, tool_calls=(call("refund"),))]
STATEMENTS = ExpectedMetric(name="statements", kind="qualitative", scope="turn")
NEEDS = ExpectedMetric(name="needs", kind="qualitative", scope="conversation")
FORBIDDEN = {"agent_behavior_failure": ["false information"]}


def test_every_turn_with_a_forbidden_label_is_a_failure_of_its_own() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0, label="false information"), turn(1), turn(2, label="false information")])),
        expectation(held("c", 3), labels=FORBIDDEN),
    )
    assert verdict.exit_code == 1
    assert [failure.model_dump() for failure in verdict.failures] == [
        {
            "type": "FAILURE_LABEL_FOUND",
            "metric": "agent_behavior_failure",
            "label": "false information",
            "conversation_id": "c",
            "turn_id": turn_id,
        }
        for turn_id in (0, 2)
    ]
    assert check_of(verdict, "agent_behavior_failure").evaluated_conversations == 1


@pytest.mark.parametrize("written", ["False Information", " FALSE INFORMATION\n", "false information"])
def test_labels_match_without_regard_to_case_and_outer_spaces(written: str) -> None:
    for label, gate in ((written, "false information"), ("false information", written)):
        verdict = decide(
            evaluation(judged("c", [turn(label=label)])),
            expectation(held("c"), labels={"agent_behavior_failure": [gate]}),
        )
        assert verdict.exit_code == 1


def test_other_failures_pass() -> None:
    verdict = decide(evaluation(judged("c", [turn(label="repetition")])), expectation(held("c"), labels=FORBIDDEN))
    assert (verdict.exit_code, verdict.passed) == (0, True)


@pytest.mark.parametrize("label", ["evaluation_run_failed", "Evaluation_Run_Failed", "", "  ", "no idea"])
def test_what_is_no_label_is_not_measured(label: str) -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0), turn(1, label=label)])), expectation(held("c", 2), labels=FORBIDDEN)
    )
    assert verdict.exit_code == 3
    assert types(verdict) == ["INCOMPLETE_COVERAGE", "METRIC_NOT_EVALUATED"]


def test_a_label_that_could_not_be_judged_is_no_label_even_where_the_gate_names_it() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(label="evaluation_run_failed")])),
        expectation(held("c"), labels={"agent_behavior_failure": ["evaluation_run_failed"]}),
    )
    assert verdict.exit_code == 3


def test_a_found_label_fails_whatever_else_was_not_measured() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0, label="false information"), turn(1, label="evaluation_run_failed")])),
        expectation(held("c", 2), labels=FORBIDDEN),
    )
    assert verdict.exit_code == 1


def test_a_found_label_fails_in_a_conversation_that_broke_off() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(label="false information")])),
        expectation(held("c", not_finished="deadline"), labels=FORBIDDEN),
    )
    assert verdict.exit_code == 1
    assert "INCOMPLETE_COVERAGE" in types(verdict)


@pytest.mark.parametrize("gate", ["tool_call_behavior_failure", "agent_behavior_failure"])
def test_a_tool_label_counts_under_its_own_name_and_as_a_behavior_failure(gate: str) -> None:
    verdict = decide(
        evaluation(judged("c", [turn(tool_label="unsafe action")])),
        expectation(held("c", WITH_TOOL), labels={gate: ["unsafe action"]}),
    )
    assert verdict.exit_code == 1
    assert verdict.failures[0].model_dump()["metric"] == gate


@pytest.mark.parametrize("gate", ["tool_call_behavior_failure", "agent_behavior_failure"])
def test_a_tool_label_that_was_not_measured_is_missed_under_both_names(gate: str) -> None:
    verdict = decide(
        evaluation(judged("c", [turn()])), expectation(held("c", WITH_TOOL), labels={gate: ["unsafe action"]})
    )
    assert verdict.exit_code == 3


def test_a_label_in_both_slots_of_a_turn_is_one_failure() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(label="false information", tool_label="False information")])),
        expectation(held("c", WITH_TOOL), labels=FORBIDDEN),
    )
    assert types(verdict) == ["FAILURE_LABEL_FOUND"]


def test_a_second_failure_of_the_turn_stands_beside_its_slot() -> None:
    hidden = turn(label="unsafe action", custom_labels={"agent_behavior_failure": "false information"})
    verdict = decide(evaluation(judged("c", [hidden])), expectation(held("c"), labels=FORBIDDEN))
    assert verdict.exit_code == 1


def test_conversations_without_tool_calls_have_no_part_in_a_check_of_tool_calls() -> None:
    verdict = decide(
        evaluation(judged("tools", [turn(tool_label="no failure")]), judged("talk")),
        expectation(held("tools", WITH_TOOL), held("talk"), labels={"tool_call_behavior_failure": ["unsafe action"]}),
    )
    assert verdict.exit_code == 0
    assert check_of(verdict, "tool_call_behavior_failure").evaluated_conversations == 1


def test_a_check_of_tool_calls_passes_a_run_without_any_and_says_so() -> None:
    verdict = decide(
        evaluation(judged("c")), expectation(held("c"), labels={"tool_call_behavior_failure": ["unsafe action"]})
    )
    assert (verdict.exit_code, verdict.passed) == (0, True)
    check = check_of(verdict, "tool_call_behavior_failure")
    assert (check.passed, check.pass_rate) == (True, None)
    assert any("tool_call_behavior_failure" in warning for warning in verdict.warnings)


def test_a_metric_that_does_not_run_is_not_measured() -> None:
    for metrics, name in (([GOAL], "agent_behavior_failure"), ([TOOL_LABELS], "agent_behavior_failure")):
        verdict = decide(
            evaluation(judged("c", [turn(tool_label="no failure")])),
            expectation(held("c", WITH_TOOL), metrics=metrics, labels={name: ["false information"]}),
        )
        assert verdict.exit_code == 3


def test_custom_labels_of_turns() -> None:
    expected = expectation(held("c", 2), metrics=[*BUILTIN, STATEMENTS], labels={"statements": ["violated"]})
    ok = turn(0, custom_labels={"statements": "ok"})
    assert decide(evaluation(judged("c", [ok, turn(1, custom_labels={"statements": "Ok"})])), expected).exit_code == 0
    bad = turn(1, custom_labels={"statements": "Violated"})
    assert decide(evaluation(judged("c", [ok, bad])), expected).exit_code == 1
    assert decide(evaluation(judged("c", [ok, turn(1)])), expected).exit_code == 3


def test_custom_labels_of_conversations() -> None:
    expected = expectation(held("c"), metrics=[NEEDS], labels={"needs": ["missing"]})
    assert decide(evaluation(judged("c", labels={"needs": "complete"})), expected).exit_code == 0
    assert decide(evaluation(judged("c")), expected).exit_code == 3
    verdict = decide(evaluation(judged("c", labels={"needs": "missing"})), expected)
    assert verdict.exit_code == 1
    assert verdict.failures[0].model_dump()["turn_id"] is None


def test_labels_tolerate_nothing_unless_their_metric_is_mapped() -> None:
    judgements = evaluation(judged("bad", [turn(label="false information")]), *(judged(f"c{i}") for i in range(9)))
    cases = (held("bad"), *(held(f"c{i}") for i in range(9)))
    general = decide(judgements, expectation(*cases, labels=FORBIDDEN, min_pass_rate=0.5))
    assert general.exit_code == 1
    check = check_of(general, "agent_behavior_failure")
    assert (check.min_pass_rate, check.inherited) == (1.0, True)

    tolerant = decide(judgements, expectation(*cases, labels=FORBIDDEN, min_pass_rate={"agent_behavior_failure": 0.9}))
    assert (tolerant.exit_code, tolerant.failures) == (0, [])
    check = check_of(tolerant, "agent_behavior_failure")
    assert (check.passed, check.pass_rate, check.inherited, len(check.failing)) == (True, 0.9, False, 1)

    strict = decide(judgements, expectation(*cases, labels=FORBIDDEN, min_pass_rate={"agent_behavior_failure": 0.95}))
    assert strict.exit_code == 1
    assert types(strict) == ["METRIC_BELOW_MIN_PASS_RATE", "FAILURE_LABEL_FOUND"]


def test_labels_of_unknown_turns_are_ignored_with_a_warning() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(0), turn(7, label="false information")])),
        expectation(held("c"), metrics=[LABELS], labels=FORBIDDEN),
    )
    assert verdict.exit_code == 0
    assert verdict.warnings == ["The evaluation has turns that the run did not hold; they are ignored: c/7."]


def test_every_label_given_twice_counts() -> None:
    verdict = decide(
        evaluation(judged("c"), judged("c", [turn(label="false information")])),
        expectation(held("c"), labels=FORBIDDEN),
    )
    assert verdict.exit_code == 1
