from __future__ import annotations

import pytest

from arksim_ci.llm.offline.rules.requests import (
    ignored_request,
    off_topic,
    refused_although_known,
    too_long_for_request,
)
from tests.unit.llm.offline.scenes import view


@pytest.mark.parametrize(
    ("user", "answer", "asks_for"),
    [
        ("I want to speak to a human.", "Have a look at our help pages.", "a human contact"),
        ("Can you connect me with someone from your team?", "We sell many shoes.", "a human contact"),
        ("Please send me the confirmation by e-mail.", "Your order is fine.", "an e-mail"),
        ("Could someone call me?", "Please be patient.", "a phone call"),
        ("Please call me back.", "Please be patient.", "a phone call"),
        ("Send me a link to the form.", "The form is easy.", "a link"),
        ("I want to speak to a human.", "A colleague will call you.", None),
        ("I don't want to talk to a human.", "Fine, shoes then.", None),
        ("Please send me the confirmation by e-mail.", "It is in your inbox.", None),
        ("Can a person of 16 buy shoes?", "Yes, at any age.", None),
    ],
)
def test_a_request_of_a_known_kind_must_be_mentioned(user: str, answer: str, asks_for: str | None) -> None:
    found = ignored_request(view(user, answer))
    assert (found is not None) == (asks_for is not None)
    if found and asks_for:
        assert found.label == "disobey user request"
        assert asks_for in found.reason


def test_a_long_answer_to_somebody_who_wants_a_short_one() -> None:
    long = "You can return shoes. " * 20
    assert too_long_for_request(view("Tell me in one sentence, please.", long))
    assert too_long_for_request(view("Tell me in one sentence, please.", "Within 30 days.")) is None
    assert too_long_for_request(view("Tell me everything.", long)) is None


def test_a_refusal_although_the_knowledge_has_the_answer() -> None:
    found = refused_although_known(view("How is the return shipping paid?", "I'm sorry, I can't help with that."))
    assert found is not None
    assert "free of charge with the prepaid label" in found.reason


@pytest.mark.parametrize(
    ("user", "answer"),
    [
        ("Do you sell tents in Norway?", "I'm sorry, I don't have information on that."),
        ("Can gift cards be exchanged for cash?", "I'm sorry, we can't do that."),
        ("How is the return shipping paid?", "I can't help with more than this: use the prepaid label, it is free of charge."),
    ],
)  # fmt: skip
def test_fair_refusals(user: str, answer: str) -> None:
    assert refused_although_known(view(user, answer)) is None


@pytest.mark.parametrize("answer", ["The moon is made of green cheese.", "", "Lorem ipsum dolor sit amet.", " …"])
def test_nonsense_and_silence(answer: str) -> None:
    found = off_topic(view("How long do I have to return the shoes?", answer))
    assert found is not None
    assert found.label == "disobey user request"


@pytest.mark.parametrize(
    "answer",
    ["Within 30 days of delivery.", "Hello, how can I help?", "Yes.", "Which shoes do you mean?", "I don't know."],
)
def test_answers_greetings_questions_and_refusals_are_on_topic(answer: str) -> None:
    assert off_topic(view("How long do I have to return the shoes?", answer)) is None
