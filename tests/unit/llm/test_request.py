"""The body of a request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arksim_ci.config.model import Provider
from arksim_ci.llm.client import ChatMessage
from arksim_ci.llm.request import OUTPUT_LIMIT, repair_messages, request_fields
from arksim_ci.llm.structured import Form
from tests.unit.llm.asking import score_question, text_question


def fields(question: Any, form: Form | None = None, provider: Provider = "openai") -> dict[str, Any]:
    return request_fields(provider, "m", question, question.messages, form=form, output_limit=OUTPUT_LIMIT)


def test_an_ordinary_request() -> None:
    body = fields(text_question("Hello"), provider="ollama")
    assert body == {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": OUTPUT_LIMIT}


@pytest.mark.parametrize("form", [Form.JSON_OBJECT_WITH_SCHEMA, Form.JSON_OBJECT, Form.TEXT])
def test_the_prompt_shows_the_schema_where_the_server_does_not(form: Form) -> None:
    body = fields(score_question(), form)
    assert len(body["messages"]) == 2
    assert body["messages"][1]["content"].startswith("How good is it?\n\nAnswer with one JSON value")
    assert '"required": ["score", "reason"]' in body["messages"][1]["content"]


@pytest.mark.parametrize("form", [Form.JSON_SCHEMA, Form.FORCED_TOOL])
def test_the_prompt_is_left_alone_otherwise(form: Form) -> None:
    assert fields(score_question(), form)["messages"][1]["content"] == "How good is it?"


def test_turns_of_a_conversation_share_the_prompt_cache() -> None:
    question = score_question("Scenario: " + "x" * 2_000)
    later = replace(
        question, messages=(question.messages[0], ChatMessage("user", question.messages[1].content + " more"))
    )
    other = score_question("Scenario: y" + "x" * 2_000)
    key = fields(question)["prompt_cache_key"]
    assert fields(later)["prompt_cache_key"] == key
    assert fields(other)["prompt_cache_key"] != key
    assert len(key) <= 64


def test_other_providers_get_no_key_for_the_prompt_cache() -> None:
    assert "prompt_cache_key" not in fields(score_question(), provider="google")


def test_half_characters_do_not_break_the_request() -> None:
    body = fields(text_question("\ud83d"))
    assert body["messages"][0]["content"] == "\ufffd"


def test_a_repair_shows_the_answer_and_what_is_wrong() -> None:
    messages = repair_messages(score_question(), "four", ["the answer is not JSON", "no reason"])
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == "four"
    assert "the answer is not JSON; no reason" in messages[3].content
    assert "JSON Schema" in messages[3].content


def test_the_repair_of_a_text_asks_for_no_schema() -> None:
    messages = repair_messages(text_question(), "", ["the answer is empty"])
    assert messages[1].content == "(no answer)"
    assert "JSON" not in messages[2].content


def test_a_huge_answer_is_quoted_in_part() -> None:
    messages = repair_messages(score_question(), "x" * 1_000_000, ["too long"])
    assert len(messages[2].content) == 20_000
