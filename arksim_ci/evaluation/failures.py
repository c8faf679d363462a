"""The failures of an evaluation: what the search for root causes starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from arksim_ci.schema.evaluation import ConversationEvaluation, Occurrence
from arksim_ci.schema.simulation import Conversation, Turn
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, GOAL_NOT_COMPLETED, NO_FAILURE


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing turn, or one missed goal (shown by the conversation's last turn)."""

    category: str
    occurrence: Occurrence
    reason: str
    user: str
    agent: str


def collect_failures(
    evaluated: Iterable[ConversationEvaluation], conversations: Mapping[str, Conversation], goal_threshold: float
) -> list[Failure]:
    """Every turn with a failure label and every measured goal completion below `goal_threshold` (0-1).

    They come in the order of the evaluation, a conversation's turns before its goal. What was not measured is no failure.
    """
    found = []
    for conversation in evaluated:
        turns = {turn.turn_id: turn for turn in conversations[conversation.conversation_id].turns()}
        for turn in conversation.turn_scores:
            if turn.turn_behavior_failure not in (NO_FAILURE, EVALUATION_RUN_FAILED):
                reason = turn.turn_behavior_failure_reason
                found.append(_failure(conversation, turns[turn.turn_id], turn.turn_behavior_failure, reason))
        if conversation.turn_scores and 0 <= conversation.goal_completion_score < goal_threshold:
            last = turns[conversation.turn_scores[-1].turn_id]
            found.append(_failure(conversation, last, GOAL_NOT_COMPLETED, conversation.goal_completion_reason))
    return found


def _failure(conversation: ConversationEvaluation, turn: Turn, category: str, reason: str) -> Failure:
    occurrence = Occurrence(conversation_id=conversation.conversation_id, turn_id=turn.turn_id)
    return Failure(category, occurrence, reason, turn.user.content if turn.user else "", turn.agent.content)
