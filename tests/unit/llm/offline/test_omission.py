from __future__ import annotations

import pytest

from arksim_ci.llm.offline.rules.omission import missing_details, missing_figure
from tests.unit.llm.offline.scenes import view


@pytest.mark.parametrize(
    ("user", "answer", "figure"),
    [
        ("How long is the return period?", "Of course you can return them.", "30 days"),
        ("How much does express shipping cost?", "Express is our fastest way of shipping.", "9.90 EUR"),
        ("When does the shop close, until when is it open?", "The shop is in Berlin.", "17:00"),
    ],
)
def test_the_figure_that_the_user_asks_for_is_missing(user: str, answer: str, figure: str) -> None:
    found = missing_figure(view(user, answer))
    assert found is not None
    assert found.label == "lack of specific information"
    assert f"({figure})" in found.reason


@pytest.mark.parametrize(
    ("user", "answer"),
    [
        ("How long is the return period?", "30 days."),
        ("How much is return shipping?", "It is free."),
        ("How long is the return period?", "Which item do you mean?"),
        ("How long is the return period?", "I'm sorry, I can't help with that."),
        ("How long is the train to Berlin?", "That is a fine trip."),
        ("Is the return period long?", "It is generous."),
    ],
)
def test_a_figure_of_that_kind_or_no_need_for_one(user: str, answer: str) -> None:
    assert missing_figure(view(user, answer)) is None


def test_nothing_of_the_statement_is_passed_on() -> None:
    found = missing_details(view("Tell me about return shipping.", "Return shipping is a service of ours."))
    assert found is not None
    assert "free of charge with the prepaid label" in found.reason


@pytest.mark.parametrize(
    "answer",
    ["Use the prepaid label.", "It is free of charge.", "What would you like to return?", "I can't help with that."],
)
def test_details_questions_and_refusals(answer: str) -> None:
    assert missing_details(view("Tell me about return shipping.", answer)) is None
