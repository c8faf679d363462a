"""How a scenario and a conversation stand in a judge's prompt: as JSON, one value a line, so that no text can leave its string."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message, ToolCall

_JSON = json.JSONEncoder(ensure_ascii=False)
_LINE_BREAKS = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def clean(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD: such text can't be sent or written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def json_line(value: object) -> str:
    """The value as JSON on one line, whatever a reader takes for a line break; clean of lone surrogates."""
    # JSON escapes control characters; these three are line breaks too, and stand inside strings only.
    text = clean(_JSON.encode(value))
    return text if text.isascii() else text.translate(_LINE_BREAKS)


def scenario_line(scenario: Scenario) -> str:
    """What a judge needs of a scenario."""
    return json_line(
        {
            "user_goal": scenario.goal,
            "user_profile": scenario.user_profile,
            "agent_context": scenario.agent_context,
            "knowledge": [item.content for item in scenario.knowledge],
        }
    )


def conversation_lines(messages: Iterable[Message]) -> list[str]:
    """One line a message. A line depends on its message alone, so that a longer conversation begins with the lines of a shorter one."""
    return [json_line(_message(message)) for message in messages]


def _message(message: Message) -> Mapping[str, object]:
    line: dict[str, object] = {
        "turn": message.turn_id,
        "speaker": "agent" if message.role == "assistant" else "user",
    }
    if message.tool_calls:
        line["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
    return {**line, "text": message.content}


def _tool_call(call: ToolCall) -> Mapping[str, object]:
    line: dict[str, object] = {"name": call.name, "arguments": call.arguments}
    if call.result is not None:
        line["result"] = call.result
    if call.error is not None:
        line["error"] = call.error
    return line
