"""Which turns and conversations count as failures."""

from __future__ import annotations

import pytest

from arksim_ci.evaluation.failures import collect_failures
from arksim_ci.schema.evaluation import ConversationEvaluation, Occurrence, TurnEvaluation
from arksim_ci.schema.simulation import Conversation, Message, SimulatedUserPrompt
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, GOAL_NOT_COMPLETED, NO_FAILURE, EvaluationStatus


def held(turns: int, variables: dict[str, object] | None = None) -> dict[str, Conversation]:
    history = []
    for turn in range(turns):
        history += [
            Message(turn_id=turn, message_id=f"u{turn}", role="simulated_user", content=f"question {turn}"),
            Message(turn_id=turn, message_id=f"a{turn}", role="assistant", content=f"answer {turn}"),
        ]
    prompt = SimulatedUserPrompt(
        simulated_user_prompt_template="",
        variables={"scenario.goal": "Know the fee."} if variables is None else variables,
    )
    conversation = Conversation(
        conversation_id="c", scenario_id="s", conversation_history=history, simulated_user_prompt=prompt
    )
    return {"c": conversation}


def judged(*labels: str, goal: float = 1.0, status: EvaluationStatus = "Done") -> list[ConversationEvaluation]:
    turns = [
        TurnEvaluation(
            turn_id=turn,
            scores=[],
            turn_score=5,
            turn_behavior_failure=label,
            turn_behavior_failure_reason=f"reason {turn}",
        )
        for turn, label in enumerate(labels)
    ]
    return [
        ConversationEvaluation(
            conversation_id="c",
            goal_completion_score=goal,
            goal_completion_reason="It stays open.",
            turn_success_ratio=1,
            overall_agent_score=1,
            evaluation_status=status,
            turn_scores=turns,
        )
    ]


def test_a_failing_turn_is_a_failure_with_its_exchange() -> None:
    (found,) = collect_failures(judged(NO_FAILURE, "repetition"), held(2), 0.6)
    assert (found.category, found.occurrence) == ("repetition", Occurrence(conversation_id="c", turn_id=1))
    assert (found.reason, found.user, found.agent) == ("reason 1", "question 1", "answer 1")


def test_what_was_not_measured_is_no_failure() -> None:
    assert collect_failures(judged(EVALUATION_RUN_FAILED, goal=-1), held(1), 0.6) == []
    assert collect_failures(judged(goal=0), held(0), 0.6) == []


@pytest.mark.parametrize(
    ("goal", "threshold", "missed"), [(0.59, 0.6, True), (0.6, 0.6, False), (0.7, 0.8, True), (0.0, 0.0, False)]
)
def test_a_goal_is_missed_below_its_threshold(goal: float, threshold: float, missed: bool) -> None:
    found = collect_failures(judged(NO_FAILURE, goal=goal), held(1), threshold)
    assert [each.category for each in found] == [GOAL_NOT_COMPLETED] * missed


def test_a_missed_goal_stands_at_the_last_turn_and_tells_what_went_wrong_before() -> None:
    found = collect_failures(judged("repetition", NO_FAILURE, goal=0.2), held(2), 0.6)
    assert [each.category for each in found] == ["repetition", GOAL_NOT_COMPLETED]
    missed = found[1]
    assert missed.occurrence == Occurrence(conversation_id="c", turn_id=1)
    assert (missed.goal, missed.earlier) == ("Know the fee.", ("repetition: reason 0",))
    assert (missed.reason, missed.agent) == ("It stays open.", "answer 1")


@pytest.mark.parametrize("variables", [{}, {"scenario.goal": None}, {"scenario.goal": ["x"]}])
def test_the_goal_may_be_missing_in_files_of_other_tools(variables: dict[str, object]) -> None:
    (missed,) = collect_failures(judged(NO_FAILURE, goal=0), held(1, variables), 0.6)
    assert missed.goal == ""
