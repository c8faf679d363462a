"""The words of a text, for judging how near two texts are: prose and source code alike."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_EVERYWHERE: Final = frozenset(
    re.findall(
        r"\w+",
        "the and for are was were that this with from not but has have had its his her their they them you your will would "
        "should can could does did what which when where who how user agent answer def return self none true false",
    )
)


def words(text: str) -> frozenset[str]:
    """The distinct words and figures of a text, in small letters, without a plural's `s` and without words that are everywhere.

    Names in code are taken apart: `aboutOrder` and `about_order` are the words of `about order`.
    """
    found = (word.casefold() for word in _WORD.findall(_HUMP.sub(" ", text)))
    kept = (word for word in found if (len(word) > 2 or word[0].isdigit() or not word.isascii()))
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in kept if word not in _EVERYWHERE)


def similarity(one: str, other: str) -> float:
    """How near two texts are, 0-1: the share of their words that both have (the Jaccard index)."""
    first, second = words(one), words(other)
    return len(first & second) / len(first | second) if first or second else float(one == other)
