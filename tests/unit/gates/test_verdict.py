from __future__ import annotations

from typing import Literal

import pytest

from arksim_ci.gates.exit_codes import EXIT_CONFIG_ERROR, EXIT_EVAL_FAILED, EXIT_INTERNAL_ERROR, EXIT_OK
from arksim_ci.gates.verdict import decide, decide_simulation
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.expectation import ExpectedConversation, NotMeasured
from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.verdict import Verdict
from tests.unit.gates.builders import (
    BUILTIN,
    GOAL,
    LABELS,
    TURN_NUMBERS,
    asserts,
    check_of,
    evaluation,
    expectation,
    held,
    judged,
    turn,
    types,
)

FAITHFUL = {"faithfulness": 3.0}


def many(count: int) -> list[ExpectedConversation]:
    return [held(f"c{i}") for i in range(count)]


def results(*faithfulness: float | None) -> list[ConversationEvaluation]:
    """One conversation a value; None was not measured."""
    return [
        judged(f"c{i}", [turn(faithfulness=value) if value is not None else turn(without=["faithfulness"])])
        for i, value in enumerate(faithfulness)
    ]


def test_the_documented_exit_codes() -> None:
    assert (EXIT_OK, EXIT_EVAL_FAILED, EXIT_CONFIG_ERROR, EXIT_INTERNAL_ERROR) == (0, 1, 2, 3)


def test_a_good_run_passes() -> None:
    verdict = decide(
        evaluation(*results(4, 5)),
        expectation(*many(2), thresholds=FAITHFUL, labels={"agent_behavior_failure": ["false information"]}),
    )
    assert (verdict.exit_code, verdict.passed, verdict.failures, verdict.warnings) == (0, True, [], [])
    assert verdict.score == 100.0
    assert [(check.name, check.kind, check.passed) for check in verdict.checks] == [
        ("faithfulness", "numeric", True),
        ("agent_behavior_failure", "qualitative", True),
    ]


def test_what_was_run_is_copied() -> None:
    expected = expectation(*many(1))
    verdict = decide(evaluation(*results(5)), expected)
    assert (verdict.evaluation_id, verdict.simulation_id) == ("evaluation", "simulation")
    assert (verdict.run, verdict.judge, verdict.attempts, verdict.usage) == (
        expected.run,
        expected.judge,
        expected.attempts,
        expected.usage,
    )
    assert verdict.generated_at == "2026-01-01T00:00:00Z"
    assert decide(evaluation(*results(5)), expected, generated_at="later").generated_at == "later"


def test_without_a_gate_nothing_is_passed() -> None:
    verdict = decide(evaluation(*results(1)), expectation(*many(1)))
    assert (verdict.exit_code, verdict.passed, verdict.score, verdict.checks) == (0, None, None, [])


@pytest.mark.parametrize(
    "spoiled",
    [
        judged("c0", [turn(without=["verbosity"])]),
        judged("c0", goal=-1),
        judged("c0", [turn(label="evaluation_run_failed")]),
    ],
    ids=["score", "goal", "label"],
)
def test_without_a_gate_everything_has_to_be_measured(spoiled: ConversationEvaluation) -> None:
    verdict = decide(evaluation(spoiled), expectation(*many(1)))
    assert (verdict.exit_code, verdict.passed) == (3, False)
    assert [failure.model_dump() for failure in verdict.failures] == [
        {"type": "INCOMPLETE_COVERAGE", "unit": "metric values", "evaluated": 6, "expected": 7}
    ]
    assert len(verdict.warnings) == 1


def test_without_a_gate_min_coverage_is_a_share_of_everything() -> None:
    judgements = evaluation(judged("c0", [turn(without=["verbosity"])]))
    assert decide(judgements, expectation(*many(1), min_coverage=6 / 7)).exit_code == 0
    assert decide(judgements, expectation(*many(1), min_coverage=0.9)).exit_code == 3


def test_the_score_is_the_mean_of_the_pass_rates() -> None:
    verdict = decide(
        evaluation(*results(5, 5, 5, 1)),
        expectation(*many(4), thresholds={"faithfulness": 3, "helpfulness": 3}),
    )
    assert verdict.score == 87.5
    assert verdict.exit_code == 1


def test_the_score_leaves_out_checks_that_measured_nothing() -> None:
    verdict = decide(
        evaluation(*results(None, None)), expectation(*many(2), thresholds={"faithfulness": 3, "helpfulness": 3})
    )
    assert verdict.score == 100.0
    assert check_of(verdict, "faithfulness").pass_rate is None


