"""Questions for tests."""

from __future__ import annotations

from typing import Any

from arksim_ci.llm.client import ChatMessage, Question, Reading, Role

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reason": {"type": "string"}},
    "required": ["score", "reason"],
    "additionalProperties": False,
}


def read_score(raw: object) -> Reading[float]:
    """Takes a score from 1 to 5; keeps the number where only the reason is missing."""
    fields = raw if isinstance(raw, dict) else {}
    score, reason = fields.get("score"), fields.get("reason")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 1 <= score <= 5:
        return Reading(None, (f"score must be a number from 1 to 5, not {score!r}",))
    if not isinstance(reason, str) or not reason:
        return Reading(float(score), ("reason must be a text",))
    return Reading(float(score))


def read_text(raw: object) -> Reading[str]:
    return Reading(str(raw))


def score_question(text: str = "How good is it?", *, case: str = "", role: Role = "judge") -> Question[float]:
    messages = (ChatMessage("system", "You are a judge."), ChatMessage("user", text))
    return Question("judge_turn", role, messages, SCHEMA, read_score, None, case)


def text_question(text: str = "Say something.") -> Question[str]:
    return Question("simulated_user", "simulated_user", (ChatMessage("user", text),), None, read_text, None)
