"""Which turn a span belongs to, and when its spans are all there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arksim_ci.agents.trace_context import parent_span_id, trace_id, turn_headers
from arksim_ci.agents.traces_otlp import Span, read_json
from arksim_ci.agents.traces_turns import OpenTurns
from tests.support.spans import request, span, tool_span


def read(*spans: dict[str, Any], **resource: Any) -> list[Span]:
    return read_json(json.dumps(request(*spans, resource=resource or None)).encode())


def test_by_the_attributes_of_the_span() -> None:
    turns = OpenTurns()
    first, second = turns.begin("c1", 0), turns.begin("c2", 0)
    turns.take(read(tool_span("a", of=("c1", 0)), tool_span("b", of=("c2", 0)), tool_span("c", of=("c3", 0))))
    assert [each.name for each in first.spans] == ["execute_tool a"]
    assert [each.name for each in second.spans] == ["execute_tool b"]


def test_by_the_attributes_of_the_resource_which_the_spans_own_beat() -> None:
    turns = OpenTurns()
    first, second = turns.begin("c1", 0), turns.begin("c1", 1)
    spans = read(tool_span("a"), tool_span("b", of=("c1", 1)), **{"arksim.conversation_id": "c1", "arksim.turn_id": 0})
    turns.take(spans)
    assert [len(first.spans), len(second.spans)] == [1, 1]


@pytest.mark.parametrize("turn", ["0", 0])
def test_a_turn_number_may_be_a_text(turn: object) -> None:
    turns = OpenTurns()
    begun = turns.begin("c1", 0)
    turns.take(read(span("x", {"arksim.conversation_id": "c1", "arksim.turn_id": turn})))
    assert len(begun.spans) == 1


def test_without_a_turn_it_is_the_one_under_way() -> None:
    turns = OpenTurns()
    turns.end(turns.begin("c1", 0))
    begun = turns.begin("c1", 1)
    turns.take(read(span("x", {"arksim.conversation_id": "c1"})))
    assert len(begun.spans) == 1


def test_by_the_trace_that_our_request_began() -> None:
    turns = OpenTurns()
    begun = turns.begin("c1", 3)
    _, trace, parent, flags = turn_headers("c1", 3)["traceparent"].split("-")
    assert (trace, parent, flags) == (trace_id("c1", 3), parent_span_id("c1", 3), "01")
    turns.take(read(span("POST /chat", trace=trace, parent=parent), tool_span("f", trace=trace, span_id="2")))
    assert len(begun.spans) == 2
    assert begun.is_complete


def test_by_another_span_of_the_trace_that_comes_later() -> None:
    turns = OpenTurns()
    begun = turns.begin("c1", 0)
    assert turns.take(read(tool_span("f", span_id="2", parent="1"))) == []
    root = span("agent", {"arksim.conversation_id": "c1", "arksim.turn_id": 0}, span_id="1")
    assert turns.take(read(root)) == [begun]
    assert [each.name for each in begun.spans] == ["execute_tool f", "agent"]
    turns.take(read(tool_span("g", span_id="3", parent="1")))
    assert len(begun.spans) == 3


def test_a_turn_is_complete_when_every_parent_has_come() -> None:
    turns = OpenTurns()
    begun = turns.begin("c1", 0)
    assert not begun.is_complete
    turns.take(read(tool_span("f", of=("c1", 0), span_id="2", parent="1")))
    assert not begun.is_complete
    turns.take(read(span("agent", span_id="1")))
    assert begun.is_complete


def test_spans_that_come_too_late_are_said_once() -> None:
    said: list[str] = []
    turns = OpenTurns(said.append)
    turns.end(turns.begin("c1", 0))
    later = turns.begin("c1", 1)
    turns.take(read(tool_span("a", of=("c1", 0)), tool_span("b", of=("c1", 0), span_id="2")))
    assert later.spans == []
    assert len(said) == 1
    assert "raise trace_receiver.wait_timeout" in said[0]


def test_spans_of_nobody_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arksim_ci.agents.traces_turns.MOST_SPANS_IN_HAND", 10)
    turns = OpenTurns()
    for number in range(50):
        turns.take(read(span("x", trace=f"{number:032x}")))
    assert sum(map(len, turns._in_hand.values())) == 10
