"""Label `failure to ask for clarification`: the agent assumes what only the user can tell."""

from __future__ import annotations

import re
from typing import Final

from arksim_ci.llm.offline.rules.view import Finding, TurnView
from arksim_ci.llm.offline.speech import asks_back
from arksim_ci.llm.offline.text import quote, sentences

LABEL: Final = "failure to ask for clarification"

_NOUNS = r"order|booking|reservation|policy|account|contract|invoice|subscription|card|shipment|parcel"
_NUMBER = r"(?=(?:[A-Z-]*\d){3})[A-Z]{0,4}-?\d[\dA-Z-]{2,}"
"""At least three digits, so that \"24-hour\" is none."""
_MEASURES = (
    "eur|usd|gbp|dollars?|euros?|pounds?|minutes?|hours?|days?|weeks?|months?|years?|items?|pieces?|pairs?|points?"
)
_IDENTIFIER = re.compile(
    rf"\b(?P<noun>{_NOUNS})s?\b(?:\s+(?:numbers?|no\.?|nr\.?|id|code))?\s*(?:is|are|:)?\s*#?\s*(?P<value>{_NUMBER})\b(?!\s*(?:{_MEASURES})\b|\s*[%€$£])",
    re.I,
)
_VALUE = re.compile(rf"\b{_NUMBER}\b", re.I)
_ARGUMENT = re.compile(rf"(?:{_NOUNS})s?[_ -]?(?:id|number|no|nr|code)?$", re.I)
_MADE_NOW = re.compile(r"\b(?:created|opened|new|replacement|placed)\b", re.I)
_ASSUMES = re.compile(
    r"\b(?:i(?:['’]ll| will| shall|['’]m going to)?(?: just)? assume|i(?:['’]m| am) assuming|presumably you)\b", re.I
)


def identifiers(text: str) -> list[tuple[str, str]]:
    """Order numbers and the like in a text, as (noun, value), both in lower case."""
    return [(m["noun"].casefold(), m["value"].casefold()) for m in _IDENTIFIER.finditer(text)]


def assumed_detail(view: TurnView) -> Finding | None:
    """The agent acts on an order (booking, policy, ...) that the user has not named, where it could be another one.

    The user's own messages name it, or it is the only one that goal, profile and knowledge know; otherwise the agent
    would have to ask. Looks at the answer's text and at the arguments of tool calls.
    """
    if asks_back(view.answer):
        return None
    said = view.everything_user_said.casefold()
    before = " ".join(view.earlier_answers).casefold()
    for noun, value, where in _acted_on(view):
        if value in said or value in before:
            continue
        known = _known(view, noun)
        if known == {value}:
            continue
        could_be = f"it could be any of {', '.join(sorted(known))}" if known else "nobody named one"
        return Finding(
            "Assumed detail",
            LABEL,
            f"the user named no {noun}, {could_be}, and the agent acts on {noun} {value} without asking. "
            f"Answer: {quote(where)}; request: {quote(view.user)}",
        )
    return None


def stated_assumption(view: TurnView) -> Finding | None:
    """The agent says that it assumes something, and asks nothing."""
    if asks_back(view.answer):
        return None
    assumed = next((s for s in sentences(view.answer) if _ASSUMES.search(s)), "")
    if not assumed:
        return None
    return Finding(
        "Assumed detail",
        LABEL,
        f"the agent assumes instead of asking. Answer: {quote(assumed)}; request: {quote(view.user)}",
    )


def _acted_on(view: TurnView) -> list[tuple[str, str, str]]:
    found = [
        (noun, value, sentence)
        for sentence in sentences(view.answer)
        if not _MADE_NOW.search(sentence)
        for noun, value in identifiers(sentence)
    ]
    for call in view.tool_calls:
        for name, argument in call.arguments.items():
            if _ARGUMENT.search(name) and isinstance(argument, str | int) and _VALUE.fullmatch(str(argument)):
                noun = next((n for n in _NOUNS.split("|") if n in name.casefold()), name)
                found.append((noun, str(argument).casefold(), f"{call.name}({name}={argument})"))
    return found


def _known(view: TurnView, noun: str) -> set[str]:
    texts = [view.goal, view.profile, *(f"{s.topic}: {s.text}" for s in view.knowledge.statements)]
    known = {value for text in texts for found, value in identifiers(text) if found == noun}
    for text in texts:
        if re.search(rf"\b{noun}s\b", text, re.I):  # "orders 1001 and 1002"
            known |= {value.casefold() for value in _VALUE.findall(text) if len(value) > 3}
    return known
