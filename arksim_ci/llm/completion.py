"""A chat completion as servers send it: the few fields that we read, each checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from arksim_ci.llm.json_answer import whole_characters, without_thinking
from arksim_ci.llm.prices import Tokens
from arksim_ci.llm.server_error import safe_text

LONGEST_MODEL_NAME = 100


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of an LLM.

    `text` is what it said, or the arguments of its tool call; "" where there is nothing. `flaw` is a sentence for the LLM
    that says why the text can't be whole (refused, filtered, empty), `truncated` says that the output limit cut it off.
    `model` is the name that the server reports, "" without one.
    """

    text: str
    flaw: str | None
    truncated: bool
    model: str
    tokens: Tokens | None


def read_completion(data: Mapping[str, object]) -> Completion:
    """Read the body of an answer with HTTP 200. What is missing or of another type counts as not there."""
    choice = _mapping(_first(data.get("choices")))
    message = _mapping(choice.get("message"))
    reason = choice.get("finish_reason")
    text = _arguments(message) or _text(message.get("content"))
    text = str(whole_characters(without_thinking(text)))
    refusal = message.get("refusal")
    flaw = None
    if isinstance(refusal, str) and refusal.strip():
        flaw = f"the model refused to answer: {safe_text(refusal)}"
    elif reason == "content_filter":
        flaw = "the answer was stopped by the provider's content filter"
    elif not text.strip():
        flaw = "the answer is empty"
    model = data.get("model")
    return Completion(
        text=text,
        flaw=flaw,
        truncated=reason in ("length", "max_tokens"),
        model=safe_text(model, longest=LONGEST_MODEL_NAME) if isinstance(model, str) else "",
        tokens=_tokens(data.get("usage")),
    )


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(content: object) -> str:
    """Content as text; a list of parts is joined."""
    if isinstance(content, list):
        parts = (_mapping(part).get("text") for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _arguments(message: Mapping[str, object]) -> str:
    """The arguments of the first tool call; some servers send them parsed."""
    arguments = _mapping(_mapping(_first(message.get("tool_calls"))).get("function")).get("arguments")
    if isinstance(arguments, dict):
        return json.dumps(arguments)
    return arguments if isinstance(arguments, str) else ""


def _tokens(usage: object) -> Tokens | None:
    fields = _mapping(usage)
    if "prompt_tokens" not in fields and "completion_tokens" not in fields:
        return None
    prompt = _count(fields.get("prompt_tokens"))
    cached = _count(_mapping(fields.get("prompt_tokens_details")).get("cached_tokens"))
    return Tokens(input=prompt, cached=min(cached, prompt), output=_count(fields.get("completion_tokens")))


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
