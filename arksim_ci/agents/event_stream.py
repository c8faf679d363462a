"""An answer that arrives as server-sent events, as chat completions stream it, put together to one answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from arksim_ci.agents.agent import AgentDidNotAnswer


def read_event_stream(text: str) -> dict[str, Any]:
    """Join the pieces of a streamed chat completion to the body that it would have had unstreamed.

    Raises:
        AgentDidNotAnswer: the stream is not one of OpenAI-shaped chunks, or it carries an error.
    """
    content: list[str] = []
    calls: dict[str, dict[str, Any]] = {}
    seen = False
    for chunk in _chunks(text):
        if chunk.get("error"):
            return chunk
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise AgentDidNotAnswer(
                "the agent streams events of an unknown shape. Streamed OpenAI chat completions are understood; "
                "set `stream: false` in api_config.body for anything else."
            )
        seen = True
        choice = _object(choices[0]) if choices else {}
        delta = _object(choice.get("delta") or choice.get("message"))
        content.append(_string(delta.get("content") or delta.get("refusal")))
        pieces = delta.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            _add_piece(calls, _object(piece))
    if not seen:
        raise AgentDidNotAnswer("the agent's event stream holds no data")
    return {"choices": [{"message": {"content": "".join(content), "tool_calls": list(calls.values())}}]}


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data in ("", "[DONE]"):
            continue
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise AgentDidNotAnswer("the agent's event stream holds data that is not JSON") from None
        yield _object(chunk)


def _add_piece(calls: dict[str, dict[str, Any]], piece: dict[str, Any]) -> None:
    """Add a piece of a tool call: the first names it, the later ones continue its arguments."""
    index = str(piece.get("index", len(calls)))
    call = calls.setdefault(index, {"id": "", "function": {"name": "", "arguments": ""}})
    function = _object(piece.get("function"))
    call["id"] = call["id"] or _string(piece.get("id"))
    call["function"]["name"] += _string(function.get("name"))
    call["function"]["arguments"] += _string(function.get("arguments"))


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
