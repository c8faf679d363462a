"""Unique errors: every failure in exactly one, whatever the LLM answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.evaluation.failures import Failure
from arksim_ci.evaluation.unique_errors import (
    MERGING_ROUNDS,
    find_unique_errors,
    find_unique_errors_plainly,
)
from arksim_ci.llm.client import Answer, LLMUnavailable, Question
from arksim_ci.schema.evaluation import Occurrence, UniqueError
from arksim_ci.schema.verdict import Usage
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, SEVERITIES

T = TypeVar("T")


class ScriptedLLM:
    """Answers each question with what `script` makes of it, read as the real client reads it."""

    model = "scripted"

    def __init__(self, script: Callable[[Question[object]], object]) -> None:
        self.script = script
        self.asked: list[str] = []

    async def ask(self, question: Question[T]) -> Answer[T]:
        self.asked.append(question.name)
        answer = self.script(question)  # type: ignore[arg-type]
        if answer is None:
            raise LLMUnavailable("HTTP 500")
        reading = question.read(answer)
        assert reading.value is not None
        return Answer(reading.value, self.model)

    async def preflight(self) -> list[str]:
        return []

    def usage(self) -> Usage:
        return Usage()

    def notes(self) -> list[str]:
        return []

    async def close(self) -> None:
        pass


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
        st.sampled_from(["false information", "repetition", GOAL_NOT_COMPLETED]), min_size=1, max_size=6
    ),
)
async def test_every_failure_is_in_exactly_one_error_whatever_the_llm_answers(
    groups: list[dict[str, object]], categories: list[str]
) -> None:
    failures = [failure(number, category) for number, category in enumerate(categories)]
    errors = await find_unique_errors(failures, ScriptedLLM(lambda _: {"groups": groups}), lambda _: None)
    expected = sorted((each.category, each.occurrence.conversation_id, each.occurrence.turn_id) for each in failures)
    assert occurrences(errors) == expected
    ranks = [(SEVERITIES.index(error.severity), -len(error.occurrences)) for error in errors]
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
