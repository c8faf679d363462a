"""What an agent's HTTP answer says, in any of the shapes that chat APIs use. Pure: JSON in, an answer out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from arksim_ci.agents.agent import AgentAnswer, AgentDidNotAnswer
from arksim_ci.agents.tool_arguments import UNREADABLE, fits
from arksim_ci.schema.simulation import ToolCall

UNDERSTOOD: Final = (
    "OpenAI chat completions (choices), OpenAI responses (output), Anthropic messages (content blocks), Gemini (candidates) "
    "and plain objects with one of content, response, answer, message, output, text"
)
"""For error messages: the shapes that can be read."""

_PLAIN_KEYS = ("content", "response", "answer", "message", "output", "text")
_SHOWN_CHARACTERS = 300


def read_answer(body: object, hide: Callable[[str], str] = str) -> AgentAnswer:
    """Read what the agent said and which tools it called.

    Text parts are joined, null content is no text, a refusal's text is text. The arguments of a tool call are parsed from
    JSON where they are text; what can't be kept as a JSON object is kept as `{"_raw": ...}`. An empty answer is left to
    the caller.

    Args:
        body: the parsed JSON.
        hide: blanks secrets in a text before its beginning is shown in an error.

    Raises:
        AgentDidNotAnswer: an error payload, or a shape that is not known.
    """
    body = _encodable(body)
    if not isinstance(body, Mapping):
        raise AgentDidNotAnswer(_not_understood(body, hide))
    if body.get("error"):
        raise AgentDidNotAnswer(f"the agent answered with an error: {shorten(hide(_error_text(body['error'])))}")
    answer = _read_known_shape(body)
    if answer is None:
        raise AgentDidNotAnswer(_not_understood(body, hide))
    return answer


def shorten(text: str) -> str:
    """The first 300 characters of a text, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"


def _read_known_shape(body: Mapping[str, Any]) -> AgentAnswer | None:
    if isinstance(body.get("choices"), list):
        return _openai_chat(body["choices"])
    if isinstance(body.get("candidates"), list):
        return _gemini(body["candidates"])
    if isinstance(body.get("output"), list):
        return _openai_responses(body["output"])
    if isinstance(body.get("content"), list):
        return _blocks(body["content"])
    if isinstance(body.get("output_text"), str):
        return AgentAnswer(body["output_text"])
    return _plain(body)


def _openai_chat(choices: list[Any]) -> AgentAnswer | None:
    if not choices or not isinstance(choices[0], Mapping):
        return None
    message = choices[0].get("message") or choices[0].get("delta")
    if not isinstance(message, Mapping):
        return AgentAnswer(choices[0]["text"]) if isinstance(choices[0].get("text"), str) else None
    return _openai_message(message)


def _openai_message(message: Mapping[str, Any]) -> AgentAnswer:
    """A message of chat completions; Ollama's own API has the same."""
    text = _text_of(message.get("content")) or _text_of(message.get("refusal"))
    calls = read_tool_calls(message.get("tool_calls"))
    legacy = message.get("function_call")
    if not calls and isinstance(legacy, Mapping):
        calls = read_tool_calls([legacy])
    return AgentAnswer(text, calls)


def _openai_responses(items: list[Any]) -> AgentAnswer:
    results = {
        str(item.get("call_id")): _text_of(item.get("output"))
        for item in _objects(items)
        if item.get("type") == "function_call_output"
    }
    texts: list[str] = []
    calls: list[ToolCall] = []
    for item in _objects(items):
        if item.get("type") == "message":
            texts.append(_text_of(item.get("content")))
        elif item.get("type") in ("function_call", "custom_tool_call", "mcp_call"):
            call_id = str(item.get("call_id") or item.get("id") or "")
            result = results.get(call_id) or _text_of(item.get("output")) or None
            arguments = item.get("arguments", item.get("input"))
            calls.extend(_tool_call(item.get("name"), arguments, call_id, result=result, error=item.get("error")))
    return AgentAnswer("".join(texts), tuple(calls))


