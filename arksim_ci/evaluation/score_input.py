"""What a custom metric gets to see: ArkSim's `ScoreInput`, as plain data."""

from __future__ import annotations

from collections.abc import Sequence

from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message

_ROLES = {"simulated_user": "user", "assistant": "assistant"}


def score_input(scenario: Scenario, history: Sequence[Message], current: Sequence[Message]) -> dict[str, object]:
    """The fields of `ScoreInput`.

    `history` is the conversation up to and with the judged turn, `current` that turn's messages; for a whole conversation
    `current` is empty and `tool_calls` are those of all turns. Knowledge is one text, its items numbered as ArkSim numbers them.
    """
    return {
        "chat_history": _chat(history),
        "current_turn": _chat(current),
        "knowledge": "\n\n".join(f"Knowledge {n}:\n{item.content}" for n, item in enumerate(scenario.knowledge, 1)),
        "user_goal": scenario.goal,
        "profile": scenario.user_profile,
        "tool_calls": [call.model_dump() for message in (current or history) for call in message.tool_calls or []],
    }


def _chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": _ROLES[message.role], "content": message.content} for message in messages]
