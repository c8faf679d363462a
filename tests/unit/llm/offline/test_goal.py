from __future__ import annotations

from arksim_ci.llm.offline.goal import is_only_a_consequence, judge_goal
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.turn import Score
from tests.unit.llm.offline.scenes import history, scenario

GOAL = "You want to know how long you have to return shoes and what express shipping costs."
ASKED = "I want to know how long I have to return shoes and what express shipping costs."
RETURN = "Unworn items can be returned within 30 days of delivery."


def judge(*talk: str, goal: str = GOAL) -> Score:
    return judge_goal(GoalFacts(scenario(goal=goal), history(*talk), "c"))


def test_the_share_of_wishes_that_were_met() -> None:
    assert judge(ASKED, f"{RETURN} Express shipping costs 9.90 EUR.").value == 1
    half = judge(ASKED, RETURN)
    assert half.value == 0.5
    assert '"Could you tell me what express shipping costs?"' in half.reason
    assert judge(ASKED, "Bananas wear purple hats.").value == 0
    assert judge().value == 0


def test_a_contradicted_figure_spoils_only_the_wish_that_it_is_about() -> None:
    wrong = f"{RETURN} Express shipping costs 19.90 EUR."
    score = judge(ASKED, wrong)
    assert score.value == 0.5
    assert score.reason == (
        "1 of 2 wishes of the goal were met. Missed only through turns that failed already: "
        '"Could you tell me what express shipping costs?" (answered in turn 1, but: false information).'
    )
    assert judge(ASKED, wrong, "Really?", "I was wrong: express shipping costs 9.90 EUR.").value == 1


def test_an_answer_about_an_assumed_order_meets_nothing() -> None:
    goal = "You want to know when your order will arrive."
    on = scenario(
        goal=goal,
        knowledge=("Order 1001: arrives on 6 March.", "Order 1002: arrives on 9 March."),
        profile="Your order is 1001.",
    )
    talk = history("I want to know when my order will arrive.", "Your order 1002 arrives on 9 March.")
    score = judge_goal(GoalFacts(on, talk, "c"))
    assert score.value == 0
    assert "(answered in turn 1, but: failure to ask for clarification)" in score.reason


def test_a_wish_that_nobody_answered_is_told_from_one_that_a_failed_turn_spoiled() -> None:
    score = judge("I want to know what express shipping costs.", "Express shipping costs 19.90 EUR.")
    assert score.value == 0
    assert "Missed through turns" in score.reason
    assert score.reason.endswith('Not met by any answer: "Could you tell me how long I have to return shoes?"')
    assert not is_only_a_consequence(score.reason)
    assert not is_only_a_consequence(f"Off topic: {judge(ASKED, 'x').reason}")


def test_a_human_is_reached_by_an_answer_that_speaks_of_one() -> None:
    goal = "You want to speak to a human."
    assert judge("I want to speak to a human.", "A colleague will call you today.", goal=goal).value == 1
    assert judge("I want to speak to a human.", "See our help pages.", goal=goal).value == 0
    assert judge("I want to speak to a human.", "Sorry, I can't connect you to a human.", goal=goal).value == 0


def test_a_wish_that_the_knowledge_does_not_speak_of() -> None:
    goal = "You want to rename your account."
    asked = "I want to rename my account."
    assert judge(asked, "Done, it carries the new name now.", goal=goal).value == 1
    assert judge(asked, "I can't help with that.", goal=goal).value == 0
    assert judge(asked, "What should the new name be?", goal=goal).value == 0
