"""The judge's rule for a whole conversation: how many of the goal's wishes were met."""

from __future__ import annotations

from typing import Final

from arksim_ci.llm.offline.judge import BEHAVIOR_RULES, first_finding
from arksim_ci.llm.offline.knowledge import coverage, knowledge_of
from arksim_ci.llm.offline.rules.requests import REQUESTS
from arksim_ci.llm.offline.rules.view import view_of
from arksim_ci.llm.offline.speech import asks_back, refuses
from arksim_ci.llm.offline.text import quote, stems
from arksim_ci.llm.offline.wishes import Wish, read_goal
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.turn import Score, TurnFacts
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message

_SPOILS: Final = ("false information", "disobey user request", "failure to ask for clarification")
"""After these labels an answer meets nothing. One that is incomplete or repeated may still meet another wish."""
_PASSED_ON: Final = 0.25
_NEAR: Final = 0.75
"""A statement counts for a wish from this share of the best one's match on."""
_SAID_OF_WISH: Final = 0.5


def judge_goal(facts: GoalFacts) -> Score:
    """Score 0-1: the share of the goal's wishes that were met, by answers that are neither false nor beside the request."""
    wishes = read_goal(facts.scenario.goal).wishes
    good = _good_turns(facts)
    missed = [
        wish for wish in wishes if not any(is_met_by(wish, user, answer, facts.scenario) for user, answer in good)
    ]
    met = len(wishes) - len(missed)
    reason = f"{met} of {len(wishes)} wishes of the goal were met."
    if missed:
        reason += f" Not met by any answer that counts: {', '.join(quote(wish.message) for wish in missed[:3])}"
    return Score(met / len(wishes), reason)


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
    knowledge = knowledge_of(scenario)
    known = knowledge.relevant(wanted, 0.4)
    if known:
        nearest = known[0][0] * _NEAR
        return any(coverage(answer, one, wanted) >= _PASSED_ON for score, one in known if score >= nearest)
    if refuses(answer) or asks_back(answer):
        return False
    told = stems(answer)
    if wanted and len(wanted & told) / len(wanted) >= _SAID_OF_WISH:
        return True
    return wanted <= stems(user) and bool(told)


def _good_turns(facts: GoalFacts) -> list[tuple[str, str]]:
    """The turns whose answers count, as (user, answer)."""
    good: list[tuple[str, str]] = []
    user: Message | None = None
    for number, message in enumerate(facts.history):
        if message.role == "simulated_user":
            user = message
            continue
        before = facts.history[: number - 1] if user is not None else facts.history[:number]
        view = view_of(TurnFacts(facts.scenario, before, user, message, (), facts.case))
        failure = first_finding(view, BEHAVIOR_RULES)
        if failure is None or failure.label not in _SPOILS:
            good.append((view.user, view.answer))
        user = None
    return good
