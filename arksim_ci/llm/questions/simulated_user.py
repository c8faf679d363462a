"""The simulated user's next message."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from arksim_ci.llm.client import ChatMessage, Question, Reading
from arksim_ci.llm.render import render
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message

_THOUGHTS = re.compile(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OWN_ROLE = re.compile(r"^[\s*_\[]*(?:the\s+)?(?:simulated[ _-]user|user|customer|human)\W{0,3}:[*_\s]*", re.IGNORECASE)
_AGENT_KEYS = ("agent", "assistant")
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("'", "'"), ("`", "`"))


@dataclass(frozen=True, slots=True)
class SimulatedUserFacts:
    """Where the conversation stands.

    `system_prompt` is the rendered template of the simulated user; `history` is the conversation so far, ending with the
    agent's answer (empty at the start); `turn_id` counts from 0; `repetition` is the test case's number in its scenario.
    `complaint`, when set, says what was wrong with the message just proposed (empty, a repetition, playing the agent), and
    `rejected` is that message.
    """

    scenario: Scenario
    system_prompt: str
    history: tuple[Message, ...]
    turn_id: int
    max_turns: int
    repetition: int
    complaint: str = ""
    rejected: str = ""


def ask_simulated_user(facts: SimulatedUserFacts) -> Question[str]:
    """Ask for the simulated user's next message, as plain text.

    The roles are flipped: what the simulated user said stands as the LLM's own messages, what the agent said comes to it
    as JSON, `{"agent": "..."}`, on the first line of a message. The messages of one question are the beginning of the
    next one's, so that a provider's prompt cache serves them; only a complaint is added to the last message.

    The answer may be empty and may hold the stop signal: whether it can be sent is for the simulation to decide.
    """
    said = [message for message in facts.history if message.role == "assistant"]
    latest = said[-1] if said else None
    messages = [ChatMessage("system", facts.system_prompt), ChatMessage("user", _turn(None, facts, latest is None))]
    for message in facts.history:
        if message.role == "simulated_user":
            messages.append(ChatMessage("assistant", message.content))
        else:
            messages.append(ChatMessage("user", _turn(message.content, facts, message is latest)))
    return Question(
        name="simulated_user",
        role="simulated_user",
        messages=tuple(messages),
        schema=None,
        read=_read,
        facts=facts,
        case=f"{facts.scenario.scenario_id}/{facts.repetition}/{facts.turn_id}",
    )


def clean_message(text: str) -> str:
    """What a person would have typed: without a model's thoughts, a role in front, quotation marks or JSON around it."""
    cleaned = _THOUGHTS.sub("", text.encode("utf-8", "replace").decode("utf-8")).strip()
    before = None
    while before != cleaned:
        before = cleaned
        cleaned = _unquoted(_unwrapped(_OWN_ROLE.sub("", cleaned).strip()))
    return cleaned


def _turn(agent: str | None, facts: SimulatedUserFacts, is_last: bool) -> str:
    complaint = facts.complaint if is_last else ""
    return render("simulated_user_turn", {"agent": agent, "complaint": complaint, "rejected": facts.rejected}).strip()


def _read(answer: object) -> Reading[str]:
    if not isinstance(answer, str):
        return Reading(None, ("Answer with plain text: the user's next message and nothing else.",))
    return Reading(clean_message(answer))


def _unwrapped(text: str) -> str:
    """The text in a JSON object of one text, as a model writes that copies the form of the agent's messages."""
    if not (text.startswith("{") and text.endswith("}")):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if len(value) != 1:
        return text
    key, said = next(iter(value.items()))
    return said.strip() if isinstance(said, str) and key.lower() not in _AGENT_KEYS else text


def _unquoted(text: str) -> str:
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        quoted = len(text) >= 2 and text.startswith(opening) and text.endswith(closing)
        if quoted and opening not in inner and closing not in inner:
            return inner.strip()
    return text