@pytest.mark.parametrize(("minimum", "code"), [(0.75, 0), (0.76, 1), (1.0, 1), (0.0, 0)])
def test_min_pass_rate_as_a_number(minimum: float, code: int) -> None:
    verdict = decide(
        evaluation(*results(5, 5, 5, 1)), expectation(*many(4), thresholds=FAITHFUL, min_pass_rate=minimum)
    )
    assert verdict.exit_code == code
    check = check_of(verdict, "faithfulness")
    assert (check.pass_rate, check.min_pass_rate, check.inherited) == (0.75, minimum, True)
    assert [place.conversation_id for place in check.failing] == ["c3"]


def test_min_pass_rate_as_a_mapping() -> None:
    verdict = decide(
        evaluation(*(judged(f"c{i}", [turn(faithfulness=1, helpfulness=1)] if i == 0 else None) for i in range(4))),
        expectation(*many(4), thresholds={"faithfulness": 3, "helpfulness": 3}, min_pass_rate={"faithfulness": 0.75}),
    )
    mapped, other = check_of(verdict, "faithfulness"), check_of(verdict, "helpfulness")
    assert (mapped.passed, mapped.min_pass_rate, mapped.inherited) == (True, 0.75, False)
    assert (other.passed, other.min_pass_rate, other.inherited) == (False, 1.0, True)


@pytest.mark.parametrize(
    ("values", "minimum", "coverage", "decision", "code"),
    [
        # Enough was measured: the rate among the measured ones decides.
        ((5, 5, 5, None), 1.0, 0.75, True, 0),
        ((5, 5, 1, None), 0.6, 0.75, True, 0),
        ((5, 1, 1, None), 0.6, 0.75, False, 1),
        # Too little was measured: only what is lost already is decided.
        ((5, 5, 5, None), 1.0, 0.9, None, 3),
        ((5, 5, None, None), 0.5, 0.9, None, 3),
        ((1, 1, 1, None), 0.5, 0.9, False, 1),
        ((1, 1, None, None), 0.5, 0.9, None, 3),
        ((1, None, None, None), 1.0, 1.0, False, 1),
        # Nothing was measured: never decided, whatever is tolerated.
        ((None, None, None, None), 0.0, 0.0, None, 3),
    ],
)
def test_how_a_check_is_decided(
    values: tuple[float | None, ...], minimum: float, coverage: float, decision: bool | None, code: int
) -> None:
    verdict = decide(
        evaluation(*results(*values)),
        expectation(*many(4), thresholds=FAITHFUL, min_pass_rate=minimum, min_coverage=coverage),
    )
    assert check_of(verdict, "faithfulness").passed is decision
    assert verdict.exit_code == code
    assert ("METRIC_NOT_EVALUATED" in types(verdict)) is (coverage > 0.75 or decision is None)


def test_a_tolerated_gap_is_a_warning() -> None:
    verdict = decide(evaluation(*results(5, 5, 5, None)), expectation(*many(4), thresholds=FAITHFUL, min_coverage=0.75))
    assert verdict.warnings == ["faithfulness was not measured in 1 of 4 turns: it is missing from the evaluation."]


def test_a_gap_that_no_gate_reads_is_a_warning_with_its_cause() -> None:
    gap = NotMeasured(conversation_id="c0", turn_id=0, metric="verbosity", cause="the answer was cut off")
    verdict = decide(
        evaluation(judged("c0", [turn(without=["verbosity"])]), judged("c1")),
        expectation(*many(2), thresholds=FAITHFUL, not_measured=[gap]),
    )
    assert (verdict.exit_code, verdict.passed) == (0, True)
    assert verdict.warnings == ["verbosity was not measured in 1 of 2 turns: the answer was cut off."]


def test_a_failed_gate_wins_over_what_was_not_measured() -> None:
    verdict = decide(
        evaluation(*results(1, None)),
        expectation(*many(2), thresholds=FAITHFUL, status="TIMED_OUT", status_cause="run_timeout_seconds reached"),
    )
    assert (verdict.exit_code, verdict.passed) == (1, False)
    assert set(types(verdict)) == {
        "RUN_NOT_COMPLETED",
        "INCOMPLETE_COVERAGE",
        "METRIC_BELOW_MIN_PASS_RATE",
        "METRIC_NOT_EVALUATED",
    }


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "CANCELLED", "BUDGET_REACHED"])
def test_a_run_that_did_not_complete_never_passes(
    status: Literal["FAILED", "TIMED_OUT", "CANCELLED", "BUDGET_REACHED"],
) -> None:
    verdict = decide(
        evaluation(*results(5)), expectation(*many(1), thresholds=FAITHFUL, status=status, status_cause="why")
    )
    assert (verdict.exit_code, verdict.passed, verdict.status) == (3, False, status)
    assert verdict.failures[0].model_dump() == {"type": "RUN_NOT_COMPLETED", "status": status, "cause": "why"}


