"""Label `repetition`: the answer restates an earlier one."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

from arksim_ci.llm.offline.rules.clarification import identifiers
from arksim_ci.llm.offline.rules.view import Finding, TurnView
from arksim_ci.llm.offline.speech import asks_back, asks_to_repeat, without_courtesy
from arksim_ci.llm.offline.text import overlap, quote, sentences, stems, words

LABEL: Final = "repetition"
_SAME: Final = 0.85
_COMPARED: Final = 600
"""Words of an answer that are compared word for word."""
_SHORTEST: Final = 6
"""Shorter answers, in words, are repeated for good reason ("Yes, that's right.")."""


def repeated_answer(view: TurnView) -> Finding | None:
    """The answer is nearly the same, word for word, as an earlier one, or at least four fifths of its sentences are old.

    Greetings and closings don't count. Nothing is found where the user asked to hear it again, or still owes the agent
    what it asks for.
    """
    core = without_courtesy(view.answer)
    if len(words(core)) < _SHORTEST or asks_to_repeat(view.user):
        return None
    if asks_back(view.answer) and not identifiers(view.user):
        return None
    for earlier in view.earlier_answers:
        if is_repeated(core, without_courtesy(earlier)):
            return Finding(
                "Repeated answer",
                LABEL,
                f"the answer adds nothing to an earlier one. Request: {quote(view.user)}; earlier answer: {quote(earlier)}",
            )
    return None


def is_repeated(answer: str, earlier: str) -> bool:
    """Whether an answer says again what an earlier one said."""
    left, right = words(answer)[:_COMPARED], words(earlier)[:_COMPARED]
    if SequenceMatcher(None, left, right, autojunk=False).ratio() >= _SAME:
        return True
    old = [stems(sentence) for sentence in sentences(earlier)]
    new = [one for one in map(stems, sentences(answer)) if len(one) >= 3]
    known = sum(any(overlap(told, other) >= _SAME for other in old) for told in new)
    return bool(new) and known / len(new) >= 0.8
