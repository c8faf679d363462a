"""Builds the body of a request from a question."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from arksim_ci.config.model import Provider
from arksim_ci.llm.client import ChatMessage, Question
from arksim_ci.llm.json_answer import whole_characters
from arksim_ci.llm.providers import output_limit_name
from arksim_ci.llm.render import render
from arksim_ci.llm.structured import SHOWS_SCHEMA_IN_PROMPT, Form, form_fields, schema_text

OUTPUT_LIMIT: Final = 16_384
"""Tokens of one answer: a bound on what a model that never stops can cost, far above what an answer needs."""
_SHARED_START: Final = 1_000
_LONGEST_QUOTED_ANSWER: Final = 20_000


def request_fields(
    provider: Provider,
    model: str,
    question: Question[Any],
    messages: Sequence[ChatMessage],
    *,
    form: Form | None,
    output_limit: int,
) -> dict[str, Any]:
    """The fields of a chat completion request.

    No temperature is sent: reasoning models refuse every value but their own, and an LLM judge's answers flip about as
    often at temperature 0 (arXiv 2606.13685). `form` says how JSON is asked for, None for a question whose answer is text.
    `output_limit` is in tokens.
    """
    wire: list[dict[str, Any]] = [
        {"role": message.role, "content": whole_characters(message.content)} for message in messages
    ]
    fields: dict[str, Any] = {"model": model, "messages": wire, output_limit_name(provider): output_limit}
    if question.schema is not None and form is not None:
        fields |= form_fields(form, question.name, question.schema)
        if form in SHOWS_SCHEMA_IN_PROMPT:
            _append(wire, render("answer_in_json", {"schema": schema_text(question.schema)}))
    if provider == "openai":
        fields["prompt_cache_key"] = _cache_key(question)
    return fields


def repair_messages(question: Question[Any], answer: str, problems: Sequence[str]) -> list[ChatMessage]:
    """The question once more, with the answer that can't be used and what is wrong with it."""
    schema = None if question.schema is None else schema_text(question.schema)
    return [
        *question.messages,
        ChatMessage("assistant", answer[:_LONGEST_QUOTED_ANSWER].strip() or "(no answer)"),
        ChatMessage("user", render("answer_repair", {"problems": "; ".join(problems), "schema": schema})),
    ]


def _append(messages: list[dict[str, Any]], text: str) -> None:
    """Add to the last message of the user, where it is one: some models want the roles to alternate."""
    if messages and messages[-1]["role"] == "user":
        messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{text}"}
    else:
        messages.append({"role": "user", "content": text})


def _cache_key(question: Question[Any]) -> str:
    """Sends questions that begin alike (the turns of a scenario's conversations) to the machine that has their prefix cached."""
    starts = [
        message.content[: _SHARED_START if index else None] for index, message in enumerate(question.messages[:2])
    ]
    return hashlib.sha256("\0".join([question.name, *starts]).encode("utf-8", "replace")).hexdigest()[:32]


def text_fields(model: str, text: str, limit_name: str, limit: int) -> Mapping[str, Any]:
    """The fields of a tiny request that only sees whether model and key work."""
    return {"model": model, "messages": [{"role": "user", "content": text}], limit_name: limit}
