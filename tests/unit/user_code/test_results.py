from __future__ import annotations

import pytest

from arksim_ci.user_code.results import WrongAnswer, agent_answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"contnt": "Hi", "tool_calls": []}, 'execute() returned a dict without "content" (keys: contnt, tool_calls)'),
        ({}, 'execute() returned a dict without "content" (keys: none)'),
        ({7: "Hi"}, 'execute() returned a dict without "content" (keys: 7)'),
        (5, "execute() returned int; it must return a text, or a response with `content` and `tool_calls`"),
    ],
)
def test_what_is_no_answer_is_named(answer: object, message: str) -> None:
    with pytest.raises(WrongAnswer) as raised:
        agent_answer(answer, [])
    assert str(raised.value) == message


def test_a_dict_with_content_is_an_answer() -> None:
    assert agent_answer({"content": "Hi"}, []) == {"content": "Hi", "tool_calls": []}