def _blocks(blocks: list[Any]) -> AgentAnswer:
    """Anthropic's content blocks."""
    calls: list[ToolCall] = []
    for block in _objects(blocks):
        if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
            calls.extend(_tool_call(block.get("name"), block.get("input"), str(block.get("id") or "")))
    return AgentAnswer(_text_of(blocks), tuple(calls))


def _gemini(candidates: list[Any]) -> AgentAnswer | None:
    if not candidates or not isinstance(candidates[0], Mapping):
        return None
    content = candidates[0].get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    texts: list[str] = []
    calls: list[ToolCall] = []
    for part in _objects(parts):
        if isinstance(part.get("text"), str) and not part.get("thought"):
            texts.append(part["text"])
        call = part.get("functionCall") or part.get("function_call")
        if isinstance(call, Mapping):
            calls.extend(_tool_call(call.get("name"), call.get("args"), str(call.get("id") or "")))
    return AgentAnswer("".join(texts), tuple(calls))


def _plain(body: Mapping[str, Any]) -> AgentAnswer | None:
    calls = read_tool_calls(body.get("tool_calls"))
    for key in _PLAIN_KEYS:
        value = body.get(key)
        if isinstance(value, str):
            return AgentAnswer(value, calls)
        if isinstance(value, Mapping) and ("content" in value or "tool_calls" in value):
            inner = _openai_message(value)
            return AgentAnswer(inner.content, inner.tool_calls or calls)
    return AgentAnswer("", calls) if calls else None


def _text_of(content: object) -> str:
    """The text of a string, or of a list of parts as OpenAI and Anthropic write them."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text", "refusal"):
            text = part.get("text", part.get("refusal"))
            texts.append(text if isinstance(text, str) else "")
    return "".join(texts)


def read_tool_calls(calls: object) -> tuple[ToolCall, ...]:
    """Read a list of tool calls as OpenAI writes them; also without the `function` in between.

    What is no call with a name is left out. A result that is no text stands as JSON text.
    """
    found: list[ToolCall] = []
    for call in _objects(calls):
        inner = call.get("function") or call.get("custom")
        function = inner if isinstance(inner, Mapping) else call
        arguments = function.get("arguments", function.get("input"))
        result = _result_text(call.get("result"))
        found.extend(_tool_call(function.get("name"), arguments, str(call.get("id") or ""), result, call.get("error")))
    return tuple(found)


def _result_text(result: object) -> str | None:
    text = _text_of(result)
    if text or result is None or result in ("", []):
        return text or None
    return json.dumps(result, ensure_ascii=False)


def _tool_call(
    name: object, arguments: object, call_id: str, result: str | None = None, error: object = None
) -> Iterable[ToolCall]:
    """One call, or none where it has no name."""
    if isinstance(name, str) and name:
        problem = _error_text(error) if error else None
        yield ToolCall(id=call_id, name=name, arguments=_arguments(arguments), result=result, error=problem)


def _arguments(arguments: object) -> dict[str, Any]:
    value = arguments
    if isinstance(arguments, str):
        if not arguments.strip():
            return {}
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return {UNREADABLE: arguments}
    if value is None:
        return {}
    if isinstance(value, Mapping) and fits(value):
        return dict(value)
    return {UNREADABLE: arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)}


def _objects(items: object) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _error_text(error: object) -> str:
    message = error.get("message") if isinstance(error, Mapping) else error
    return message if isinstance(message, str) and message else json.dumps(error, ensure_ascii=False)


def _encodable(body: object) -> object:
    """The same JSON without halves of surrogate pairs, which no file can hold."""
    try:
        text = json.dumps(body, ensure_ascii=False)
    except RecursionError:
        raise AgentDidNotAnswer("the agent's answer is JSON that nests too deeply") from None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        cleaned: object = json.loads(text.encode("utf-8", "replace"))
        return cleaned
    return body


def _not_understood(body: object, hide: Callable[[str], str]) -> str:
    shown = shorten(hide(json.dumps(body, ensure_ascii=False)))
    return f"the agent's answer has no known shape: {shown} Understood are {UNDERSTOOD}."
