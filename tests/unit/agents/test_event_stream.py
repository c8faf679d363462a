"""Streamed answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.event_stream import read_event_stream
from arksim_ci.agents.response_shapes import read_answer
from arksim_ci.schema.simulation import ToolCall


def _stream(*deltas: dict[str, Any]) -> str:
    lines = [f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]}, ensure_ascii=False)}" for delta in deltas]
    return "\n\n".join([": a comment", *lines, 'data: {"choices": [], "usage": {}}', "data: [DONE]", ""])


def test_pieces_of_text_and_of_tool_calls_are_joined() -> None:
    text = _stream(
        {"role": "assistant", "content": ""},
        {"content": "One\u2028"},
        {"content": "moment"},
        {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "lookup", "arguments": '{"ci'}}]},
        {"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "log", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": 'ty": "Bern"}'}}]},
    )
    answer = read_answer(read_event_stream(text.replace("\n", "\r\n")))
    assert answer.content == "One\u2028moment"
    assert answer.tool_calls == (
        ToolCall(id="c1", name="lookup", arguments={"city": "Bern"}),
        ToolCall(id="c2", name="log"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('event: message_start\ndata: {"type": "message_start"}\n\n', "stream: false"),
        ("data: hello\n\n", "not JSON"),
        ("data: [DONE]\n\n", "no data"),
        ('data: {"choices": [7]}\ndata: ["x"]\n', "unknown shape"),
    ],
)
def test_other_streams_are_a_clear_error(text: str, said: str) -> None:
    with pytest.raises(AgentDidNotAnswer, match=said):
        read_event_stream(text)


def test_an_error_in_the_stream_is_no_answer() -> None:
    with pytest.raises(AgentDidNotAnswer, match="overloaded"):
        read_answer(read_event_stream(_stream({"content": "Hi"}) + 'data: {"error": {"message": "overloaded"}}\n'))
