from __future__ import annotations

from arksim_ci.gates.verdict import decide
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.expectation import ExpectedConversation, ExpectedTurn
from arksim_ci.schema.scenario import ExpectedToolCall, ToolCallsAssertion
from tests.unit.gates.builders import asserts, call, check_of, evaluation, expectation, held, judged, turn, types

LOOKUP = asserts(ExpectedToolCall(name="lookup"))
NO_TOOLS = asserts()


def calling(
    name: str,
    *tools: str,
    assertions: tuple[ToolCallsAssertion, ...] = (LOOKUP,),
    not_finished: str | None = None,
    silence: str | None = None,
) -> ExpectedConversation:
    """A conversation that calls one tool a turn."""
    turns = [ExpectedTurn(turn_id=place, tool_calls=(call(tool),)) for place, tool in enumerate(tools)]
    return held(name, turns or 1, assertions=assertions, not_finished=not_finished, silence=silence)


def good(case: ExpectedConversation) -> ConversationEvaluation:
    return judged(
        case.conversation_id,
        [turn(item.turn_id, tool_label="no failure" if item.tool_calls else None) for item in case.turns],
    )


def decide_cases(*cases: ExpectedConversation, min_pass_rate: float | dict[str, float] = 1.0, min_coverage: float = 1):  # type: ignore[no-untyped-def]
    return decide(
        evaluation(*(good(case) for case in cases)),
        expectation(*cases, min_pass_rate=min_pass_rate, min_coverage=min_coverage),
    )


def test_an_assertion_is_a_gate_without_any_other() -> None:
    verdict = decide_cases(calling("c", "lookup"))
    assert (verdict.exit_code, verdict.passed) == (0, True)
    check = check_of(verdict, "assertions")
    assert (check.kind, check.passed, check.pass_rate) == ("assertion", True, 1.0)


def test_a_failed_assertion_says_what_was_expected_and_what_was_called() -> None:
    verdict = decide_cases(calling("c", "search"))
    assert verdict.exit_code == 1
    assert [failure.model_dump() for failure in verdict.failures] == [
        {
            "type": "ASSERTION_FAILED",
            "conversation_id": "c",
            "scenario_id": "s-c",
            "match_mode": "unordered",
            "expected": [{"name": "lookup", "arguments": {}, "arg_match_mode": "ignore"}],
            "actual": [{"name": "search", "arguments": {}}],
            "diff": ["+ search()", "- lookup(…)"],
        }
    ]
    assert check_of(verdict, "assertions").failing[0].value == "Missing: lookup. Not expected: search."


def test_the_calls_of_all_turns_count_together() -> None:
    both = asserts(ExpectedToolCall(name="a"), ExpectedToolCall(name="b"), mode="strict")
    assert decide_cases(calling("c", "a", "b", assertions=(both,))).exit_code == 0
    assert decide_cases(calling("c", "b", "a", assertions=(both,))).exit_code == 1


def test_all_assertions_of_a_scenario_count() -> None:
    no_delete = asserts(ExpectedToolCall(name="lookup"), ExpectedToolCall(name="search"), mode="within")
    one_of_two = calling(
        "c", "lookup", "delete", assertions=(asserts(ExpectedToolCall(name="lookup"), mode="contains"), no_delete)
    )
    verdict = decide_cases(one_of_two)
    assert types(verdict) == ["ASSERTION_FAILED"]
    assert verdict.failures[0].model_dump()["match_mode"] == "within"
    both_fail = decide_cases(calling("c", "delete", assertions=(LOOKUP, no_delete)))
    assert types(both_fail) == ["ASSERTION_FAILED"] * 2
    assert check_of(both_fail, "assertions").evaluated_conversations == 1


def test_an_empty_expectation_means_that_no_tool_may_be_called() -> None:
    assert decide_cases(calling("c", assertions=(NO_TOOLS,))).exit_code == 0
    assert decide_cases(calling("c", "lookup", assertions=(NO_TOOLS,))).exit_code == 1


def test_scenarios_without_assertions_have_no_part_in_the_check() -> None:
    verdict = decide_cases(calling("with", "lookup"), calling("without", assertions=()))
    assert check_of(verdict, "assertions").evaluated_conversations == 1


def test_a_conversation_that_broke_off_is_not_measured() -> None:
    verdict = decide_cases(calling("c", not_finished="deadline"))
    assert verdict.exit_code == 3
    assert verdict.failures[-1].model_dump() == {
        "type": "METRIC_NOT_EVALUATED",
        "metric": "assertions",
        "evaluated": 0,
        "expected": 1,
        "causes": ["deadline"],
    }


def test_a_call_too_many_fails_even_in_a_conversation_that_broke_off() -> None:
    verdict = decide_cases(calling("c", "delete", not_finished="deadline"))
    assert verdict.exit_code == 1
    assert "ASSERTION_FAILED" in types(verdict)


def test_the_general_pass_rate_does_not_apply_to_assertions_but_a_mapped_one_does() -> None:
    cases = (calling("bad", "search"), *(calling(f"c{i}", "lookup") for i in range(9)))
    assert decide_cases(*cases, min_pass_rate=0.5).exit_code == 1
    tolerant = decide_cases(*cases, min_pass_rate={"assertions": 0.9})
    assert (tolerant.exit_code, types(tolerant)) == (0, [])
    strict = decide_cases(*cases, min_pass_rate={"assertions": 0.95})
    assert types(strict) == ["METRIC_BELOW_MIN_PASS_RATE", "ASSERTION_FAILED"]


def test_a_judge_that_measured_nothing_is_not_made_up_for_by_assertions() -> None:
    case = calling("c", "lookup")
    verdict = decide(evaluation(), expectation(case))
    assert verdict.exit_code == 3
    assert check_of(verdict, "assertions").passed is True


def test_silent_test_cases_are_not_held_to_assertions() -> None:
    silent = calling("silent", silence="stopped_answering")
    verdict = decide_cases(silent, calling("c", "lookup"))
    assert types(verdict) == ["AGENT_NEVER_SPOKE"]
