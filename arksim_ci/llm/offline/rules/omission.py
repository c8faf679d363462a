"""Label `lack of specific information`: the knowledge has details for this question, and the answer leaves them out."""

from __future__ import annotations

import re
from typing import Final

from arksim_ci.llm.offline.figures import figures
from arksim_ci.llm.offline.knowledge import STRONG_MATCH, Statement, coverage
from arksim_ci.llm.offline.rules.view import Finding, TurnView
from arksim_ci.llm.offline.speech import asks_back, is_small_talk, refuses
from arksim_ci.llm.offline.text import quote, stems, words

LABEL: Final = "lack of specific information"

_TIME = ("duration", "date", "time")
_QUANTITY: Final = (
    (re.compile(r"\bhow (?:long|soon|fast|quickly)\b|\bwhen\b|\bhow many (?:days|weeks|months|years|hours)\b|\bwhat time\b", re.I), _TIME),
    (re.compile(r"\bhow much\b|\b(?:what|which)\b[^.?!]{0,30}\b(?:cost|price|fee|charge|amount)\b|\bdollar amount\b", re.I), ("money", "percent")),
    (re.compile(r"\bpercentage\b|\bwhat percent\b|\bhow big\b[^.?!]{0,20}\bdiscount\b", re.I), ("percent", "money")),
    (re.compile(r"\bphone number\b|\btelephone number\b", re.I), ("phone",)),
    (re.compile(r"\be-?mail address\b", re.I), ("email",)),
)  # fmt: skip
_NO_FIGURE_NEEDED: Final = {
    "money": re.compile(r"\b(?:free|no (?:extra |additional )?(?:cost|charge|fee)s?|nothing|included)\b", re.I),
    "duration": re.compile(
        r"\b(?:today|tomorrow|yesterday|immediately|at once|same day|next day|overnight|"
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b",
        re.I,
    ),
}
_CLAUSE = re.compile(r"[.?!;]+\s|,\s+and\s|\s+and\s+(?=(?:how|what|when|where|whether|who|which|why|if)\b)")
_COVERED: Final = 0.2


def missing_figure(view: TurnView) -> Finding | None:
    """The user asks how long, how much, when, ...; the knowledge has the figure, and the answer has none of that kind.

    Words that answer without a figure ("free", "tomorrow") count as one. Questions back and refusals are left alone.
    """
    if asks_back(view.answer) or refuses(view.answer) or is_small_talk(view.answer):
        return None
    said = {figure.kind for figure in figures(view.answer)}
    for clause in _CLAUSE.split(view.user):
        for wording, kinds in _QUANTITY:
            if not wording.search(clause) or said & set(kinds) or _is_worded(view.answer, kinds):
                continue
            known = _figure_for(view, stems(clause), kinds)
            if known is not None:
                missing = ", ".join(figure.text for figure in known.figures if figure.kind in kinds)
                return Finding(
                    "Missing figure",
                    LABEL,
                    f"the user asks for a figure, the knowledge has it ({missing}), the answer does not. "
                    f"Answer: {quote(view.answer)}; knowledge: {quote(known.named)}",
                )
    return None


def _is_worded(answer: str, kinds: tuple[str, ...]) -> bool:
    return any(kind in kinds and pattern.search(answer) for kind, pattern in _NO_FIGURE_NEEDED.items())


def _figure_for(view: TurnView, asked: frozenset[str], kinds: tuple[str, ...]) -> Statement | None:
    """The statement that answers the question with a figure, unless one without a figure is closer."""
    ranked = sorted(
        ((view.knowledge.match(asked, statement), statement) for statement in view.knowledge.statements),
        key=lambda pair: -pair[0],
    )
    if not ranked or ranked[0][0] < 0.25:
        return None
    for score, statement in ranked:
        if score < ranked[0][0]:
            return None
        if not statement.is_example and any(figure.kind in kinds for figure in statement.figures):
            return statement
    return None


def missing_details(view: TurnView) -> Finding | None:
    """The knowledge has a statement on the question, and the answer passes on less than a fifth of any statement near it.

    Words of the question prove nothing and are left out. Questions back, refusals and greetings are left alone.
    """
    if asks_back(view.answer) or refuses(view.answer) or is_small_talk(view.answer) or not words(view.answer):
        return None
    known = [statement for statement in view.about(STRONG_MATCH) if not statement.text.endswith("?")]
    known = [statement for statement in known if statement.body - view.asked or statement.figures]
    if not known or any(coverage(view.answer, statement, view.asked) >= _COVERED for statement in view.about(0.25)):
        return None
    return Finding(
        "Missing details",
        LABEL,
        f"the answer leaves out what the knowledge has for this question. Answer: {quote(view.answer)}; "
        f"knowledge: {quote(known[0].named)}",
    )
