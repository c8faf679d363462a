"""Unique errors: every failure in exactly one, whatever the LLM answers."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.evaluation.failures import Failure
from arksim_ci.evaluation.unique_errors import (
    MERGING_ROUNDS,
    PORTION_TOKENS,
    find_unique_errors,
    find_unique_errors_plainly,
)
from arksim_ci.llm.client import Question
from arksim_ci.schema.evaluation import Occurrence, UniqueError
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, SEVERITIES
from tests.unit.evaluation.scripted_llm import ScriptedLLM


def failure(number: int, category: str = "false information", reason: str = "", text: str = "text") -> Failure:
    occurrence = Occurrence(conversation_id=f"c{number:04}", turn_id=number % 5)
    return Failure(category, occurrence, reason or f"reason {number}", text, text)


def refs(question: Question[object]) -> list[str]:
    return re.findall(r'"ref": "(\w+)"', question.messages[0].content)


def all_in_one(question: Question[object]) -> object:
    return {"groups": [{"description": "All the same.", "members": refs(question)}]}


def occurrences(errors: list[UniqueError]) -> list[tuple[str, str, int]]:
    return sorted(
        (error.behavior_failure_category, each.conversation_id, each.turn_id)
        for error in errors
        for each in error.occurrences
    )


members = st.lists(st.sampled_from(["F1", "F2", "F3", "F4", "F5", "F6", "F99", "G1", "G2", ""]), max_size=9)
answers = st.lists(st.fixed_dictionaries({"description": st.text(max_size=20), "members": members}), max_size=6)


@given(
    groups=answers,
    categories=st.lists(
        st.sampled_from(["false information", "repetition", "lack of specific information", GOAL_NOT_COMPLETED]),
        min_size=1,
        max_size=6,
    ),
)
async def test_every_failure_is_in_exactly_one_error_whatever_the_llm_answers(
    groups: list[dict[str, object]], categories: list[str]
) -> None:
    failures = [failure(number, category) for number, category in enumerate(categories)]
    errors = await find_unique_errors(failures, ScriptedLLM(lambda _: {"groups": groups}), lambda _: None)
    expected = sorted((each.category, each.occurrence.conversation_id, each.occurrence.turn_id) for each in failures)
    assert occurrences(errors) == expected
    ranks = [
        (
            SEVERITIES.index(error.severity),
            error.behavior_failure_category == GOAL_NOT_COMPLETED,
            -len(error.occurrences),
        )
        for error in errors
    ]
    assert ranks == sorted(ranks)


async def test_the_order_and_the_ids_are_the_same_on_every_run() -> None:
    failures = [failure(number, "repetition" if number % 3 else "false information") for number in range(9)]
    first = await find_unique_errors(failures, ScriptedLLM(all_in_one), lambda _: None)
    second = await find_unique_errors(failures, ScriptedLLM(all_in_one), lambda _: None)
    assert first == second
    assert [error.behavior_failure_category for error in first] == ["false information", "repetition"]


async def test_what_the_answer_leaves_out_is_an_error_of_its_own() -> None:
    llm = ScriptedLLM(lambda _: {"groups": [{"description": "Wrong days.", "members": ["F1", "F7", "F1"]}]})
    errors = await find_unique_errors([failure(1), failure(2, reason="Says 45 days.")], llm, lambda _: None)
    assert [(error.unique_error_description, len(error.occurrences)) for error in errors] == [
        ("Wrong days.", 1),
        ("Says 45 days.", 1),
    ]


async def test_without_an_answer_near_same_reasons_stand_together_and_the_reader_is_told() -> None:
    warnings: list[str] = []
    failures = [
        failure(1, reason='It says "45 days", not 30.'),
        failure(2, reason='It says "60 days", not 14.'),
        failure(3, reason="It invents a phone number."),
    ]
    errors = await find_unique_errors(failures, ScriptedLLM(lambda _: None), warnings.append)
    assert [len(error.occurrences) for error in errors] == [2, 1]
    assert warnings == [
        'The 3 failures "false information" could not be grouped by root cause (HTTP 500); '
        "those with near-same reasons stand together instead."
    ]
    assert find_unique_errors_plainly(failures) == errors


async def test_five_thousand_failures_take_calls_linear_in_their_number() -> None:
    async def calls(count: int) -> int:
        llm = ScriptedLLM(all_in_one)
        found = [failure(number, text="word " * 80) for number in range(count)]
        errors = await find_unique_errors(found, llm, lambda _: None)
        assert [len(error.occurrences) for error in errors] == [count]
        return len(llm.asked)

    assert await calls(5000) <= 5 * await calls(1000) + MERGING_ROUNDS


def missed_goal(number: int, goal: str, *earlier: str) -> Failure:
    return replace(failure(number, GOAL_NOT_COMPLETED, "It stays open."), goal=goal, earlier=earlier)


async def test_missed_goals_come_after_failing_turns_of_the_same_severity() -> None:
    failures = [missed_goal(1, "Know the fee."), missed_goal(2, "Know the fee.")]
    failures += [failure(3, "lack of specific information"), failure(4, "repetition")]
    errors = await find_unique_errors(failures, ScriptedLLM(all_in_one), lambda _: None)
    assert [error.behavior_failure_category for error in errors] == [
        "lack of specific information",
        GOAL_NOT_COMPLETED,
        "repetition",
    ]


async def test_missed_goals_are_grouped_by_what_kept_the_user_from_them() -> None:
    llm = ScriptedLLM(all_in_one)
    failures = [
        missed_goal(1, "Know the fee.", "false information: It says 9.9%."),
        missed_goal(2, "Open an account."),
    ]
    (error,) = await find_unique_errors(failures, llm, lambda _: None)
    assert len(error.occurrences) == 2
    (prompt,) = llm.prompts
    assert '"goal": "Know the fee.", "failures in this conversation": ["false information: It says 9.9%."]' in prompt
    assert '"ref": "F2", "goal": "Open an account.", "judge": "It stays open."' in prompt
    assert "the goal alone never makes a group" in prompt


async def test_a_failing_turn_is_asked_about_without_goals() -> None:
    llm = ScriptedLLM(all_in_one)
    await find_unique_errors([failure(1)], llm, lambda _: None)
    assert "goal" not in llm.prompts[0]


async def test_requests_stay_within_the_budget_whatever_the_texts() -> None:
    llm = ScriptedLLM(all_in_one)
    long = "long text " * 1_000
    failures = [
        replace(missed_goal(number, long, *[long] * 9), reason=long, user=long, agent=long) for number in range(60)
    ]
    errors = await find_unique_errors(failures, llm, lambda _: None)
    assert [len(error.occurrences) for error in errors] == [60]
    assert max(map(len, llm.prompts)) < PORTION_TOKENS * 4 + 3_000
    assert len(llm.asked) > 5


async def test_a_description_is_one_line_that_a_reader_can_take_in() -> None:
    def endless(question: Question[object]) -> object:
        return {"groups": [{"description": "Wrong\n\n days. " * 500, "members": refs(question)}]}

    (error,) = await find_unique_errors([failure(1)], ScriptedLLM(endless), lambda _: None)
    assert error.unique_error_description.startswith("Wrong days. Wrong days.")
    assert len(error.unique_error_description) < 700


async def test_the_order_does_not_depend_on_that_of_the_answer() -> None:
    failures = [failure(number) for number in range(6)]

    def groups(question: Question[object]) -> list[dict[str, object]]:
        return [{"description": f"About {ref}.", "members": [ref]} for ref in refs(question)]

    first = await find_unique_errors(failures, ScriptedLLM(lambda q: {"groups": groups(q)}), lambda _: None)
    second = await find_unique_errors(failures, ScriptedLLM(lambda q: {"groups": groups(q)[::-1]}), lambda _: None)
    assert first == second
