"""The failures of an evaluation: what the search for root causes starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from arksim_ci.schema.evaluation import ConversationEvaluation, Occurrence
from arksim_ci.schema.simulation import Conversation, Turn
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, GOAL_NOT_COMPLETED, NO_FAILURE


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing turn, or one missed goal (shown by the conversation's last turn).

    Of a missed goal, `goal` is what the user wanted, and `earlier` what went wrong in the conversation's turns: its likely cause.
    """

    category: str
    occurrence: Occurrence
    reason: str
    user: str
    agent: str
    goal: str = ""
    earlier: tuple[str, ...] = ()


def collect_failures(
    evaluated: Iterable[ConversationEvaluation], conversations: Mapping[str, Conversation], goal_threshold: float
) -> list[Failure]:
    """Every turn with a failure label and every measured goal completion below `goal_threshold` (0-1).

    They come in the order of the evaluation, a conversation's turns before its goal. What was not measured is no failure.
    """
    found = []
    for conversation in evaluated:
        held = conversations[conversation.conversation_id]
        turns = {turn.turn_id: turn for turn in held.turns()}
        failing = [
            _failure(conversation, turns[turn.turn_id], turn.turn_behavior_failure, turn.turn_behavior_failure_reason)
            for turn in conversation.turn_scores
            if turn.turn_behavior_failure not in (NO_FAILURE, EVALUATION_RUN_FAILED)
        ]
        found += failing
        if conversation.turn_scores and 0 <= conversation.goal_completion_score < goal_threshold:
            last = turns[conversation.turn_scores[-1].turn_id]
            missed = _failure(conversation, last, GOAL_NOT_COMPLETED, conversation.goal_completion_reason)
            earlier = tuple(dict.fromkeys(f"{failure.category}: {failure.reason}" for failure in failing))
            found.append(replace(missed, goal=_goal(held), earlier=earlier))
    return found


def _failure(conversation: ConversationEvaluation, turn: Turn, category: str, reason: str) -> Failure:
    occurrence = Occurrence(conversation_id=conversation.conversation_id, turn_id=turn.turn_id)
    return Failure(category, occurrence, reason, turn.user.content if turn.user else "", turn.agent.content)


def _goal(conversation: Conversation) -> str:
    goal = conversation.simulated_user_prompt.variables.get("scenario.goal")
    return goal if isinstance(goal, str) else ""
