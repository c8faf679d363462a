"""The fields of a chat completion, however odd."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.llm.completion import read_completion
from arksim_ci.llm.prices import Tokens
from tests.support.scripted_server import completion


def with_message(finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    body = completion(None)
    body["choices"][0] = {"finish_reason": finish_reason, "message": message}
    return body


def test_an_ordinary_answer() -> None:
    said = read_completion(completion("Hello", model="m-1"))
    assert (said.text, said.flaw, said.truncated, said.model) == ("Hello", None, False, "m-1")
    assert said.tokens == Tokens(input=100, cached=40, output=10)


@pytest.mark.parametrize(
    ("body", "flaw"),
    [
        (with_message(content=None), "empty"),
        (with_message(content="  \n"), "empty"),
        (with_message(content="", refusal="I won't."), "refused to answer: I won't."),
        (with_message("content_filter", content="Hal"), "content filter"),
        ({"choices": []}, "empty"),
        ({"choices": None}, "empty"),
        ({"choices": [{"message": "text"}]}, "empty"),
        ({}, "empty"),
    ],
)
def test_an_answer_without_an_answer_says_why(body: dict[str, Any], flaw: str) -> None:
    assert flaw in str(read_completion(body).flaw)


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_a_truncated_answer_is_marked(reason: str) -> None:
    assert read_completion(with_message(reason, content='{"a')).truncated


def test_parts_of_text_are_joined() -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "image"}, "x", {"type": "text", "text": "lo"}]
    assert read_completion(with_message(content=parts)).text == "Hello"


@pytest.mark.parametrize("arguments", ['{"score": 4}', {"score": 4}])
def test_the_arguments_of_a_tool_call_are_the_answer(arguments: object) -> None:
    body = with_message("tool_calls", content=None, tool_calls=[{"function": {"name": "f", "arguments": arguments}}])
    assert read_completion(body).text == '{"score": 4}'


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        ({}, None),
        ("many", None),
        ({"prompt_tokens": 5}, Tokens(5, 0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": True}, Tokens(0, 0, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 50}}, Tokens(5, 5, 0)),
        ({"prompt_tokens": "5", "completion_tokens": 2, "prompt_tokens_details": None}, Tokens(0, 0, 2)),
    ],
)
def test_usage_is_read_where_it_makes_sense(usage: object, tokens: Tokens | None) -> None:
    assert read_completion({"usage": usage}).tokens == tokens


def test_a_hostile_model_name_is_made_harmless() -> None:
    name = read_completion({"model": "m\n::error::" + "x" * 500}).model
    assert "\n" not in name
    assert len(name) <= 100


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["message", "content", "tool_calls", "function", "arguments", "finish_reason", "text"]),
            inner,
            max_size=3,
        )
    ),
)


@given(body=st.dictionaries(st.sampled_from(["choices", "usage", "model"]), ANY))
def test_no_body_is_too_odd(body: dict[str, object]) -> None:
    read_completion(body).text.encode()
