"""What became of the errors of an earlier run."""

from __future__ import annotations

import pytest

from arksim_ci.evaluation.comparison import Comparison, KnownError, compare
from arksim_ci.schema.evaluation import ConversationEvaluation, Evaluation, Occurrence, TurnEvaluation, UniqueError
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, GOAL_NOT_COMPLETED, NO_FAILURE

REFUNDS = "Names a wrong time for refunds although the policy says 5 days."
PHONE = "Invents a phone number for the service team."


def known(
    number: int, description: str, *scenarios: str, category: str = "false information", name: str = "e"
) -> KnownError:
    error = UniqueError(
        unique_error_id=f"{name}{number}",
        behavior_failure_category=category,
        unique_error_description=description,
        occurrences=[Occurrence(conversation_id="c", turn_id=0)],
    )
    return KnownError(number, error, scenarios)


def evaluation(*conversations: tuple[str, list[str], float]) -> tuple[Evaluation, dict[str, str]]:
    """An evaluation of conversations, each a scenario, its turns' labels and its goal completion."""
    evaluated = []
    scenario_of = {}
    for number, (scenario, labels, goal) in enumerate(conversations):
        scenario_of[f"c{number}"] = scenario
        turns = [
            TurnEvaluation(
                turn_id=turn, scores=[], turn_score=5, turn_behavior_failure=label, turn_behavior_failure_reason=""
            )
            for turn, label in enumerate(labels)
        ]
        evaluated.append(
            ConversationEvaluation(
                conversation_id=f"c{number}",
                goal_completion_score=goal,
                goal_completion_reason="",
                turn_success_ratio=1,
                overall_agent_score=1,
                evaluation_status="Done",
                turn_scores=turns,
            )
        )
    whole = Evaluation(
        schema_version="v1.1",
        generated_at="",
        evaluator_version="",
        evaluation_id="",
        simulation_id="",
        conversations=evaluated,
        unique_errors=[],
    )
    return whole, scenario_of


CLEAN = ("a", [NO_FAILURE], 1.0), ("b", [NO_FAILURE], 1.0)


def outcomes(comparison: Comparison) -> list[tuple[str, int | None]]:
    return [(each.outcome, each.now.number if each.now else None) for each in comparison.errors]


def test_an_error_that_no_longer_shows_in_its_scenarios_is_fixed() -> None:
    comparison = compare([known(1, REFUNDS, "a", "b")], [], *evaluation(*CLEAN))
    assert outcomes(comparison) == [("fixed", None)]
    assert comparison.new == ()


def test_it_is_still_there_in_other_words() -> None:
    now = [known(1, "Tells users that refunds take 15 days, not 5.", "b", name="n")]
    comparison = compare([known(3, REFUNDS, "a", "b")], now, *evaluation(*CLEAN))
    assert outcomes(comparison) == [("still there", 1)]


@pytest.mark.parametrize(
    "conversations",
    [
        (("a", [NO_FAILURE], 1.0),),
        (("a", [NO_FAILURE], 1.0), ("b", [NO_FAILURE, EVALUATION_RUN_FAILED], 1.0)),
        (("a", [NO_FAILURE], 1.0), ("b", [], -1.0)),
        (("a", [NO_FAILURE], 1.0), ("b", [NO_FAILURE], 1.0), ("b", [EVALUATION_RUN_FAILED], 1.0)),
    ],
    ids=["not run", "a turn not judged", "the agent never spoke", "one of two conversations not judged"],
)
def test_without_all_of_its_scenarios_nothing_is_called_fixed(
    conversations: tuple[tuple[str, list[str], float], ...],
) -> None:
    comparison = compare([known(1, REFUNDS, "a", "b")], [], *evaluation(*conversations))
    assert outcomes(comparison) == [("not exercised", None)]
    assert comparison.errors[0].not_run == ("b",)


def test_a_missed_goal_needs_a_measured_goal() -> None:
    before = [known(1, "The fee stays open.", "a", category=GOAL_NOT_COMPLETED)]
    assert outcomes(compare(before, [], *evaluation(("a", [EVALUATION_RUN_FAILED], 1.0)))) == [("fixed", None)]
    assert outcomes(compare(before, [], *evaluation(("a", [NO_FAILURE], -1.0)))) == [("not exercised", None)]


def test_two_errors_of_a_scenario_are_told_apart_by_their_descriptions() -> None:
    before = [known(1, PHONE, "a"), known(2, REFUNDS, "a")]
    comparison = compare(before, [known(1, "A wrong time for refunds is named.", "a")], *evaluation(*CLEAN))
    assert outcomes(comparison) == [("fixed", None), ("still there", 1)]


def test_two_errors_that_are_one_now_are_both_still_there_where_they_are_alike() -> None:
    before = [
        known(1, REFUNDS, "a"),
        known(2, "Names a wrong time for refunds of gift cards.", "b"),
        known(3, PHONE, "a"),
    ]
    now = [known(1, "Names a wrong time for refunds.", "a", "b")]
    assert outcomes(compare(before, now, *evaluation(*CLEAN))) == [
        ("still there", 1),
        ("still there", 1),
        ("fixed", None),
    ]


def test_another_category_or_scenario_is_another_error() -> None:
    now = [known(1, REFUNDS, "b"), known(2, REFUNDS, "a", category="repetition")]
    comparison = compare([known(1, REFUNDS, "a")], now, *evaluation(*CLEAN))
    assert outcomes(comparison) == [("fixed", None)]
    assert [each.number for each in comparison.new] == [1, 2]


def test_nothing_before_and_nothing_now() -> None:
    assert compare([], [], *evaluation()) == Comparison((), ())
