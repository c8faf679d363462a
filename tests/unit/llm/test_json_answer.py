"""The JSON of an answer: whole or not at all."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.llm.json_answer import NotJson, read_json, whole_characters, without_thinking

VALUE = {"score": 4, "reason": "says {so} [twice], with ``` in it"}
JSON = json.dumps(VALUE)


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        f"\n  {JSON}\n",
        f"```json\n{JSON}\n```",
        f"```\n{JSON}\n```",
        f"Here is my judgement:\n```json\n{JSON}\n```\nI hope it helps.",
        f"Sure! {JSON} That is all.",
        f"The set {{a, b}} and the note [1] aside: {JSON}",
        f"{JSON}\n\nLet me know about [] and {{}}.",
    ],
)
def test_one_whole_value_is_found(text: str) -> None:
    assert read_json(text) == VALUE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't say.",
        JSON[:-1],
        f"```json\n{JSON[:-10]}",
        f"{JSON} {JSON}",
        '{"turn": {"score": 4, "reason": "inner"}, "rest":',  # the inner object is not the answer
        '{"scores": [{"score": 4}], }',
        '{"score": 4, "score": 5}',
        'I say {"score": 4, "score": 5}.',
        '{"score": NaN}',
        '{"score": Infinity}',
        '{"score": -Infinity}',
        '{"score": 1e999}',
        "{" * 5_000,
        "[" * 100_000,
        '{"score": ' + "9" * 5_000 + "}",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        read_json(text)


def test_the_complaint_names_what_is_wrong() -> None:
    with pytest.raises(NotJson, match='the key "score" twice'):
        read_json('{"score": 4, "score": 5}')
    with pytest.raises(NotJson, match="NaN"):
        read_json('{"score": NaN}')
    with pytest.raises(NotJson, match="more than one"):
        read_json(f"{JSON} or {JSON}")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(value=st.dictionaries(st.text(), JSON_VALUES, min_size=1), before=st.sampled_from(["", "So: ", "Well (1)\n"]))
def test_every_object_is_read_as_it_was_meant(value: dict[str, object], before: str) -> None:
    assert read_json(before + json.dumps(value)) == value


@given(value=st.dictionaries(st.text(), JSON_VALUES, min_size=1), cut=st.floats(0, 1, exclude_max=True))
def test_no_part_of_a_cut_object_is_taken_for_the_answer(value: dict[str, object], cut: float) -> None:
    text = json.dumps(value)
    with pytest.raises(NotJson):
        read_json(text[: int(len(text) * cut)])


@given(text=st.text(alphabet='{}[]",:01aN \n`'))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(NotJson):
        read_json(text)


def test_hostile_texts_are_refused_quickly() -> None:
    started = time.perf_counter()
    for text in ('{"a":"' * 20_000, "[1" * 60_000, "{x" * 90_000, "```json\n" * 20_000, "{" * 8_000_000):
        with pytest.raises(NotJson):
            read_json(text)
    assert time.perf_counter() - started < 5


def test_the_thoughts_of_a_local_model_are_left_out() -> None:
    assert without_thinking('<think>maybe {"score": 1}?</think>\n{"score": 4}') == '\n{"score": 4}'
    assert without_thinking("I said <think>so</think>") == "I said <think>so</think>"


def test_half_characters_become_whole() -> None:
    value = read_json('{"reason": "\\ud83d", "key\\udc00": ["\\ud83d\\ude00"]}')
    cleaned = whole_characters(value)
    assert cleaned == {"reason": "\ufffd", "key\ufffd": ["\U0001f600"]}
    json.dumps(cleaned, ensure_ascii=False).encode()
