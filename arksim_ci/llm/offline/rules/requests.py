"""Label `disobey user request`: what the user asks for is ignored or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.offline.knowledge import STRONG_MATCH, coverage
from arksim_ci.llm.offline.rules.view import Finding, TurnView
from arksim_ci.llm.offline.speech import asks_back, confirms, is_small_talk, refuses
from arksim_ci.llm.offline.text import negated, quote, sentences, stems, words

LABEL: Final = "disobey user request"
BRIEF_WORDS: Final = 45
"""Longest answer, in words, to a user who asked for a short one."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kind of request: how users word it, and what an answer that heeds it speaks of."""

    name: str
    asked: re.Pattern[str]
    heeded: re.Pattern[str]

    def is_made_by(self, message: str) -> str:
        """The sentence that makes this request, "" where none does."""
        return next((s for s in sentences(message) if self.asked.search(s) and not negated(s)), "")

    def is_heeded_by(self, answer: str) -> bool:
        """Whether an answer speaks of what was requested."""
        return bool(self.heeded.search(answer))


REQUESTS: Final = (
    Request(
        "a human contact",
        re.compile(
            r"\b(?:speak|talk|chat|connect|transfer|put|pass|escalate|forward)\w*\b[^.!?]{0,40}\b(?:human|person|someone|"
            r"somebody|agent|representative|advis[eo]r|manager|supervisor|colleague|employee|specialist)\b|\breal person\b|\ba human\b",
            re.I,
        ),
        re.compile(
            r"\b(?:humans?|person|colleagues?|representatives?|advis[eo]rs?|managers?|supervisors?|specialists?|team|staff|"
            r"transfer\w*|connect\w*|put(?:ting)? you through|pass(?:ing)? you|hotline|call(?:ing)?|phone|service desk|hand(?:ing)? you over)\b|@",
            re.I,
        ),
    ),
    Request(
        "an e-mail",
        re.compile(
            r"\b(?:e-?mail|send|write|mail)\b[^.!?]{0,60}\b(?:me|to me|to my)\b|\bby e-?mail\b|\bin writing\b|\be-?mail address\b",
            re.I,
        ),
        re.compile(r"\b(?:e-?mail\w*|mail\w*|inbox|sent|send(?:ing)?|in writing|letter)\b|@", re.I),
    ),
    Request(
        "a phone call or number",
        re.compile(r"\b(?:call me|ring me|call(?:ed)? back|phone number|by (?:tele)?phone|telephone number)\b", re.I),
        re.compile(r"\b(?:call\w*|phone|telephone|ring|hotline|line)\b|\+?\d[\d\s/-]{5,}\d", re.I),
    ),
    Request(
        "a link",
        re.compile(r"\b(?:a|the|send|give)\b[^.!?]{0,20}\b(?:link|url|web ?page|web ?site)\b", re.I),
        re.compile(r"https?://|www\.|\b(?:link|url|web ?site|web ?page|page|online|portal)\b", re.I),
    ),
)
_BRIEF = re.compile(
    r"\b(?:in one sentence|briefly|in short|keep it (?:short|brief)|short answer|in a few words|yes or no)\b", re.I
)


def ignored_request(view: TurnView) -> Finding | None:
    """The user asks for something of a known kind (a human, an e-mail, a call, a link) and the answer does not mention it.

    Only words are looked at: an answer that speaks of it, even to refuse it with a reason, has not ignored it.
    """
    for request in REQUESTS:
        made = request.is_made_by(view.user)
        if made and not request.is_heeded_by(view.answer):
            return Finding(
                "Ignored request",
                LABEL,
                f"the user asks for {request.name} and the answer does not mention it. Answer: {quote(view.answer)}; "
                f"request: {quote(made)}",
            )
    return None


def heeds_request(view: TurnView) -> bool:
    """Whether the user asks for something of a known kind and the answer speaks of it."""
    return any(request.is_made_by(view.user) and request.is_heeded_by(view.answer) for request in REQUESTS)


def too_long_for_request(view: TurnView) -> Finding | None:
    """The user asks for a short answer and gets more than `BRIEF_WORDS` words."""
    length = len(words(view.answer))
    made = next((s for s in sentences(view.user) if _BRIEF.search(s) and not negated(s)), "")
    if not made or length <= BRIEF_WORDS:
        return None
    return Finding(
        "Ignored request", LABEL, f"the user asks for a short answer and gets {length} words; request: {quote(made)}"
    )


def refused_although_known(view: TurnView) -> Finding | None:
    """The answer refuses, or says that it does not know, though the knowledge has a statement on the question.

    A statement that is itself a denial ("can't be returned") is no such statement: then refusing is right.
    """
    if not refuses(view.answer):
        return None
    known = view.about(STRONG_MATCH)
    if not known or negated(known[0].text) or known[0].is_example:
        return None
    if any(coverage(view.answer, statement, view.asked) >= 0.3 for statement in known):
        return None
    return Finding(
        "Refused although known",
        LABEL,
        f"the answer refuses what the knowledge answers. Answer: {quote(view.answer)}; knowledge: {quote(known[0].named)}",
    )


def off_topic(view: TurnView) -> Finding | None:
    """The answer is empty, or shares no content word with the question, the goal or the knowledge about them.

    Greetings, confirmations ("Done ..."), questions back, refusals and answers of a single content word are left alone. A long answer (ten content
    words or more) must share two.
    """
    if not words(view.answer):
        if view.tool_calls:
            return None
        return Finding("Off topic", LABEL, f"the answer is empty; request: {quote(view.user)}")
    told = view.told
    is_other_speech = any(is_kind(view.answer) for is_kind in (is_small_talk, refuses, confirms))
    if not view.asked or len(told) < 2 or is_other_speech or heeds_request(view):
        return None
    if len(told & related_words(view)) >= (1 if len(told) < 10 else 2):
        return None
    if asks_back(view.answer) and len(told) < 10:
        return None
    return Finding(
        "Off topic",
        LABEL,
        f"the answer has nothing to do with what the user asks. Answer: {quote(view.answer)}; request: {quote(view.user)}",
    )


def related_words(view: TurnView) -> frozenset[str]:
    """The stems that an answer to this turn may be expected to share: question, goal, and the knowledge about them."""
    related = set(view.asked | stems(view.goal))
    for statement in view.knowledge.statements:
        if statement.subject & view.asked:
            related |= statement.subject
    return frozenset(related)
