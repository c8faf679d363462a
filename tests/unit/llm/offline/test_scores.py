from __future__ import annotations

import pytest

from arksim_ci.llm.offline.judge import judge_turn
from arksim_ci.llm.offline.rules.scores import coherence, verbosity
from arksim_ci.schema.vocabulary import TURN_METRICS
from tests.unit.llm.offline.scenes import turn, view

ASKED = "How long do I have to return the shoes?"
GOOD = "You can return unworn items within 30 days of delivery."


@pytest.mark.parametrize(("count", "score"), [(0, 1), (1, 5), (120, 5), (121, 4), (181, 3), (251, 2), (351, 1)])
def test_verbosity_by_length(count: int, score: float) -> None:
    assert verbosity(view(ASKED, "word " * count)).value == score


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (GOOD, 5),
        ("", 1),
        ("buy now buy now buy now buy now buy now buy now", 2),
        ("You can return shoes in a month. You can return shoes in a month.", 3),
        ("You can return the shoes within", 5),
        ("You can return the shoes and the", 3),
        ("x" * 90, 2),
    ],
)
def test_coherence(answer: str, score: float) -> None:
    assert coherence(view(ASKED, answer)).value == score


def test_a_good_answer_gets_full_marks_and_each_score_a_reason() -> None:
    judgement = judge_turn(turn(ASKED, GOOD))
    assert {name: score.value for name, score in judgement.scores.items()} == dict.fromkeys(TURN_METRICS, 5.0)
    assert all(score.reason for score in judgement.scores.values())
    assert judgement.labels["agent_behavior_failure"].value == "no failure"


def test_false_information_costs_faithfulness_and_helpfulness() -> None:
    judgement = judge_turn(turn(ASKED, "You can return unworn items within 45 days of delivery."))
    assert judgement.labels["agent_behavior_failure"].value == "false information"
    assert judgement.scores["faithfulness"].value == 1
    assert judgement.scores["helpfulness"].value == 1
    assert judgement.scores["coherence"].value == 5


def test_nonsense_costs_relevance_and_a_question_back_does_not() -> None:
    assert judge_turn(turn(ASKED, "Bananas wear purple hats.")).scores["relevance"].value == 1
    back = judge_turn(turn(ASKED, "Which shoes do you mean?"))
    assert (back.scores["relevance"].value, back.scores["helpfulness"].value) == (5, 4)


def test_only_the_metrics_that_are_asked_for_are_answered() -> None:
    judgement = judge_turn(turn(ASKED, GOOD, metrics=("faithfulness",)))
    assert set(judgement.scores) == {"faithfulness"}
    assert judgement.labels == {}
