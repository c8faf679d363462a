"""What kind of thing a message is: a question back, a refusal, a request to repeat."""

from __future__ import annotations

import re
from typing import Final

from arksim_ci.llm.offline.text import sentences, words

_CLOSING = re.compile(
    r"\b(?:anything else|something else|further questions|any other questions|else i can|how (?:can|may) i (?:help|assist))\b",
    re.I,
)
_ASKS_BACK = re.compile(
    r"\b(?:which|what|who|where|when|how|do you|did you|are you|is (?:it|that|this)|have you|could you|can you|would you|was it)\b",
    re.I,
)
_PLEASE_TELL = re.compile(
    r"\b(?:please|could you|can you|would you)\b[^.?!]{0,80}\b(?:provide|share|give|tell|send|confirm|specify|enter|let me know|clarify)\b"
    r"|\b(?:i(?:'ll)? need|let me know|tell me)\b[^.?!]{0,80}\b(?:your|which)\b",
    re.I,
)
_CONFIRMATION = re.compile(
    r"(?:done|all set|all done|consider it done|that[’']s done|no problem|completed|yes|no)\b", re.I
)
_OFFER = re.compile(r"\b(?:would you like|do you want|shall i|should i|may i)\b[^.!]{0,200}\?", re.I)
_REFUSAL = re.compile(
    r"\b(?:(?:can(?:no|['’])?t|could ?n['’]t|unable|won['’]t|will not|am not able|are not able|not able|not possible|am not allowed|'m not able)"
    r"\b[^.!?]{0,60}\b(?:help|assist|do (?:that|this|it)|answer|tell|provide|share|find|process|offer|connect|transfer|"
    r"arrange|access|advise|give|change|look|say|send|speak|comment|discuss|promise|guarantee)"
    r"|(?:do ?n['’]t|do not) (?:know|have (?:any |that |this |the )?(?:information|answer|details|data))"
    r"|no information|not sure|unfortunately,? (?:i|we) (?:can|do|am|are))\b",
    re.I,
)
_REPEAT = re.compile(
    r"\b(?:repeat|say (?:that|it) again|once more|did ?n['’]t (?:understand|get|catch)|explain (?:that|it) again)\b",
    re.I,
)
_SMALL_TALK: Final = (
    "hi hello hey thanks thank you welcome good morning afternoon evening day bye goodbye great wonderful perfect okay ok "
    "sure nice pleasure glad happy to help how can may i assist today we are here have a"
)
_SMALL_TALK_WORDS: Final = frozenset(_SMALL_TALK.split())


def is_small_talk(text: str) -> bool:
    """Whether a message only greets, thanks or says goodbye."""
    said = words(text)
    return bool(said) and all(word in _SMALL_TALK_WORDS for word in said)


def asks_back(answer: str) -> str:
    """The sentence in which the agent asks the user for something, "" where there is none.

    Closing offers ("Is there anything else?") are none.
    """
    for sentence in reversed(sentences(answer)):
        if _CLOSING.search(sentence):
            continue
        if (sentence.rstrip("\"')* ").endswith(("?", "？")) and _ASKS_BACK.search(sentence)) or _PLEASE_TELL.search(
            sentence
        ):
            return sentence
    return ""


def confirms(answer: str) -> bool:
    """Whether the agent says first of all that it did what was asked."""
    return bool(_CONFIRMATION.match(answer.strip()))


def is_offer(sentence: str) -> bool:
    """Whether the agent offers to do something, to be answered by yes or no."""
    return bool(_OFFER.search(sentence))


def refuses(answer: str) -> bool:
    """Whether the agent says that it can't help or does not know."""
    return bool(_REFUSAL.search(answer))


def asks_to_repeat(message: str) -> bool:
    """Whether the user asks to hear it again."""
    return bool(_REPEAT.search(message))


def without_courtesy(answer: str) -> str:
    """An answer without its greeting and closing sentences."""
    kept = [one for one in sentences(answer) if not _CLOSING.search(one) and not is_small_talk(one)]
    return " ".join(kept)
