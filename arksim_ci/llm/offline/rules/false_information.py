"""Label `false information`: the answer contradicts the knowledge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.offline.figures import Figure, figures
from arksim_ci.llm.offline.knowledge import Statement, is_hypothetical
from arksim_ci.llm.offline.rules.view import Finding, TurnView
from arksim_ci.llm.offline.text import negated, quote, sentences, stems

LABEL: Final = "false information"

_UNITS: Final = stems(
    "minute hour day week month year percent dollar euro pound eur usd gbp cad business working calendar number phone "
    "email e-mail mail pay cost fee"
)
_SAME_SUBJECT: Final = 1.5
"""What a sentence and a statement must share: one stem of the sentence and one of the question, or more."""
_SUPPORT: Final = 0.5
"""A statement with the answer's figure that is at least this close, against the closest one, supports the answer."""
_RESTRICTED: Final = re.compile(
    r"\b(?:but|unless|except|only|if|however|although|while|until|otherwise|other than)\b|;", re.I
)
_SAME_SENTENCE: Final = 0.75
_OPPOSITES: Final = (
    (r"\b(?:for free|free of charge|is free|are free|no (?:extra |additional )?(?:charge|cost|fee))\b", r"\b(?:pays?|costs?|charged|own expense)\b"),
    (r"\brefundable\b", r"\bnon-?refundable\b"),
    (r"\bincluded\b|\bincludes\b", r"\bexcluded\b|\bexcludes\b"),
    (r"\bopen\b", r"\bclosed\b"),
    (r"\ballowed\b|\bpermitted\b", r"\bforbidden\b|\bprohibited\b"),
    (r"\bpossible\b", r"\bimpossible\b"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A statement that speaks of the same subject, and how close it is."""

    closeness: float
    statement: Statement
    agrees: bool


def contradicted_figure(view: TurnView) -> Finding | None:
    """A figure of the answer differs from the knowledge's figure for the same subject.

    Looks at amounts, percentages, durations, dates, times, counts, e-mail addresses and phone numbers. Figures that the
    user named, assumed cases ("for example") and figures that a similarly close statement supports are left alone.
    """
    named = figures(view.everything_user_said)
    for sentence in sentences(view.answer):
        if is_hypothetical(sentence):
            continue
        for figure in figures(sentence):
            if any(figure.is_comparable(other) and figure.agrees_with(other) for other in named):
                continue
            against = _closest_disagreeing(view, sentence, figure)
            if against is not None:
                true = " or ".join(f.text for f in against.figures if f.is_comparable(figure))
                return Finding(
                    "Contradicted figure",
                    LABEL,
                    f"the answer says {figure.text}; the knowledge says {true}. Answer: {quote(sentence)}; "
                    f"knowledge: {quote(against.named)}",
                    against,
                )
    return None


def _closest_disagreeing(view: TurnView, sentence: str, figure: Figure) -> Statement | None:
    said = stems(sentence) - _UNITS - stems(figure.text)
    asked = view.asked - _UNITS - said
    from_question = 1.0 if len(said) <= 2 else 0.5
    candidates = []
    for statement in view.knowledge.statements:
        comparable = [other for other in statement.figures if figure.is_comparable(other)]
        shared = (said & statement.subject) - _UNITS
        answered = (asked & statement.subject) - _UNITS
        enough = len(shared) + from_question * len(answered)
        if (
            not comparable
            or enough < _SAME_SUBJECT
            or (not shared and len(said) > 2)
            or (figure.kind == "count" and len(shared) < 2)
        ):
            continue
        closeness = view.knowledge.weight(shared) + from_question * view.knowledge.weight(answered)
        candidates.append(_Candidate(closeness, statement, any(figure.agrees_with(other) for other in comparable)))
    if not candidates:
        return None
    closest = max(candidate.closeness for candidate in candidates)
    if any(candidate.agrees and candidate.closeness >= _SUPPORT * closest for candidate in candidates):
        return None
    facts = [candidate for candidate in candidates if not candidate.agrees and not candidate.statement.is_example]
    return max(facts, key=lambda candidate: candidate.closeness).statement if facts else None


def contradicted_statement(view: TurnView) -> Finding | None:
    """A sentence of the answer says the opposite of a statement in nearly the same words.

    Opposite: one of the two is negated, or they hold two ends of a known pair (free / charged, included / excluded, ...).
    Sentences with a condition or an exception are left alone, since words alone can't tell what they deny.
    """
    for sentence in sentences(view.answer):
        if sentence.endswith("?") or _RESTRICTED.search(sentence):
            continue
        said = stems(sentence)
        for statement in view.knowledge.statements:
            if _RESTRICTED.search(statement.text) or statement.is_example or statement.text.endswith("?"):
                continue
            if _is_opposite(sentence, said, statement) and not _is_supported(view, sentence, said):
                return Finding(
                    "Contradicted statement",
                    LABEL,
                    f"the answer says the opposite of the knowledge. Answer: {quote(sentence)}; "
                    f"knowledge: {quote(statement.named)}",
                    statement,
                )
    return None


def _is_opposite(sentence: str, said: frozenset[str], statement: Statement) -> bool:
    shared = len(said & statement.subject)
    shorter, longer = sorted((len(said), len(statement.body)))
    if shared < 2 or shorter == 0:
        return False
    by_pair = any(_pair_differs(sentence, statement.text, pair) for pair in _OPPOSITES)
    if by_pair and not statement.figures and not negated(sentence) and not negated(statement.text):
        return shared / shorter >= 0.5
    common = len(said & statement.body)
    is_same = common >= 3 and common / shorter >= _SAME_SENTENCE and common / longer >= 0.5
    return is_same and negated(sentence) != negated(statement.text)


def _is_supported(view: TurnView, sentence: str, said: frozenset[str]) -> bool:
    """Whether another statement says the same, with the same polarity."""
    return any(
        len(said & statement.body) >= _SAME_SENTENCE * len(said) and negated(statement.text) == negated(sentence)
        for statement in view.knowledge.statements
        if not any(_pair_differs(sentence, statement.text, pair) for pair in _OPPOSITES)
    )


def _pair_differs(sentence: str, statement: str, pair: tuple[str, str]) -> bool:
    """Whether the texts hold different ends of a pair, and each only one."""
    ends = [[bool(re.search(end, text, re.I)) for end in pair] for text in (sentence, statement)]
    return ends in ([[True, False], [False, True]], [[False, True], [True, False]])
