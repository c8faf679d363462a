from __future__ import annotations

from arksim_ci.llm.offline.goal import judge_goal
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


def test_an_answer_that_is_false_meets_nothing() -> None:
    wrong = f"{RETURN} Express shipping costs 19.90 EUR."
    assert judge(ASKED, wrong).value == 0
    assert judge(ASKED, wrong, "Really?", "I was wrong: express shipping costs 9.90 EUR.").value == 0.5


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
