from __future__ import annotations

import pytest

from arksim_ci.llm.offline.user import FOLLOW_UPS, ask_about, next_message
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.vocabulary import STOP_SIGNAL
from tests.unit.llm.offline.scenes import history, scenario

GOAL = "You want to know how long you have to return shoes and whether return shipping is free."
OPENING = "I want to know how long I have to return shoes and whether return shipping is free."
REFUSAL = "I'm sorry, I can't help with that."


def say(*before: str, on: Scenario | None = None, repetition: int = 1, complaint: str = "", rejected: str = "") -> str:
    on = on or scenario(goal=GOAL)
    return next_message(
        SimulatedUserFacts(on, "", history(*before), len(before) // 2, 5, repetition, complaint, rejected)
    )


def test_opens_with_the_goal_and_greets_by_repetition() -> None:
    assert say() == OPENING
    assert say(repetition=0) == f"Hello. {OPENING}"
    assert say() == say()


def test_asks_for_the_part_that_the_answer_left_open() -> None:
    assert say(OPENING, "Unworn items can be returned within 30 days of delivery.") == (
        "Could you tell me whether return shipping is free?"
    )


def test_stops_alone_when_all_is_told() -> None:
    everything = "Unworn items: within 30 days of delivery. Return shipping is free of charge with the prepaid label."
    on = scenario(
        goal=GOAL,
        knowledge=("Return period: 30 days from delivery.", "Return shipping: free of charge with the label."),
    )
    assert say(OPENING, everything, on=on) == STOP_SIGNAL


def test_gives_up_after_two_refusals() -> None:
    first = say(OPENING, REFUSAL)
    assert first not in (STOP_SIGNAL, OPENING)
    assert say(OPENING, REFUSAL, first, REFUSAL) == STOP_SIGNAL


def test_answers_from_the_profile_what_the_agent_asks() -> None:
    on = scenario(
        goal="You want to know when your order arrives.",
        profile="You are Ines. Your order 1001 is a tent.",
        knowledge=(),
    )
    assert say("When does my order arrive?", "What is your order number, please?", on=on) == "My order number is 1001."
    assert say("Where is it?", "Which delivery address did you give?", on=on) == "I'm afraid I don't know that."
    told = scenario(goal="You want shoes.", profile="Your delivery address is 5 Elm Road.", knowledge=())
    assert say("Where is it?", "Which delivery address did you give?", on=told) == "My delivery address is 5 Elm Road."


def test_answers_as_the_goal_prescribes_and_accepts_offers() -> None:
    on = scenario(
        goal="You want a policy. If the agent asks about your building, answer that you have no idea.", knowledge=()
    )
    assert say("I want a policy.", "What kind of building do you live in?", on=on) == "I have no idea."
    assert say("I want a policy.", "Would you like me to send you an offer?", on=on) == "Yes, please."


def test_a_rejected_message_is_not_proposed_again() -> None:
    other = say(OPENING, REFUSAL, complaint="You have sent this before.", rejected=say(OPENING, REFUSAL))
    assert other != say(OPENING, REFUSAL)


@pytest.mark.parametrize("answer", ["Bananas wear hats.", "", "Which one do you mean?", OPENING, REFUSAL, STOP_SIGNAL])
@pytest.mark.parametrize("goal", [GOAL, "", "Du willst wissen, wann das Paket kommt.", "退货期限是多少？"])
def test_a_conversation_ends_and_no_message_comes_twice(answer: str, goal: str) -> None:
    on = scenario(goal=goal)
    said: list[str] = []
    talk: list[str] = []
    for _ in range(30):
        message = say(*talk, on=on)
        assert message.strip()
        if message == STOP_SIGNAL:
            break
        said.append(message)
        talk += [message, answer]
    assert message == STOP_SIGNAL
    assert said
    assert len(set(said)) == len(said)
    assert not any(STOP_SIGNAL in one for one in said)


def test_asks_a_few_questions_about_the_knowledge_in_an_order_that_depends_on_the_repetition() -> None:
    topics = tuple(f"Shoe topic {name}: something about it." for name in ("alpha", "beta", "gamma", "delta", "epsilon"))
    on = scenario(goal="You want to know about shoe topics.", knowledge=topics)
    orders = []
    for repetition in (0, 1):
        talk = ["I want to know about shoe topics.", "Fine."]
        while (message := say(*talk, on=on, repetition=repetition)) != STOP_SIGNAL:
            talk += [message, f"Well, {len(talk)} is a number."]
        orders.append([text for text in talk[2::2] if "also" in text])
    assert [len(order) for order in orders] == [FOLLOW_UPS, FOLLOW_UPS]
    assert orders[0] != orders[1]


@pytest.mark.parametrize(
    ("topic", "question"),
    [
        ("Maintain Your Roof", "Could you also tell me how to maintain my roof?"),
        ("2. Get quotes", "Could you also tell me how to get quotes?"),
        ("If a burglary happens", "Could you also tell me what to do if a burglary happens?"),
        ("How to appeal", "Could you also tell me how to appeal?"),
        ("Return shipping:", "Could you also tell me about return shipping?"),
        ("Is it insured?", "Is it insured?"),
    ],
)
def test_a_topic_of_the_knowledge_becomes_a_plain_question(topic: str, question: str) -> None:
    assert ask_about(topic) == question


def test_half_a_sentence_is_no_topic() -> None:
    knowledge = ("Only orders that are not shipped can be cancelled.", "Orders that are shipped are final.")
    on = scenario(goal="You want to cancel orders.", knowledge=knowledge)
    assert say("I want to cancel orders.", "Your cancelled orders are settled.", on=on) == STOP_SIGNAL
