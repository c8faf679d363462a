from __future__ import annotations

import pytest

from arksim_ci.gates.trajectory import MatchMode, match
from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.simulation import ToolCall


def wanted(spec: str) -> list[ExpectedToolCall]:
    """`a` any arguments, `a(x=1)` exactly these, `a[x=1]` at least these."""
    return [_wanted(part) for part in spec.split()]


def _wanted(part: str) -> ExpectedToolCall:
    for opening, mode in (("(", "exact"), ("[", "partial")):
        if opening in part:
            name, rest = part.split(opening)
            return ExpectedToolCall.model_validate(
                {"name": name, "arguments": _arguments(rest[:-1]), "arg_match_mode": mode}
            )
    return ExpectedToolCall(name=part)


def made(spec: str) -> list[ToolCall]:
    """`a` without arguments, `a(x=1,y=2)` with them."""
    calls = []
    for part in spec.split():
        name, _, rest = part.partition("(")
        calls.append(ToolCall(name=name, arguments=_arguments(rest[:-1]) if rest else {}))
    return calls


def _arguments(text: str) -> dict[str, object]:
    pairs = [pair.split("=") for pair in text.split(",") if pair]
    return {key: int(value) if value.isdigit() else value for key, value in pairs}


CASES: list[tuple[MatchMode, str, str, bool]] = [
    # strict: the same calls at the same places
    ("strict", "a", "a", True),
    ("strict", "a", "b", False),
    ("strict", "a", "", False),
    ("strict", "a b", "a b", True),
    ("strict", "a b", "b a", False),
    ("strict", "a b", "a", False),
    ("strict", "a b", "a b b", False),
    ("strict", "a b", "a b c", False),
    ("strict", "a a", "a a", True),
    ("strict", "a a", "a", False),
    ("strict", "a(x=1) a", "a(x=1) a(x=2)", True),
    ("strict", "a(x=1) a", "a(x=2) a(x=1)", False),
    ("strict", "a(x=1) a(x=2)", "a(x=2) a(x=1)", False),
    ("strict", "", "", True),
    ("strict", "", "a", False),
    # unordered: the same calls in any order
    ("unordered", "a", "a", True),
    ("unordered", "a", "", False),
    ("unordered", "a", "b", False),
    ("unordered", "a b", "b a", True),
    ("unordered", "a b", "a b a", False),
    ("unordered", "a b", "a c", False),
    ("unordered", "a b", "a", False),
    ("unordered", "a a", "a", False),
    ("unordered", "a a", "a a", True),
    ("unordered", "a", "a a", False),
    ("unordered", "a a(x=1)", "a(x=1) a(x=2)", True),
    ("unordered", "a(x=1) a", "a(x=1) a(x=2)", True),
    ("unordered", "a[x=1] a(x=1)", "a(x=1) a(x=1,y=2)", True),
    ("unordered", "a a[x=1] a(x=1)", "a(x=1) a(x=1,y=2) a", True),
    ("unordered", "a(x=1) a(x=1)", "a(x=1) a(x=2)", False),
    ("unordered", "", "", True),
    ("unordered", "", "a", False),
    # contains: at least these
    ("contains", "a", "a", True),
    ("contains", "a", "b a c", True),
    ("contains", "a", "b", False),
    ("contains", "a", "", False),
    ("contains", "a a", "a", False),
    ("contains", "a a", "a b a", True),
    ("contains", "a b", "c b a", True),
    ("contains", "a b", "a c", False),
    ("contains", "a a(x=1)", "a(x=1) a(x=2)", True),
    ("contains", "a a(x=1)", "a(x=1) b", False),
    ("contains", "a(x=1)", "a(x=1,y=2)", False),
    ("contains", "", "", True),
    ("contains", "", "a", False),
    # within: nothing but these
    ("within", "a", "a", True),
    ("within", "a", "", True),
    ("within", "a", "a a a", True),
    ("within", "a", "b", False),
    ("within", "a b", "b", True),
    ("within", "a b", "b a b", True),
    ("within", "a b", "a c", False),
    ("within", "a(x=1)", "a(x=2)", False),
    ("within", "a(x=1) a(x=2)", "a(x=2) a(x=2)", True),
    ("within", "", "", True),
    ("within", "", "a", False),
    # arguments
    ("strict", "a()", "a", True),
    ("strict", "a()", "a(x=1)", False),
    ("strict", "a(x=1)", "a(x=1)", True),
    ("strict", "a(x=1,y=2)", "a(y=2,x=1)", True),
    ("strict", "a(x=1)", "a(x=one)", False),
    ("strict", "a[x=1]", "a(x=1,y=2)", True),
    ("strict", "a[x=1]", "a(x=1)", True),
    ("strict", "a[x=1]", "a(x=2)", False),
    ("strict", "a[x=1]", "a(y=1)", False),
    ("strict", "a[]", "a(y=1)", True),
    ("strict", "a", "a(x=1)", True),
    ("strict", "a", "A", False),
]


@pytest.mark.parametrize(("mode", "expected", "actual", "passes"), CASES)
def test_match(mode: MatchMode, expected: str, actual: str, passes: bool) -> None:
    assert match(wanted(expected), made(actual), mode).passed is passes


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([1], [True], False),
        ({"a": {"b": 1}}, {"a": {"b": 1}}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": 1}, [1], False),
        ("Bücher", "Bücher", True),
    ],
)
@pytest.mark.parametrize("mode", ["exact", "partial"])
def test_arguments_are_compared_as_json(expected: object, actual: object, same: bool, mode: str) -> None:
    want = ExpectedToolCall.model_validate({"name": "a", "arguments": {"x": expected}, "arg_match_mode": mode})
    assert match([want], [ToolCall(name="a", arguments={"x": actual})], "unordered").passed is same


def test_the_explanation_names_what_is_missing_and_what_is_too_much() -> None:
    result = match(wanted("a b"), made("b c c"), "unordered")
    assert result.missing == ("a",)
    assert result.extra == ("c", "c")
    assert result.explanation == "Missing: a. Not expected: c, c."


def test_the_explanation_names_the_first_call_out_of_order() -> None:
    result = match(wanted("a b"), made("b a"), "strict")
    assert result.explanation == "Out of order: call 1 should be a, it is b."
    assert result.missing == result.extra == ()


def test_other_calls_are_not_extra_where_they_are_allowed() -> None:
    assert match(wanted("a b"), made("a c"), "contains").extra == ()


def test_deeply_nested_arguments_are_compared() -> None:
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    want = ExpectedToolCall.model_construct(name="a", arguments={"x": deep}, arg_match_mode="exact")
    assert match([want], [ToolCall.model_construct(name="a", arguments={"x": deep})], "strict").passed


def test_many_calls_are_matched() -> None:
    expected = [ExpectedToolCall(name="a")] * 400
    assert match(expected, [ToolCall(name="a")] * 400, "unordered").passed
