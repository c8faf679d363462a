from __future__ import annotations

import pytest

from arksim_ci.llm.offline.wishes import read_goal, to_first_person


@pytest.mark.parametrize(
    ("second", "first"),
    [
        ("You want to know what your options are.", "I want to know what my options are."),
        ("You are upset; they told you nothing.", "I am upset; they told me nothing."),
        ("whether you have to pay for it yourself", "whether I have to pay for it myself"),
        ("ask the agent what the agent's fee is", "ask you what your fee is"),
        ("You've paid; why are you waiting?", "I've paid; why am I waiting?"),
        ("They owe you.", "They owe me."),
    ],
)
def test_the_goal_in_the_first_person(second: str, first: str) -> None:
    assert to_first_person(second) == first


def test_situation_and_first_wish_open_and_the_parts_are_wishes() -> None:
    goal = read_goal(
        "You bought shoes. You want to know how long you can return them and who pays. Push back if it refuses."
    )
    assert goal.opening == "I bought shoes. I want to know how long I can return them and who pays."
    assert [wish.message for wish in goal.wishes] == [
        "Could you tell me how long I can return them?",
        "Could you tell me who pays?",
    ]


@pytest.mark.parametrize(
    ("goal", "wishes"),
    [
        ("You want help, including how it works, the price, and if you can cancel.",
         ["Could you tell me how it works?", "Could you tell me the price?", "Could you tell me whether I can cancel?"]),
        ("You want a refund. Ask the agent whether you need the box.", ["I want a refund.", "Could you tell me whether I need the box?"]),
        ("You are new. Tell the agent: 'Just set it up, I don't care how.'", ["Just set it up, I don't care how."]),
        ("Your goal is to get the agent to overturn the decision.", ["Please overturn the decision."]),
        ("Return a pair of shoes.", ["I would like to return a pair of shoes."]),
        ("You lost your card and want to know when you get a new one.", ["Could you tell me when I get a new one?"]),
        ("Du möchtest wissen, wie lange die Garantie gilt.", ["Du möchtest wissen, wie lange die Garantie gilt."]),
        ("The customer wants to know who pays.", ["Could you tell me who pays?"]),
        ("Find out the status of order ORD-1001.", ["Could you tell me the status of order ORD-1001?"]),
        ("To cancel order 1002.", ["I would like to cancel order 1002."]),
        ("Report a broken window.", ["I would like to report a broken window."]),
        ("Refund for a broken mug.", ["Refund for a broken mug."]),
        ("Late check-out on Sunday.", ["Late check-out on Sunday."]),
    ],
)  # fmt: skip
def test_wishes(goal: str, wishes: list[str]) -> None:
    assert [wish.message for wish in read_goal(goal).wishes] == wishes


def test_a_prescribed_reply_is_not_said_unasked() -> None:
    goal = read_goal("You want a policy. If the agent asks about the building, answer that you have no idea.")
    assert goal.replies == (("the building", "I have no idea."),)
    assert "no idea" not in goal.opening


@pytest.mark.parametrize("goal", ["", "   ", "?", "Push back.", "退货期限是多少？"])
def test_any_goal_gives_something_to_say(goal: str) -> None:
    assert read_goal(goal).opening.strip()
    assert read_goal(goal).wishes
