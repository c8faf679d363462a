"""The offline provider: answers every question of ours by rules, without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

from arksim_ci.llm.client import Answer, LLMUnavailable, Question, Role
from arksim_ci.llm.offline.advice import advise
from arksim_ci.llm.offline.goal import judge_goal
from arksim_ci.llm.offline.grouping import group_failures, merge_groups
from arksim_ci.llm.offline.judge import judge_turn
from arksim_ci.llm.offline.user import next_message
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.recommendation import RecommendationFacts, RepairFacts, Repairs
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.llm.questions.turn import TurnFacts
from arksim_ci.llm.questions.unique_errors import GroupingFacts, MergingFacts
from arksim_ci.schema.verdict import RoleUsage, Usage

T = TypeVar("T")

OFFLINE_MODEL: Final = "offline-rules-1"
"""The number rises whenever a rule changes what it yields: scores of different numbers can't be compared."""


class OfflineLLM:
    """An `LLM` whose answers are rules over the question's facts. Deterministic, free, and no judgement."""

    def __init__(self, admit: Callable[[Role], None] = lambda role: None) -> None:
        """Prepare.

        Args:
            admit: counts a question before it is answered, and raises `RunLimitReached` where `max_llm_calls` forbids it: the limit
                holds here as with any provider. A cost limit is never reached: rules are free.
        """
        self._admit = admit
        self._calls: dict[Role, int] = {"simulated_user": 0, "judge": 0, "analysis": 0}

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Answer a question by rules.

        Raises:
            LLMUnavailable: the question is none of ours (a custom metric's own), so there are no rules for it.
            RunLimitReached: `max_llm_calls` questions were answered.
        """
        self._admit(question.role)
        value = answer_by_rules(question.facts)
        self._calls[question.role] += 1
        return Answer(value=cast(T, value), model=OFFLINE_MODEL)

    async def preflight(self) -> list[str]:
        """Nothing to check: there is no key and no server."""
        return []

    def usage(self) -> Usage:
        """Questions answered, by role. Rules read no tokens and cost nothing."""
        return Usage(**{role: RoleUsage(calls=calls, cost_usd=0.0) for role, calls in self._calls.items()})

    def notes(self) -> list[str]:
        """Nothing to say: that the scores are rules is said by every report."""
        return []

    @property
    def model(self) -> str:
        """The version of the rules."""
        return OFFLINE_MODEL

    async def close(self) -> None:
        """Nothing to close."""


def answer_by_rules(facts: object) -> object:  # noqa: PLR0911  (one case a kind of question)
    """What the rules say to a question with these facts.

    Raises:
        LLMUnavailable: there are no rules for them.
    """
    match facts:
        case SimulatedUserFacts():
            return next_message(facts)
        case TurnFacts():
            return judge_turn(facts)
        case GoalFacts():
            return judge_goal(facts)
        case GroupingFacts():
            return group_failures(facts)
        case MergingFacts():
            return merge_groups(facts)
        case RecommendationFacts():
            return advise(facts)
        case RepairFacts():
            return Repairs({})
        case _:
            raise LLMUnavailable(
                "the offline provider has no rules for a custom metric's own questions; "
                "let the metric decide without `self.llm`, or set another `provider`"
            )
