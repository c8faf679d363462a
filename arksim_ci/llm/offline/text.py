"""Words, light stems and sentences: all that the rules see of a text. Works on any script; stop words are English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_STOP_WORDS: Final = """
    a about above after again all also am an and any anything anyone are as at be because been before being below
    between both but by can cannot could did do does doing done down during each either else ever every few for from
    further get gets getting give gives given go goes going got had has have having he her here hers him his how however
    i if in into is isn't it its itself just know let like make made many may maybe me might mine more most much must my
    myself need needs no nor not now of off ok okay on once one only or other our ours out over own per please possible
    quite rather really regarding said same say says see shall she should since so some something soon such sure take
    tell than thank thanks that the their theirs them themselves then there these they thing things this those through to
    too under until up us use very want wants was way we were what whatever when where whether which while who whom whose
    why will with within without would yes yet you your yours yourself agent answer ask asking help hello hi dear learn
    find information detail details question sorry understand glad happy welcome course certainly kindly let's i'd i'm
    i've i'll you're you'll you've we're we'll we've it's that's there's don't doesn't didn't can't couldn't won't
    wouldn't shouldn't aren't wasn't weren't haven't hasn't isn't what's exactly actually currently well long takes taking taken comes
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_UNSPACED_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|approx|no|nr|dr|mr|mrs|ms|st|vs|incl|excl|max|min|z\.b|ca)\.$", re.I)
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]*]*(?=\s|$)|[。！？]+")
_BULLET = re.compile(r"^\s*(?:[-*•>]+|\d{1,2}[.)])\s+")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|cannot|neither|nor|nicht|kein\w*|pas|jamais|nunca)\b|n['’]t\b|\bnon-", re.I
)
_SUFFIXES: Final = (
    ("ations", 4), ("ation", 4), ("ments", 3), ("ment", 3), ("ables", 4), ("able", 4), ("ingly", 4), ("ing", 3),
    ("edly", 4), ("ied", 3), ("ies", 3), ("ed", 3), ("ly", 4), ("es", 4), ("s", 3),
)  # fmt: skip


def words(text: str) -> list[str]:
    """The words of a text, case-folded. Scripts that write no spaces give pairs of characters instead."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'")):
        if _UNSPACED_SCRIPT.fullmatch(word) and len(word) > 1:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return found


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Cut the common English endings, so that `shipped`, `shipping` and `shipment` are one. Deliberately light."""
    word = word.removesuffix("'s")
    for suffix, shortest in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= shortest and not word.endswith("ss"):
            word = word.removesuffix(suffix)
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeous":
                word = word[:-1]
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    return word


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's content words: no stop words, no numbers of up to three digits, no single letters."""
    return frozenset(stem(word) for word in words(text) if _is_content(word))


def _is_content(word: str) -> bool:
    is_figure = word.isdigit() and len(word) < 4  # longer ones are order numbers and the like
    return word not in STOP_WORDS and not is_figure and (len(word) > 1 or bool(_UNSPACED_SCRIPT.match(word)))


@lru_cache(maxsize=20_000)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text; a line break ends one, too. Bullets and emphasis marks are dropped."""
    found: list[str] = []
    for raw in text.splitlines():
        line = _BULLET.sub("", raw.replace("**", "").replace("__", "")).strip()
        start = 0
        for end in _SENTENCE_END.finditer(line):
            if not _ABBREVIATION.search(line[start : end.end()]):
                found.append(line[start : end.end()].strip())
                start = end.end()
        found.append(line[start:].strip())
    return tuple(sentence for sentence in found if _WORD.search(sentence))


def negated(text: str) -> bool:
    """Whether a text denies something. An even number of denials counts as none."""
    return len(_NEGATION.findall(text)) % 2 == 1


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """Jaccard similarity of two sets of stems, 0-1; 0 where both are empty."""
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left | right else 0.0


def is_same_message(one: str, other: str) -> bool:
    """Whether two messages say the same in the same words, apart from case, punctuation and spaces."""
    return words(one) == words(other)


def is_within(message: str, other: str) -> bool:
    """Whether a message says nothing but a part of another, word for word."""
    return f" {' '.join(words(message))} " in f" {' '.join(words(other))} "


def bounded(text: str, longest: int = 20_000) -> str:
    """The part of a text that the rules look at: its first 20,000 characters, with runs of spaces as one.

    Agents may send megabytes; comparing texts takes time that grows faster than they do.
    """
    return re.sub(r"[^\S\n]+", " ", text[:longest])


def quote(text: str, longest: int = 160) -> str:
    """A text on one line in quotation marks, shortened to `longest` characters; marks within become single ones."""
    flat = " ".join(text.split()).replace('"', "'")
    return f'"{flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"}"'
