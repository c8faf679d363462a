"""What an agent's HTTP answer says, in each shape that is understood."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.response_shapes import read_answer
from arksim_ci.schema.simulation import Message, ToolCall


def _chat(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}}]}


TEXTS: list[tuple[str, Any, str]] = [
    ("openai chat", _chat(content="Hi"), "Hi"),
    ("openai chat, error null", {"error": None, **_chat(content="Hi")}, "Hi"),
    ("openai chat, delta", {"choices": [{"delta": {"content": "Hi"}}]}, "Hi"),
    ("openai chat, null content", _chat(content=None), ""),
    ("openai chat, parts", _chat(content=[{"type": "text", "text": "Hi "}, {"type": "text", "text": "you"}]), "Hi you"),
    ("openai chat, image part", _chat(content=[{"type": "image_url"}, {"type": "text", "text": "Hi"}]), "Hi"),
    ("openai chat, refusal", _chat(content=None, refusal="I can't help with that."), "I can't help with that."),
    ("openai completions", {"choices": [{"text": "Hi"}]}, "Hi"),
    (
        "openai responses",
        {
            "error": None,
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thinking"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
                {"type": "message", "content": [{"type": "refusal", "refusal": " No."}]},
            ],
        },
        "Hi No.",
    ),
    ("openai responses, output_text", {"output_text": "Hi"}, "Hi"),
    (
        "anthropic",
        {
            "type": "message",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "H"},
                {"type": "text", "text": "i"},
            ],
        },
        "Hi",
    ),
    ("gemini", {"candidates": [{"content": {"parts": [{"text": "H"}, {"text": "i"}], "role": "model"}}]}, "Hi"),
    (
        "gemini, thought",
        {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Hi"}]}}]},
        "Hi",
    ),
    ("gemini, blocked", {"candidates": [{"finishReason": "SAFETY"}]}, ""),
    ("ollama", {"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": True}, "Hi"),
    *(
        (f"plain {key}", {key: "Hi", "id": 7}, "Hi")
        for key in ("content", "response", "answer", "message", "output", "text")
    ),
    ("plain, the first known key counts", {"text": "b", "response": "a"}, "a"),
]


@pytest.mark.parametrize(("body", "text"), [case[1:] for case in TEXTS], ids=[case[0] for case in TEXTS])
def test_text_is_read(body: Any, text: str) -> None:
    answer = read_answer(body)
    assert (answer.content, answer.tool_calls) == (text, ())


_CALL = ToolCall(id="c1", name="lookup", arguments={"city": "Bern"})
_OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"city": "Bern"}'}}
CALLS: list[tuple[str, Any, str, ToolCall]] = [
    ("22: openai chat, null content", _chat(content=None, tool_calls=[_OPENAI_CALL]), "", _CALL),
    ("openai chat, text as well", _chat(content="One moment", tool_calls=[_OPENAI_CALL]), "One moment", _CALL),
    (
        "openai chat, legacy",
        _chat(content=None, function_call={"name": "lookup", "arguments": '{"city": "Bern"}'}),
        "",
        ToolCall(name="lookup", arguments={"city": "Bern"}),
    ),
    (
        "openai responses",
        {
            "output": [
                {"type": "function_call", "id": "fc", "call_id": "c1", "name": "lookup", "arguments": '{"city": "Bern"}'},
                {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
                {"type": "message", "content": [{"type": "output_text", "text": "Sunny."}]},
            ]
        },
        "Sunny.",
        ToolCall(id="c1", name="lookup", arguments={"city": "Bern"}, result="sunny"),
    ),
    (
        "anthropic",
        {"content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "lookup", "input": {"city": "Bern"}}]},
        "I look.",
        _CALL,
    ),
    (
        "gemini",
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "lookup", "args": {"city": "Bern"}}}]}}]},
        "",
        ToolCall(name="lookup", arguments={"city": "Bern"}),
    ),
    ("plain", {"content": "Done", "tool_calls": [{"id": "c1", "name": "lookup", "arguments": {"city": "Bern"}}]}, "Done", _CALL),
    ("plain, calls only", {"content": None, "tool_calls": [_OPENAI_CALL]}, "", _CALL),
    ("ollama", {"message": {"content": "", "tool_calls": [{"function": {"name": "lookup", "arguments": {"city": "Bern"}}}]}}, "", ToolCall(name="lookup", arguments={"city": "Bern"})),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text", "call"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_tool_calls_are_kept(body: Any, text: str, call: ToolCall) -> None:
    answer = read_answer(body)
    assert (answer.content, answer.tool_calls) == (text, (call,))


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ("", {}),
        (None, {}),
        ("{}", {}),
        ('{"city": ', {"_raw": '{"city": '}),
        ("[1, 2]", {"_raw": "[1, 2]"}),
        ([1, 2], {"_raw": "[1, 2]"}),
        ('{"x": NaN}', {"_raw": '{"x": NaN}'}),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_they_came(arguments: Any, kept: dict[str, Any]) -> None:
    body = _chat(content=None, tool_calls=[{"id": "1", "function": {"name": "f", "arguments": arguments}}])
    assert read_answer(body).tool_calls[0].arguments == kept


def test_arguments_that_nest_deeply_can_still_be_written() -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    body = _chat(content=None, tool_calls=[{"id": "1", "function": {"name": "f", "arguments": deep}}])
    message = Message(
        turn_id=0, message_id="m", role="assistant", content="", tool_calls=list(read_answer(body).tool_calls)
    )
    assert json.loads(message.model_dump_json())["tool_calls"][0]["arguments"] == {"_raw": deep}


def test_calls_without_a_name_are_not_calls() -> None:
    assert read_answer(_chat(content="x", tool_calls=[{"id": "1"}, "nonsense", None])).tool_calls == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "model overloaded", "code": 1}}, "model overloaded"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
        ({"error": "no quota"}, "no quota"),
        ({"error": {"code": 5}}, '{"code": 5}'),
        ({"error": "partial", **_chat(content="Hi")}, "partial"),
    ],
)
def test_an_error_payload_is_no_answer(body: Any, said: str) -> None:
    with pytest.raises(AgentDidNotAnswer, match="the agent answered with an error: ") as caught:
        read_answer(body)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "body", [[], "Hi", 7, None, {}, {"reply": "Hi"}, {"choices": []}, {"content": None}, {"candidates": []}]
)
def test_an_unknown_shape_is_shown_with_what_is_understood(body: Any) -> None:
    with pytest.raises(AgentDidNotAnswer) as caught:
        read_answer(body)
    assert json.dumps(body) in str(caught.value)
    assert "Understood are OpenAI chat completions" in str(caught.value)


def test_only_the_first_300_characters_are_shown_after_secrets_are_hidden() -> None:
    body = {"reply": "x" * 280 + "sk-very-secret-key" + "y" * 1000}
    with pytest.raises(AgentDidNotAnswer) as caught:
        read_answer(body, lambda text: text.replace("sk-very-secret-key", "***"))
    assert "sk-" not in str(caught.value)
    assert "y" * 20 not in str(caught.value)


def test_half_a_surrogate_pair_does_not_reach_our_files() -> None:
    answer = read_answer(json.loads(r'{"content": "a\ud800b"}'))
    assert answer.content.encode("utf-8") == b"a?b"
