from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from arksim_ci.user_code.tracing import (
    begin_turn,
    extract_tool_calls,
    make_processor_class,
    tool_call_of_span,
    trace_receiver_ref,
)


def item(kind: str, raw: Any) -> SimpleNamespace:
    return SimpleNamespace(type=kind, raw_item=raw)


def test_calls_are_paired_with_their_outputs_in_order() -> None:
    call = SimpleNamespace(type="function_call", call_id="1", name="search", arguments='{"q": "shoes"}')
    result = SimpleNamespace(
        new_items=[
            item("message_output_item", SimpleNamespace(type="message")),
            item("tool_call_item", call),
            item("tool_call_output_item", {"call_id": "1", "output": [{"n": 1}]}),
            item("tool_call_item", {"type": "function_call", "call_id": "2", "name": "buy", "arguments": "not JSON"}),
            item("tool_call_item", {"type": "web_search_call", "id": "3"}),
        ]
    )
    first, second = extract_tool_calls(result)
    assert (first.id, first.name, first.arguments, first.result) == ("1", "search", {"q": "shoes"}, '[{"n": 1}]')
    assert (second.id, second.name, second.arguments, second.result) == ("2", "buy", {}, None)
    assert first.model_dump(mode="json")["source"] == "openai_agents"


def test_a_function_span_is_a_tool_call() -> None:
    data = SimpleNamespace(type="function", name="search", input='{"q": 1}', output={"n": 2})
    call = tool_call_of_span(SimpleNamespace(span_id="s", span_data=data, error={"message": "no", "data": None}))
    assert call is not None
    assert (call.id, call.arguments, call.result, call.error) == ("s", {"q": 1}, '{"n": 2}', "no")
    assert tool_call_of_span(SimpleNamespace(span_data=SimpleNamespace(type="agent"))) is None


def test_the_receiver_of_a_turn_is_in_its_context() -> None:
    receiver = begin_turn("c", 0)
    trace_receiver_ref.get().submit_tool_calls("c", 0, ["call"])
    assert receiver.tool_calls == ["call"]


def test_the_processor_says_what_it_needs() -> None:
    with pytest.raises(ImportError, match="openai-agents"):
        make_processor_class()()
