"""What a reader sees of tool calls that are not the asserted ones."""

from __future__ import annotations

from typing import Any

import pytest

from arksim_ci.gates.trajectory import MatchMode, match
from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.simulation import ToolCall


def wanted(name: str, mode: Any = "exact", **arguments: Any) -> ExpectedToolCall:
    return ExpectedToolCall(name=name, arguments=arguments, arg_match_mode=mode)


def made(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


A, B = wanted("a", x=1), wanted("b", "ignore")
DIFFS: list[tuple[MatchMode, list[ExpectedToolCall], list[ToolCall], list[str]]] = [
    ("strict", [A, B], [made("a", x=1)], ["  a(x=1)", "- b(…)"]),
    ("strict", [A, B], [made("b"), made("a", x=1)], ["- a(x=1)", "+ b()", "- b(…)", "+ a(x=1)"]),
    ("strict", [A], [made("a", x=1), made("c", y=[1, "é"])], ["  a(x=1)", '+ c(y=[1, "é"])']),
    ("unordered", [A, B], [made("b", z=1), made("a", x=2)], ["  b(z=1)", "- a(x=1)", "+ a(x=2)"]),
    ("unordered", [wanted("a", "partial", x=1)], [], ["- a(x=1, …)"]),
    ("unordered", [wanted("a", "partial")], [], ["- a(…)"]),
    ("contains", [A], [made("c"), made("a", x=2)], ["  c()", "  a(x=2)", "- a(x=1)"]),
    ("within", [A], [made("a", x=1), made("a", x=2)], ["  a(x=1)", "+ a(x=2)"]),
    ("unordered", [], [made("delete_account")], ["+ delete_account()"]),
]


@pytest.mark.parametrize(("mode", "expected", "actual", "diff"), DIFFS)
def test_the_diff_of_a_mismatch(
    mode: MatchMode, expected: list[ExpectedToolCall], actual: list[ToolCall], diff: list[str]
) -> None:
    result = match(expected, actual, mode)
    assert not result.passed
    assert list(result.diff) == diff


def test_a_match_has_none_and_long_calls_are_cut_to_one_line() -> None:
    assert match([A], [made("a", x=1)], "strict").diff == ()
    [line] = match([], [made("a", text="x\ny " * 1000)], "strict").diff
    assert "\n" not in line
    assert len(line) < 520
