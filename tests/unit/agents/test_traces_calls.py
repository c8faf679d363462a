"""Which tool calls a turn's spans show, and how they meet those of the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arksim_ci.agents.traces_calls import merged, tool_calls
from arksim_ci.agents.traces_otlp import NotOtlp, Span, read_json, read_protobuf
from arksim_ci.schema.simulation import ToolCall
from tests.support.spans import request, span, tool_span


def spans(*given: dict[str, Any]) -> list[Span]:
    return read_json(json.dumps(request(*given)).encode())


def calls(*given: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in tool_calls(spans(*given))]


def test_the_genai_conventions() -> None:
    given = span(
        "execute_tool get_order",
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_order",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.tool.call.arguments": '{"id": 7}',
            "gen_ai.tool.call.result": '{"status": "shipped"}',
        },
    )
    assert tool_calls(spans(given)) == [
        ToolCall(
            id="call_1", name="get_order", arguments={"id": 7}, result='{"status": "shipped"}', source="otel_trace"
        )
    ]


def test_the_genai_conventions_with_structured_values() -> None:
    attributes = {
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.arguments": {"ids": [1, 2], "deep": {"on": True, "x": 0.5}},
    }
    [call] = tool_calls(spans(span("x", attributes | {"gen_ai.tool.call.result": {"n": 1}})))
    assert call.arguments == {"ids": [1, 2], "deep": {"on": True, "x": 0.5}}
    assert call.result == '{"n": 1}'


def test_the_openinference_conventions() -> None:
    given = span(
        "ignored",
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_order",
            "tool_call.id": "call_1",
            "input.value": '{"id": 7}',
            "output.value": "shipped",
            "tool.parameters": '{"id": "int"}',
        },
    )
    assert tool_calls(spans(given)) == [
        ToolCall(id="call_1", name="get_order", arguments={"id": 7}, result="shipped", source="otel_trace")
    ]


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("execute_tool get_order", {}, ("get_order", {})),
        ("x", {"tool.name": "f", "tool.parameters": '{"a": 1}'}, ("f", {"a": 1})),
        ("x", {"tool.name": "f", "tool_call.function.arguments": '{"a": 1}'}, ("f", {"a": 1})),
        ("lookup", {"openinference.span.kind": "TOOL", "input.value": '{"a": 1}'}, ("lookup", {"a": 1})),
        ("x", {"tool.name": "f", "input.value": "plain text"}, ("f", {"_raw": "plain text"})),
    ],
)
def test_other_ways_to_write_it(name: str, attributes: dict[str, Any], expected: tuple[str, dict[str, Any]]) -> None:
    assert calls(span(name, attributes)) == [expected]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("POST /orders", {"http.request.method": "POST"}),
        ("chat gpt", {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "f"}),
        ("llm", {"openinference.span.kind": "LLM", "tool.name": "f"}),
        ("agent", {"openinference.span.kind": "AGENT"}),
        ("execute_tool ", {"gen_ai.operation.name": "execute_tool"}),
    ],
)
def test_what_is_no_tool_call(name: str, attributes: dict[str, Any]) -> None:
    assert calls(span(name, attributes)) == []


def test_a_span_that_failed_is_a_call_with_an_error() -> None:
    failed = tool_span("f", status={"code": 2, "message": "no such order"})
    nameless = tool_span("g", span_id="b", status={"code": "STATUS_CODE_ERROR"})
    fine = tool_span("h", span_id="c", status={"code": 1})
    assert [call.error for call in tool_calls(spans(failed, nameless, fine))] == [
        "no such order",
        "unknown error",
        None,
    ]


def test_calls_stand_in_the_order_in_which_they_began() -> None:
    assert [name for name, _ in calls(tool_span("b", span_id="2", start=9), tool_span("a", span_id="1", start=3))] == [
        "a",
        "b",
    ]


def test_a_call_with_several_spans_is_one_call_and_one_made_twice_is_two() -> None:
    sent_twice = tool_span("f", {"x": 1})
    assert len(calls(sent_twice, sent_twice)) == 1
    with_id = {"gen_ai.tool.call.id": "call_1"}
    assert (
        len(calls(tool_span("f", span_id="1", attributes=with_id), tool_span("f", span_id="2", attributes=with_id)))
        == 1
    )
    assert len(calls(tool_span("f", {"x": 1}, span_id="1"), tool_span("f", {"x": 1}, span_id="2", parent="1"))) == 1
    assert len(calls(tool_span("f", {"x": 1}, span_id="1"), tool_span("g", {"x": 1}, span_id="2", parent="1"))) == 2
    assert len(calls(tool_span("f", {"x": 1}, span_id="1"), tool_span("f", {"x": 1}, span_id="2"))) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"7",
        b'"x"',
        b"{",
        b'{"resourceSpans": 7}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [1]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [1]}]}]}]}',
        b"[" * 100000,
    ],
)
def test_what_is_no_otlp_is_said(body: bytes) -> None:
    with pytest.raises(NotOtlp, match="no OTLP JSON"):
        read_json(body)
    with pytest.raises(NotOtlp, match="no OTLP protobuf"):
        read_protobuf(b"\xff\xff" + body)


def call(name: str, call_id: str = "", result: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments, result=result)


def names(result: tuple[ToolCall, ...]) -> list[str]:
    return [each.id or each.name for each in result]


def test_a_traced_call_that_the_answer_shows_is_not_doubled_and_gives_its_result() -> None:
    assert merged([call("f", "1", x=1)], [call("f", "1", "42", x=1)]) == (call("f", "1", "42", x=1),)
    assert merged([call("f", "1", x=1)], [call("f", "span", "42", x=1)]) == (call("f", "1", "42", x=1),)
    assert merged([call("f", "1", "41", x=1)], [call("f", "1", "42", x=1)]) == (call("f", "1", "41", x=1),)


def test_an_id_beats_name_and_arguments() -> None:
    shown = [call("f", "1", x=1), call("f", "2", x=1)]
    result = merged(shown, [call("f", "2", "second", x=1), call("f", "1", "first", x=1)])
    assert [each.result for each in result] == ["first", "second"]


def test_what_only_the_traces_show_is_added() -> None:
    assert names(merged([call("f", "1")], [call("g", "2"), call("f", "3", y=2)])) == ["1", "2", "3"]
    assert names(merged([], [call("g", "2"), call("g", "3")])) == ["2", "3"]


def test_a_call_that_was_made_more_often_than_the_answer_shows_stays_so() -> None:
    assert names(merged([call("f", "1", x=1)], [call("f", "1", x=1), call("f", "s2", x=1)])) == ["1", "s2"]
    assert names(merged([call("f", "", x=1)], [call("f", "s1", x=1), call("f", "s2", x=1)])) == ["f", "s2"]
