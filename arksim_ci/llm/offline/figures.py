"""Figures in a text (amounts, percentages, durations, dates, times, addresses), so that two texts can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from arksim_ci.llm.offline.text import stem

_TOLERANCE: Final = 0.02
"""A month is taken as 1/12 of a year, so "1 month" and "30 days" differ by 1.4 %."""
_DAYS: Final = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 365.25 / 12, "year": 365.25}
_NUMBER_WORDS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45, "forty": 40,
    "fifty": 50, "sixty": 60, "ninety": 90,
}  # fmt: skip
_CURRENCIES: Final = {
    "$": "dollar", "usd": "dollar", "dollar": "dollar", "dollars": "dollar", "cad": "dollar", "us$": "dollar",
    "€": "euro", "eur": "euro", "euro": "euro", "euros": "euro", "£": "pound", "gbp": "pound", "pound": "pound",
    "pounds": "pound",
}  # fmt: skip
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_NUMBER = r"\d{1,12}(?:[.,]\d{3}){0,4}(?:[.,]\d{1,2})?"
_WORDY = rf"(?:{_NUMBER}|\b(?:{'|'.join(_NUMBER_WORDS)})\b)"
_RANGE = rf"(?P<low>{_WORDY})(?:\s*(?:-|–|—|to|and|or|bis)\s*(?P<high>{_WORDY}))?"
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_PATTERNS: Final = (
    ("email", re.compile(r"(?P<low>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})")),
    ("date", re.compile(r"(?P<low>\b\d{4}-\d{2}-\d{2}\b)")),
    ("date", re.compile(rf"(?P<low>\b{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b)(?!\s*%)", re.I)),
    ("date", re.compile(rf"(?P<low>\b\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH}\b)", re.I)),
    ("phone", re.compile(r"(?P<low>(?<!\w)\+?\(?\d{1,4}\)?(?:[\s./-]\(?\d{2,4}\)?){2,4}(?!\w))")),
    ("time", re.compile(r"(?P<low>\b\d{1,2}(?::\d{2})?\s?[ap]\.?m\b\.?|\b\d{1,2}:\d{2}\b)", re.I)),
    ("percent", re.compile(rf"{_RANGE}\s?(?:%|percent\b|per cent\b|prozent\b)", re.I)),
    (
        "money",
        re.compile(
            r"(?P<sign>us\$|[$€£]|\b(?:usd|eur|gbp|cad)\b)\s?(?P<low>" + _NUMBER + r")(?:\s*(?:-|–|—|to|and)\s*(?:us\$|[$€£])?\s?(?P<high>" + _NUMBER + "))?",
            re.I,
        ),
    ),
    ("money", re.compile(_RANGE + r"\s?(?P<sign>usd|cad|eur|gbp|dollars?|euros?|pounds?|€|£|\$)(?!\w)", re.I)),
    (
        "duration",
        re.compile(
            _RANGE + r"(?:\s|-)?(?:(?:business|working|calendar|full|consecutive)[\s-])?(?P<sign>minute|hour|day|week|month|year)s?\b",
            re.I,
        ),
    ),
    ("count", re.compile(r"(?<![\w#.,-])(?P<low>\d{1,3}(?:,\d{3})+|\d{1,5})\s(?P<sign>[a-z]{4,})\b", re.I)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `kind` and `unit` say what may be compared with it; `low` and `high` bound it; `text` is as written.

    Durations are in days, times of day in minutes. E-mail addresses, phone numbers and dates are compared by `text_value`.
    """

    kind: str
    unit: str
    low: float
    high: float
    text: str
    text_value: str = ""

    def agrees_with(self, other: Figure) -> bool:
        """Whether two figures of one kind and unit can both be true: equal, or ranges that meet."""
        if self.text_value or other.text_value:
            return self.text_value == other.text_value
        slack = _TOLERANCE * max(abs(self.high), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack

    def is_comparable(self, other: Figure) -> bool:
        """Whether both measure the same kind of thing."""
        return self.kind == other.kind and self.unit == other.unit


@lru_cache(maxsize=20_000)
def figures(text: str) -> tuple[Figure, ...]:
    """Every figure in a text, in order. A piece of text is read once, as the most specific kind."""
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, Figure]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            span = match.span()
            if any(span[0] < end and start < span[1] for start, end in taken):
                continue
            figure = _read(kind, match)
            if figure is not None:
                taken.append(span)
                found.append((span[0], figure))
    return tuple(figure for _, figure in sorted(found, key=lambda pair: pair[0]))


def _read(kind: str, match: re.Match[str]) -> Figure | None:
    text = " ".join(match.group(0).split())
    spelled = {"email": str.casefold, "phone": _digits, "date": _date}
    if kind in spelled:
        return Figure(kind, "", 0, 0, text, spelled[kind](text))
    if kind == "time":
        return Figure(kind, "", _minutes(text), _minutes(text), text)
    groups = match.groupdict()
    bounds = _number(groups["low"]), _number(groups.get("high") or groups["low"])
    sign = (groups.get("sign") or "").casefold()
    scale, unit = 1.0, ""
    if kind == "money":
        unit = _CURRENCIES[sign]
    elif kind == "duration":
        scale = _DAYS[sign]
    elif kind == "count":
        if sign in _NOT_UNITS:
            return None
        unit = stem(sign)
    return Figure(kind, unit, min(bounds) * scale, max(bounds) * scale, text)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


_NOT_UNITS: Final = frozenset({"from", "with", "that", "this", "will", "have", "than", "then", "when", "which", "were"})


def _number(text: str) -> float:
    """Read `1,000`, `1.000`, `6.90`, `6,90` or `thirty`. A group of three digits after a mark is thousands."""
    text = text.casefold()
    if text in _NUMBER_WORDS:
        return float(_NUMBER_WORDS[text])
    decimals = re.search(r"[.,](\d{1,2})$", text)
    whole = re.sub(r"[.,]", "", text[: decimals.start()] if decimals else text)
    return float(f"{whole}.{decimals.group(1)}" if decimals else whole)


def _date(text: str) -> str:
    """Month and day as `MM-DD`."""
    iso = re.fullmatch(r"\d{4}-(\d{2}-\d{2})", text)
    if iso:
        return iso.group(1)
    lowered = text.casefold()
    day = int("".join(character for character in lowered if character.isdigit()))
    month = next(number for number, name in enumerate(_MONTHS, start=1) if name in lowered)
    return f"{month:02d}-{day:02d}"


def _minutes(text: str) -> float:
    """Minutes since midnight of `9 am`, `5:30 pm` or `17:00`."""
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    half = next((letter for letter in "ap" if letter in text.casefold()), "")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return float(hour * 60 + minute)
