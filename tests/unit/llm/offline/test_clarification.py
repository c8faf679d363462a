from __future__ import annotations

import pytest

from arksim_ci.llm.offline.rules.clarification import assumed_detail, identifiers, stated_assumption
from arksim_ci.schema.simulation import ToolCall
from tests.unit.llm.offline.scenes import scenario, view

TWO = scenario(profile="You have two orders: order 1001 is a tent, order 1002 is a jacket.", knowledge=())
ONE = scenario(profile="Your order number is 1001.", knowledge=())
ASKED = "When will my order arrive?"
ACTS = "Order 1001 arrives on Friday."


def test_acting_on_one_of_two_orders_without_asking() -> None:
    found = assumed_detail(view(ASKED, ACTS, on=TWO))
    assert found is not None
    assert found.label == "failure to ask for clarification"
    assert "it could be any of 1001, 1002" in found.reason


def test_an_order_that_nobody_named() -> None:
    found = assumed_detail(view(ASKED, "Your order number 7777 arrives on Friday.", on=ONE))
    assert found is not None


def test_an_argument_of_a_tool_call_counts() -> None:
    call = ToolCall(name="get_order", arguments={"order_id": "1002"})
    found = assumed_detail(view(ASKED, "It arrives on Friday.", on=TWO, tools=(call,)))
    assert found is not None
    assert "get_order(order_id=1002)" in found.reason


def test_asking_knowing_or_having_been_told_is_fine() -> None:
    assert assumed_detail(view(ASKED, "Is it order 1001 or order 1002?", on=TWO)) is None
    assert assumed_detail(view(ASKED, ACTS, on=ONE)) is None
    assert assumed_detail(view("When will order #1001 arrive?", ACTS, on=TWO)) is None
    assert assumed_detail(view("1001", ACTS, ASKED, "What is your order number?", on=TWO)) is None
    assert assumed_detail(view(ASKED, "I have created a new order 9001 for you.", on=TWO)) is None


def test_saying_that_one_assumes() -> None:
    assert stated_assumption(view(ASKED, "I'll assume you mean the tent. It arrives on Friday."))
    assert stated_assumption(view(ASKED, "I assume you mean the tent, is that right?")) is None
    assert stated_assumption(view(ASKED, "It arrives on Friday.")) is None


@pytest.mark.parametrize(
    "text", ["an order of 60 EUR", "order 100 pairs", "a 24-hour account", "policy 2-year", "order before 2 pm"]
)
def test_measures_are_no_identifiers(text: str) -> None:
    assert identifiers(text) == []


def test_identifiers() -> None:
    assert identifiers("order no. 1001, booking AB-1234 and policy number is 998877") == [
        ("order", "1001"),
        ("booking", "ab-1234"),
        ("policy", "998877"),
    ]
