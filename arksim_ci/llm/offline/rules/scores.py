"""The five turn scores, 1-5, by rule."""

from __future__ import annotations

import re
from typing import Final

from arksim_ci.llm.offline.knowledge import coverage
from arksim_ci.llm.offline.rules.requests import heeds_request, related_words
from arksim_ci.llm.offline.rules.view import Finding, TurnView
from arksim_ci.llm.offline.speech import asks_back, is_small_talk, refuses, without_courtesy
from arksim_ci.llm.offline.text import quote, sentences, stems, words
from arksim_ci.llm.questions.turn import Score

_HELP_AFTER: Final = {
    "disobey user request": 1.0,
    "false information": 1.0,
    "unsafe action": 1.0,
    "failure to ask for clarification": 2.0,
    "lack of specific information": 2.0,
    "repetition": 2.0,
}
_LENGTHS: Final = ((120, 5.0), (180, 4.0), (250, 3.0), (350, 2.0))
"""Most words for a score of verbosity."""
_UNFINISHED = re.compile(r"(?:,|;|\(|–|\b(?:and|or|the|a|an|of|to|with|for|is|are|because|und|der|die|das))\s*$", re.I)


def helpfulness(view: TurnView, failure: Finding | None) -> Score:
    """From the failure, where there is one; else from how much of the knowledge on the question the answer passes on."""
    if failure is not None:
        return Score(_HELP_AFTER.get(failure.label, 2.0), failure.reason)
    if refuses(view.answer):
        return Score(3.0, f"The answer can't help, and the knowledge has nothing that would: {quote(view.answer)}")
    if asks_back(view.answer):
        return Score(4.0, f"The answer asks for what it needs: {quote(asks_back(view.answer))}")
    known = view.about(0.3)
    passed_on = max((coverage(view.answer, statement) for statement in known), default=0.0)
    if passed_on >= 0.3:
        return Score(
            5.0, f"The answer passes on {passed_on:.0%} of what the knowledge says on it: {quote(view.answer)}"
        )
    return Score(4.0, f"No failure found; the knowledge says little on this question: {quote(view.user)}")


def relevance(view: TurnView, failure: Finding | None) -> Score:
    """From the share of sentences that have a word in common with the question, the goal or the knowledge on them."""
    if failure is not None and failure.label == "disobey user request":
        return Score(1.0, failure.reason)
    if heeds_request(view):
        return Score(5.0, f"The answer speaks of what was requested: {quote(view.answer)}")
    if refuses(view.answer) or asks_back(view.answer) or is_small_talk(view.answer):
        return Score(
            5.0 if asks_back(view.answer) else 4.0, f"The answer responds to the message: {quote(view.answer)}"
        )
    related = related_words(view)
    parts = sentences(without_courtesy(view.answer)) or sentences(view.answer)
    hits = sum(bool(stems(part) & related) or len(stems(part)) < 2 for part in parts)
    share = hits / len(parts) if parts else 0.0
    value = 5.0 if share >= 0.5 else 3.0 if share > 0 else 1.0
    return Score(value, f"{hits} of {len(parts)} sentences speak of what was asked.")


def faithfulness(view: TurnView, contradiction: Finding | None) -> Score:
    """1 where a rule found a contradiction with the knowledge, else 5."""
    if contradiction is not None:
        return Score(1.0, contradiction.reason)
    return Score(5.0, "Nothing in the answer contradicts the knowledge, as far as the rules can see.")


def coherence(view: TurnView) -> Score:
    """1 for an empty answer; 2 for one without sentences or with the same words over and over; 3 for one that says a
    sentence twice or breaks off; else 5."""
    said = words(view.answer)
    if not said:
        return Score(1.0, "The answer is empty.")
    if len(said) >= 12 and len(set(said)) / len(said) < 0.35:
        return Score(2.0, f"The same few words over and over: {quote(view.answer)}")
    if sum(len(word) for word in said) / len(said) > 20:
        return Score(2.0, f"The answer is not made of words: {quote(view.answer)}")
    parts = [tuple(words(part)) for part in sentences(view.answer)]
    doubled = next((part for part in parts if len(part) > 3 and parts.count(part) > 1), None)
    if doubled:
        return Score(3.0, f"The answer says a sentence twice: {quote(' '.join(doubled))}")
    if len(said) >= 4 and _UNFINISHED.search(view.answer.rstrip("*_` \n")):
        return Score(3.0, f"The answer breaks off: {quote(view.answer[-80:])}")
    return Score(5.0, "The answer reads in order.")


def verbosity(view: TurnView) -> Score:
    """5 is appropriately succinct: up to 120 words; then one point less at 121, 181, 251 and 351 words. Empty: 1."""
    length = len(words(view.answer))
    if not length:
        return Score(1.0, "The answer is empty.")
    value = next((score for most, score in _LENGTHS if length <= most), 1.0)
    return Score(value, f"The answer has {length} words.")