def test_a_conversation_without_an_entry_is_a_gap() -> None:
    verdict = decide(evaluation(*results(5)), expectation(*many(2), thresholds=FAITHFUL))
    assert verdict.exit_code == 3
    assert verdict.failures[0].model_dump() == {
        "type": "INCOMPLETE_COVERAGE",
        "unit": "conversations",
        "evaluated": 1,
        "expected": 2,
    }


def test_a_turn_without_an_entry_is_a_gap() -> None:
    verdict = decide(evaluation(judged("c", [turn(0)])), expectation(held("c", 2), thresholds=FAITHFUL))
    assert verdict.failures[0].model_dump() == {
        "type": "INCOMPLETE_COVERAGE",
        "unit": "turns",
        "evaluated": 1,
        "expected": 2,
    }


def test_a_test_case_that_never_began_is_a_gap_even_where_no_gate_reads_it() -> None:
    asserted = held("c", assertions=[asserts()])
    verdict = decide(evaluation(judged("c")), expectation(asserted, held("never", 0, not_finished="budget reached")))
    assert verdict.exit_code == 3
    assert types(verdict) == ["INCOMPLETE_COVERAGE"]
    assert "1 of 2 conversations did not come to their end: budget reached." in verdict.warnings


def test_a_conversation_without_a_turn_is_no_result() -> None:
    verdict = decide(evaluation(judged("c", [])), expectation(held("c", 0), thresholds={"goal_completion": 0.5}))
    assert verdict.exit_code == 3


def test_no_conversations_is_never_a_pass() -> None:
    for expected in (expectation(), expectation(thresholds=FAITHFUL), expectation(min_coverage=0)):
        verdict = decide(evaluation(), expected)
        assert verdict.exit_code == 3
        assert types(verdict) == ["INCOMPLETE_COVERAGE"]


def test_a_run_in_which_nothing_is_measured_never_passes() -> None:
    verdict = decide(evaluation(*results(5)), expectation(*many(1), metrics=[], min_coverage=0))
    assert verdict.exit_code == 3
    nothing = decide(evaluation(), expectation(*many(1), metrics=[GOAL], min_coverage=0))
    assert nothing.exit_code == 3


def silent_run(silent: int, answered: int, share: float) -> Verdict:
    return decide(
        evaluation(*results(*[5.0] * answered)),
        expectation(
            *many(answered),
            *(held(f"s{i}", 0, silence="never_spoke" if i % 2 else "stopped_answering") for i in range(silent)),
            thresholds=FAITHFUL,
            max_never_spoke_share=share,
        ),
    )


def test_silence_fails_the_run_and_is_reported_once() -> None:
    verdict = silent_run(3, 7, 0.2)
    assert verdict.exit_code == 1
    assert [failure.model_dump() for failure in verdict.failures] == [
        {"type": "AGENT_NEVER_SPOKE", "never_spoke": 1, "stopped_answering": 2, "test_cases": 10, "max_share": 0.2}
    ]
    assert verdict.coverage.expected_conversations == 7


def test_tolerated_silence_leaves_every_check_and_is_mentioned() -> None:
    verdict = silent_run(3, 7, 0.3)
    assert (verdict.exit_code, verdict.passed) == (0, True)
    assert check_of(verdict, "faithfulness").evaluated_conversations == 7
    assert verdict.warnings == [
        "The agent never spoke in 1 and stopped answering in 2 of 10 test cases. "
        "That is tolerated; they are left out of every check."
    ]


def test_silence_everywhere_is_never_a_pass() -> None:
    assert types(silent_run(4, 0, 0.0)) == ["AGENT_NEVER_SPOKE"]
    tolerated = silent_run(4, 0, 1.0)
    assert (tolerated.exit_code, types(tolerated)) == (3, ["INCOMPLETE_COVERAGE"])


def test_the_turns_before_the_agent_stopped_answering_are_not_held_to_the_gates() -> None:
    verdict = decide(
        evaluation(judged("c"), judged("s", [turn(label="false information")])),
        expectation(
            held("c"),
            held("s", silence="stopped_answering"),
            labels={"agent_behavior_failure": ["false information"]},
            max_never_spoke_share=0.5,
        ),
    )
    assert verdict.exit_code == 0


