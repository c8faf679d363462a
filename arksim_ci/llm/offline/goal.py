"""The judge's rule for a whole conversation: how many of the goal's wishes were met."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.offline.judge import BEHAVIOR_RULES, first_finding
from arksim_ci.llm.offline.knowledge import Statement, coverage, knowledge_of
from arksim_ci.llm.offline.rules import false_information
from arksim_ci.llm.offline.rules.requests import REQUESTS
from arksim_ci.llm.offline.rules.view import Finding, view_of
from arksim_ci.llm.offline.speech import asks_back, refuses
from arksim_ci.llm.offline.text import quote, stems
from arksim_ci.llm.offline.wishes import Wish, read_goal
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.turn import Score, TurnFacts
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message

_ONLY_THROUGH = re.compile(r"\d+ of \d+ wishes of the goal were met\. Missed only through")
_SPOILED_BY = re.compile(r"in turn \d+, but: ([a-z ]+)\)")
_PASSED_ON: Final = 0.25
_NEAR: Final = 0.75
"""A statement counts for a wish from this share of the best one's match on."""
_SAID_OF_WISH: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn, with what the rules for turns found in it. `number` counts from 1, as in reports."""

    number: int
    user: str
    answer: str
    failure: Finding | None


def judge_goal(facts: GoalFacts) -> Score:
    """Score 0-1: the share of the goal's wishes that were met.

    An answer that failed does not count for a wish that its failure touches (see `_spoils`). The reason tells wishes that
    were missed through such a turn from those that nothing answered.
    """
    wishes = read_goal(facts.scenario.goal).wishes
    turns = _turns(facts)
    spoiled: list[str] = []
    open_ones: list[str] = []
    for wish in wishes:
        answered = [turn for turn in turns if is_met_by(wish, turn.user, turn.answer, facts.scenario)]
        if any(turn.failure is None or not _spoils(turn.failure, wish, facts.scenario) for turn in answered):
            continue
        asked = [turn for turn in turns if stems(wish.message) <= stems(turn.user)][-1:]
        if answered and answered[0].failure is not None:
            spoiled.append(_spoiled(wish, "answered", answered[0].number, answered[0].failure))
        elif asked and asked[0].failure is not None:
            how = "answered" if asked[0].failure.label == false_information.LABEL else "asked"
            spoiled.append(_spoiled(wish, how, asked[0].number, asked[0].failure))
        else:
            open_ones.append(quote(wish.message))
    met = len(wishes) - len(spoiled) - len(open_ones)
    reason = f"{met} of {len(wishes)} wishes of the goal were met."
    if spoiled:
        reason += f" Missed {'' if open_ones else 'only '}through turns that failed already: {', '.join(spoiled[:3])}."
    if open_ones:
        reason += f" Not met by any answer: {', '.join(open_ones[:3])}"
    return Score(met / len(wishes), reason)


def is_only_a_consequence(reason: str) -> bool:
    """Whether `judge_goal` gave failed turns as the only cause in a reason: the goal has no root cause of its own."""
    return bool(_ONLY_THROUGH.match(reason))


def spoiled_by(reason: str) -> list[str]:
    """The categories of the failed turns that `judge_goal` gave as causes in a reason."""
    return list(dict.fromkeys(_SPOILED_BY.findall(reason)))


def _spoiled(wish: Wish, how: str, number: int, failure: Finding) -> str:
    return f"{quote(wish.message)} ({how} in turn {number}, but: {failure.label})"


def _spoils(failure: Finding, wish: Wish, scenario: Scenario) -> bool:
    """Whether a failed answer that speaks of a wish does not meet it for that reason.

    False information spoils what the contradicted statement is about; a disobeyed request spoils what can't be checked against the
    knowledge or a kind of request; a missing question back spoils the whole answer. Answers that are incomplete or repeated may
    still meet another wish.
    """
    request = any(request.is_made_by(wish.message) for request in REQUESTS)
    near = [] if request else _near(wish, scenario)
    match failure.label:
        case false_information.LABEL:
            return not near or failure.contradicts in near
        case "disobey user request":
            return not near and not request
        case label:
            return label == "failure to ask for clarification"


def is_met_by(wish: Wish, user: str, answer: str, scenario: Scenario) -> bool:
    """Whether an answer gives the user what a wish asks for.

    A request of a known kind (a human, an e-mail, ...) is met where the answer speaks of it. A wish that the knowledge
    speaks of is met where the answer passes some of that on. Any other is met where the answer, given to a message with
    the wish in it, takes up half of its words or neither refuses nor asks back.
    """
    if not answer.strip():
        return False
    request = next((request for request in REQUESTS if request.is_made_by(wish.message)), None)
    if request is not None:
        return request.is_heeded_by(answer) and not refuses(answer)
    wanted = stems(wish.message)
    near = _near(wish, scenario)
    if near:
        return any(coverage(answer, one, wanted) >= _PASSED_ON for one in near)
    if refuses(answer) or asks_back(answer):
        return False
    told = stems(answer)
    if wanted and len(wanted & told) / len(wanted) >= _SAID_OF_WISH:
        return True
    return wanted <= stems(user) and bool(told)


def _near(wish: Wish, scenario: Scenario) -> list[Statement]:
    """The statements of the knowledge that a wish is about."""
    known = knowledge_of(scenario).relevant(stems(wish.message), 0.4)
    return [one for score, one in known if score >= known[0][0] * _NEAR]


def _turns(facts: GoalFacts) -> list[_Turn]:
    found: list[_Turn] = []
    user: Message | None = None
    for number, message in enumerate(facts.history):
        if message.role == "simulated_user":
            user = message
            continue
        before = facts.history[: number - 1] if user is not None else facts.history[:number]
        view = view_of(TurnFacts(facts.scenario, before, user, message, (), facts.case))
        found.append(_Turn(message.turn_id + 1, view.user, view.answer, first_finding(view, BEHAVIOR_RULES)))
        user = None
    return found
