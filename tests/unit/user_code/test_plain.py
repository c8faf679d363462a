from __future__ import annotations

import enum
import json
from typing import Any

import pytest

from arksim_ci.user_code.models import AgentResponse, ToolCall, ToolCallSource
from arksim_ci.user_code.plain import plain
from arksim_ci.user_code.results import WrongAnswer, agent_answer, metric_result


class Odd:
    def __str__(self) -> str:
        return "odd \ud800"


class Kind(enum.Enum):
    A = "a"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": (1, {2})}, {"a": [1, [2]]}),
        ({1: Odd()}, {"1": "odd ?"}),
        (float("nan"), "nan"),
        (-(10**298), -(10**298)),
        ({"n": 10**300}, {"n": hex(10**300)}),
        (Kind.A, "a"),
        ("\udfff", "?"),
        (ToolCall(id="1", name="n", source=ToolCallSource.OTEL_TRACE), {"id": "1", "name": "n", "arguments": {}, "result": None, "error": None, "source": "otel_trace"}),
    ],
)  # fmt: skip
def test_everything_becomes_json(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    json.dumps(plain(value)).encode("ascii")


def test_bottomless_data_is_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "..." in json.dumps(plain(loop))


def test_an_answer_is_a_text_a_response_or_a_dictionary() -> None:
    call = ToolCall(id="1", name="n", arguments={"a": 1})
    assert agent_answer("hello", []) == {"content": "hello", "tool_calls": []}
    assert agent_answer(AgentResponse(content="x", tool_calls=[call]), [])["tool_calls"][0]["name"] == "n"
    assert agent_answer({"content": None, "tool_calls": [{"name": "n"}]}, []) == {
        "content": "",
        "tool_calls": [{"name": "n"}],
    }


def test_traced_calls_are_added_once() -> None:
    same_id = ToolCall(id="1", name="n", arguments={"a": 1})
    same_call = ToolCall(id="span", name="m", arguments={"b": 2})
    new = ToolCall(id="2", name="n", arguments={"a": 2})
    answer = {"content": "x", "tool_calls": [same_id, {"name": "m", "arguments": {"b": 2}}]}
    merged = agent_answer(answer, [same_id, same_call, new, new])["tool_calls"]
    assert [call["name"] for call in merged] == ["n", "m", "n"]


@pytest.mark.parametrize(
    "answer", [None, 5, ["text"], {"text": "x"}, {"content": 5}, {"content": "x", "tool_calls": "y"}]
)
def test_another_answer_is_refused(answer: Any) -> None:
    with pytest.raises(WrongAnswer, match=r"execute\(\) returned"):
        agent_answer(answer, [])


@pytest.mark.parametrize("result", [None, 4.0, "good", {"name": "x"}])
def test_another_result_is_refused(result: Any) -> None:
    with pytest.raises(WrongAnswer, match="must return a QuantResult"):
        metric_result(result, "x", "score", numeric=True)


def test_a_value_must_fit_its_kind() -> None:
    with pytest.raises(WrongAnswer, match="'much', which is no number"):
        metric_result({"value": "much"}, "x", "score", numeric=True)
    with pytest.raises(WrongAnswer, match="a label of type float"):
        metric_result({"value": 1.0}, "x", "evaluate", numeric=False)
