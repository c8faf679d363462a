"""Whether what the simulated user's LLM proposes can be said: pure decisions over a text and the conversation so far."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from arksim_ci.schema.simulation import Message

Fault = Literal["empty", "stopped_early", "played_agent", "repeated_itself", "repeated_agent"]

COMPLAINTS: Final[dict[Fault, str]] = {
    "empty": "It was empty.",
    "stopped_early": "The agent has not said anything yet, so the conversation can't be over.",
    "played_agent": "It spoke for the agent. You are the user: say only what the user says.",
    "repeated_itself": "You have sent exactly this before. Say something new, or stop if you have nothing more to say.",
    "repeated_agent": "It repeated the agent's own words. Say what you, the user, want to say.",
}
"""What the LLM is told about a proposal that can't be sent."""

CAUSES: Final[dict[Fault, str]] = {
    "empty": "the simulated user's message was empty, twice",
    "stopped_early": "the simulated user stopped before the agent said anything, twice",
    "played_agent": "the simulated user spoke for the agent, twice",
    "repeated_itself": "the simulated user repeated itself, twice",
    "repeated_agent": "the simulated user repeated the agent's words, twice",
}
"""Why a conversation broke off, when the second proposal is no better."""

_AROUND = r"[\s\"'“”„«»`*_(\[]*"
_STOP = re.compile(rf"{_AROUND}#{{3}}[\s_*]*stop[\s_*]*#{{3}}[\s\"'“”„«»`*_)\]]*", re.IGNORECASE)
_AGENT_LINE = re.compile(
    r"^\W{0,3}(?:the\s+)?(?:(?:ai|support)\s+)?(?:agent|assistant|chatbot|bot|ai)\W{0,3}:", re.I | re.M
)
_AGENT_PHRASE = re.compile(
    r"^(?:[^?]{0,60}\b)?(?:how (?:can|may) i (?:help|assist) you|as an ai (?:language model|assistant))"
    r"|\bis there anything else i can (?:help|assist) you with\W*$",
    re.IGNORECASE,
)
_FEW_CHARACTERS = 12
_FEW_WORDS = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """A message without the stop signal, and whether the signal was there. An empty text with it means: only stop."""

    text: str
    stops: bool


def read_proposal(answer: str) -> Proposal:
    """Tell the stop signal from what is said.

    Case, spaces, quotation marks and punctuation around the signal do not matter.
    """
    if not _STOP.search(answer):
        return Proposal(answer.strip(), stops=False)
    rest = _STOP.sub(" ", answer).strip()
    return Proposal(rest if _says_something(rest) else "", stops=True)


def fault_of(proposal: Proposal, history: Sequence[Message]) -> Fault | None:
    """What is wrong with a proposal; None where it can be sent, or where it rightly ends the conversation."""
    if not proposal.text:
        if not proposal.stops:
            return "empty"
        return None if any(message.role == "assistant" for message in history) else "stopped_early"
    if _AGENT_LINE.search(proposal.text) or _AGENT_PHRASE.search(proposal.text):
        return "played_agent"
    text = _normalised(proposal.text)
    repeated = {message.role for message in history if _normalised(message.content) == text}
    if "simulated_user" in repeated:
        return "repeated_itself"
    return "repeated_agent" if repeated else None


def is_short(text: str) -> bool:
    """Whether a text is so short (`Yes.`, `No, thanks`) that saying it twice means nothing."""
    words = _normalised(text)
    return len(words) <= _FEW_CHARACTERS or ("a" <= words[0] <= "z" and len(words.split()) <= _FEW_WORDS)


def before_the_agent(text: str) -> str:
    """What the user says before the first line that plays the agent; empty where there is nothing."""
    line = _AGENT_LINE.search(text)
    return text[: line.start()].strip() if line else ""


def _says_something(text: str) -> bool:
    """Letters, digits or pictures; not punctuation and spaces alone."""
    return any(
        unicodedata.category(character)[0] in "LN" or unicodedata.category(character) == "So" for character in text
    )


@functools.lru_cache(maxsize=1024)  # every message of a conversation is compared with each new one
def _normalised(text: str) -> str:
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return words or text.strip()
