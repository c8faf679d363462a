"""The ways to ask for JSON, and the search for the one that a server honours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from arksim_ci.llm.client import Question
from arksim_ci.llm.questions.goal import GoalFacts, ask_goal
from arksim_ci.llm.questions.turn import TurnFacts, ask_turn
from arksim_ci.llm.questions.unique_errors import GroupingFacts, MergingFacts, ask_grouping, ask_merging
from arksim_ci.llm.structured import (
    FAILURES_PROVEN,
    FAILURES_UNPROVEN,
    Form,
    Forms,
    form_fields,
    forms_of,
    has_shape,
    is_strict,
    wire_name,
)
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message
from arksim_ci.schema.vocabulary import DEFAULT_METRICS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}


def test_the_fields_of_each_way() -> None:
    assert form_fields(Form.JSON_SCHEMA, "judge_turn", SCHEMA) == {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "judge_turn", "schema": SCHEMA, "strict": True},
        }
    }
    tool = form_fields(Form.FORCED_TOOL, "judge_turn", SCHEMA)
    assert tool["tools"][0]["function"]["parameters"] == SCHEMA
    assert tool["tool_choice"]["function"]["name"] == "judge_turn"
    assert form_fields(Form.JSON_OBJECT_WITH_SCHEMA, "x", SCHEMA) == {
        "response_format": {"type": "json_object", "schema": SCHEMA}
    }
    assert form_fields(Form.JSON_OBJECT, "x", SCHEMA) == {"response_format": {"type": "json_object"}}
    assert form_fields(Form.TEXT, "x", SCHEMA) == {}


def test_anthropic_starts_with_the_forced_tool() -> None:
    assert forms_of("anthropic")[0] is Form.FORCED_TOOL
    assert forms_of("openai")[0] is Form.JSON_SCHEMA


@pytest.mark.parametrize(
    ("change", "strict"),
    [
        ({}, True),
        ({"additionalProperties": True}, False),
        ({"required": []}, False),
        ({"properties": {"score": {"type": "object", "properties": {}}}}, False),
        ({"properties": {"score": {"type": "array", "items": SCHEMA}}}, True),
    ],
)
def test_strict_is_asked_for_only_where_the_schema_allows_it(change: dict[str, Any], strict: bool) -> None:
    assert is_strict({**SCHEMA, **change}) is strict


def test_every_schema_of_ours_is_strict() -> None:
    scenario = Scenario(scenario_id="s", user_id="u", goal="g", agent_context="", user_profile="")
    turn = TurnFacts(
        scenario, (), None, Message(turn_id=0, message_id="1", role="assistant", content="a"), DEFAULT_METRICS, "1"
    )
    questions: list[Question[Any]] = [
        ask_turn(turn),
        ask_goal(GoalFacts(scenario, (), "1")),
        ask_grouping(GroupingFacts("repetition", ())),
        ask_merging(MergingFacts("repetition", (), ())),
    ]
    for question in questions:
        assert question.schema is not None
        assert is_strict(question.schema), question.name


@pytest.mark.parametrize(
    ("name", "wire"), [("judge_turn", "judge_turn"), ("my metric/ü", "my_metric__"), ("", "answer")]
)
def test_a_name_on_the_wire(name: str, wire: str) -> None:
    assert wire_name(name) == wire
    assert len(wire_name("x" * 100)) == 64


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"score": 307914268595700}, True),
        ({"score": None, "more": 1}, True),
        ({}, False),
        ([], False),
        ("score", False),
    ],
)
def test_the_shape_is_not_the_value(value: object, fits: bool) -> None:
    assert has_shape(value, SCHEMA) is fits


def test_a_refused_way_is_given_up_once_by_however_many() -> None:
    forms = Forms(forms_of("openai"))
    for _ in range(50):
        forms.refused(Form.JSON_SCHEMA)
    assert forms.current is Form.FORCED_TOOL
    assert forms.notes() == [
        "The server does not honour response_format json_schema; used instead: a forced tool call."
    ]


def test_the_last_way_stays() -> None:
    forms = Forms((Form.TEXT,))
    for _ in range(50):
        forms.answered(Form.TEXT, in_shape=False)
        forms.refused(Form.TEXT)
    assert forms.current is Form.TEXT
    assert forms.notes() == []


def test_one_answer_of_another_shape_is_no_evidence() -> None:
    forms = Forms(forms_of("openai"))
    for _ in range(20):
        forms.answered(Form.JSON_SCHEMA, in_shape=False)
        forms.answered(Form.JSON_SCHEMA, in_shape=True)
    assert forms.current is Form.JSON_SCHEMA


def test_a_way_that_is_ignored_silently_is_given_up() -> None:
    forms = Forms(forms_of("openai"))
    for _ in range(FAILURES_UNPROVEN):
        assert forms.current is Form.JSON_SCHEMA
        forms.answered(Form.JSON_SCHEMA, in_shape=False)
    assert forms.current is Form.FORCED_TOOL


def test_a_way_that_worked_is_given_up_later() -> None:
    forms = Forms(forms_of("openai"))
    forms.answered(Form.JSON_SCHEMA, in_shape=True)
    for _ in range(FAILURES_PROVEN):
        assert forms.current is Form.JSON_SCHEMA
        forms.answered(Form.JSON_SCHEMA, in_shape=False)
    assert forms.current is Form.FORCED_TOOL


def test_answers_to_an_earlier_way_say_nothing_of_the_current_one() -> None:
    forms = Forms(forms_of("openai"))
    forms.refused(Form.JSON_SCHEMA)
    for _ in range(50):
        forms.answered(Form.JSON_SCHEMA, in_shape=False)
    assert forms.current is Form.FORCED_TOOL


async def test_questions_wait_until_one_has_found_out() -> None:
    forms = Forms(forms_of("openai"))
    order: list[str] = []

    async def scout() -> None:
        async with forms.turn(wanted=True):
            order.append("scout asks")
            await asyncio.sleep(0.01)
            forms.answered(Form.JSON_SCHEMA, in_shape=True)
            order.append("scout knows")

    async def follower() -> None:
        async with forms.turn(wanted=True):
            order.append("follower asks")
            await asyncio.sleep(0.01)
            order.append("follower has it")

    await asyncio.gather(scout(), follower(), follower())
    assert order == ["scout asks", "scout knows", *["follower asks"] * 2, *["follower has it"] * 2]


async def test_nobody_waits_after_a_scout_that_learned_nothing() -> None:
    forms = Forms(forms_of("openai"))
    with pytest.raises(RuntimeError):
        async with forms.turn(wanted=True):
            raise RuntimeError("an outage")
    async with forms.turn(wanted=True):
        async with asyncio.timeout(1):
            async with forms.turn(wanted=True):
                pass


async def test_a_question_for_text_never_waits() -> None:
    forms = Forms(forms_of("openai"))
    async with forms.turn(wanted=True):
        async with asyncio.timeout(1):
            async with forms.turn(wanted=False):
                pass


async def test_a_question_that_hangs_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arksim_ci.llm.structured.SCOUT_SECONDS", 0.01)
    forms = Forms(forms_of("openai"))
    passed: list[int] = []

    async def ask(number: int) -> None:
        async with forms.turn(wanted=True):
            passed.append(number)

    async with forms.turn(wanted=True):
        await asyncio.wait_for(asyncio.gather(*(ask(number) for number in range(5))), 5)
    assert sorted(passed) == [0, 1, 2, 3, 4]