def test_the_coverage_figures() -> None:
    verdict = decide(
        evaluation(
            judged("whole", [turn(0), turn(1)]),
            judged("partly", [turn(0, without=["verbosity"])], goal=-1),
            judged("silent", [turn(label="evaluation_run_failed")]),
        ),
        expectation(
            held("whole", 2),
            held("partly", 2),
            held("broken", 1, not_finished="deadline"),
            held("silent", 1, silence="stopped_answering"),
            metrics=BUILTIN,
        ),
    )
    per_turn = len(TURN_NUMBERS) + 1
    assert verdict.coverage.model_dump() == {
        "expected_conversations": 3,
        "simulated_conversations": 2,
        "evaluated_conversations": 2,
        "expected_turns": 5,
        "evaluated_turns": 3,
        "expected_metric_values": 5 * per_turn + 3,
        "evaluated_metric_values": 2 * per_turn + 1 + (per_turn - 1),
    }


def test_entries_of_other_conversations_are_ignored_with_a_warning() -> None:
    strangers = [judged(f"x{i}", [turn(faithfulness=1)]) for i in range(7)]
    verdict = decide(evaluation(*results(5), *strangers), expectation(*many(1), thresholds=FAITHFUL))
    assert verdict.exit_code == 0
    assert verdict.warnings == [
        "The evaluation has conversations that the run did not hold; they are ignored: x0, x1, x2, x3, x4 and 2 more."
    ]


def test_the_verdict_survives_its_file() -> None:
    verdict = decide(
        evaluation(*results(1, None), judged("c2", [turn(label="false information")])),
        expectation(
            *many(3),
            held("a", assertions=[asserts(ExpectedToolCall(name="lookup"))]),
            held("s", 0, silence="never_spoke"),
            thresholds={**FAITHFUL, "helpfullness": 3},
            labels={"agent_behavior_failure": ["false information"]},
            status="CANCELLED",
        ),
    )
    assert set(types(verdict)) == {
        "RUN_NOT_COMPLETED",
        "AGENT_NEVER_SPOKE",
        "INCOMPLETE_COVERAGE",
        "METRIC_BELOW_MIN_PASS_RATE",
        "METRIC_NOT_EVALUATED",
        "FAILURE_LABEL_FOUND",
        "ASSERTION_FAILED",
    }
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


class TestSimulationAlone:
    def decide(
        self, *cases: ExpectedConversation, share: float = 0.0, min_coverage: float = 1.0, cancelled: bool = False
    ) -> Verdict:
        expected = expectation(
            *cases,
            command="simulate",
            thresholds=FAITHFUL,
            max_never_spoke_share=share,
            min_coverage=min_coverage,
            status="CANCELLED" if cancelled else "COMPLETED",
        )
        return decide_simulation(expected, simulation_id="simulation", generated_at="now")

    def test_thresholds_and_assertions_are_not_read(self) -> None:
        verdict = self.decide(held("c"), held("a", assertions=[asserts(ExpectedToolCall(name="lookup"))]))
        assert (verdict.exit_code, verdict.passed, verdict.checks) == (0, None, [])
        assert (verdict.simulation_id, verdict.generated_at) == ("simulation", "now")
        assert verdict.coverage.simulated_conversations == 2

    def test_silence_is_a_failed_gate(self) -> None:
        assert self.decide(held("c"), held("s", 0, silence="never_spoke")).exit_code == 1
        assert self.decide(held("c"), held("s", 0, silence="never_spoke"), share=0.5).exit_code == 0

    def test_what_broke_off_is_incomplete(self) -> None:
        broken = held("b", not_finished="provider outage")
        verdict = self.decide(held("c"), broken)
        assert (verdict.exit_code, types(verdict)) == (3, ["INCOMPLETE_COVERAGE"])
        assert self.decide(held("c"), broken, min_coverage=0.5).exit_code == 0
        assert self.decide(broken, min_coverage=0).exit_code == 3

    def test_nothing_held_is_never_a_pass(self) -> None:
        assert self.decide().exit_code == 3
        assert self.decide(held("s", 0, silence="never_spoke"), share=1.0).exit_code == 3

    def test_a_cancelled_run_is_not_complete(self) -> None:
        assert self.decide(held("c"), cancelled=True).exit_code == 3


def test_overall_reads_what_it_is_computed_from() -> None:
    verdict = decide(
        evaluation(judged("c", [turn(without=["verbosity"])])),
        expectation(held("c"), metrics=[*TURN_NUMBERS, GOAL, LABELS], thresholds={"overall_score": 0.5}),
    )
    assert verdict.exit_code == 0
