from __future__ import annotations

import pytest

from arksim_ci.llm.offline.rules.false_information import contradicted_figure, contradicted_statement
from tests.unit.llm.offline.scenes import scenario, view

ASKED = "How long do I have to return the shoes?"


def test_another_figure_on_the_same_subject_is_quoted_with_the_true_one() -> None:
    found = contradicted_figure(view(ASKED, "You can return them within 45 days of delivery."))
    assert found is not None
    assert found.label == "false information"
    assert "the answer says 45 days; the knowledge says 30 days" in found.reason
    assert '"You can return them within 45 days of delivery."' in found.reason
    assert "unworn items can be returned within 30 days" in found.reason


def test_a_short_answer_is_read_with_its_question() -> None:
    assert contradicted_figure(view("How long is the return period after delivery?", "You have 45 days."))


@pytest.mark.parametrize(
    ("user", "answer"),
    [
        (ASKED, "You can return unworn items within 30 days of delivery."),
        (ASKED, "Unworn items can be returned within one month of delivery."),
        ("What does shipping cost?", "Express shipping costs 9.90 EUR, standard shipping 4.90 EUR."),
        ("How long does shipping take?", "Standard shipping takes 3-5 days and express shipping 1-2 days."),
        (ASKED, "Our shop was founded 12 years ago."),
        (ASKED, "For example, shoes returned 45 days after delivery come back to you."),
        ("I want to return shoes that I have had for 45 days.", "After 45 days shoes can't be returned."),
        ("What does express shipping cost?", "Express shipping of 9.90 EUR takes 2 business days."),
    ],
)
def test_true_figures_other_subjects_examples_and_the_users_own_figures_are_left_alone(user: str, answer: str) -> None:
    assert contradicted_figure(view(user, answer)) is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Express shipping costs 12.90 EUR.", "9.90 EUR"),
        ("The shop is open until 8 pm.", "17:00"),
        ("Express shipping takes 4 business days.", "1 to 2 business days"),
    ],
)
def test_amounts_times_and_ranges(answer: str, says: str) -> None:
    found = contradicted_figure(view("Tell me about express shipping and when the shop is open.", answer))
    assert found is not None
    assert f"the knowledge says {says}" in found.text


def test_a_wrong_e_mail_address_and_a_wrong_date() -> None:
    on = scenario(knowledge=("Support e-mail: write to help@shop.example.", "The summer sale starts on 1 June."))
    assert contradicted_figure(view("How do I reach support?", "Write to support at info@shop.example.", on=on))
    assert contradicted_figure(view("When does the summer sale start?", "The summer sale starts on July 1.", on=on))
    assert (
        contradicted_figure(view("When does the summer sale start?", "The summer sale starts June 1st.", on=on)) is None
    )


@pytest.mark.parametrize(
    "answer", ["Gift cards can be exchanged for cash.", "Customers pay for return shipping with the label."]
)
def test_the_opposite_of_a_statement(answer: str) -> None:
    found = contradicted_statement(view("Tell me about gift cards and return shipping.", answer))
    assert found is not None
    assert "the opposite of the knowledge" in found.reason


@pytest.mark.parametrize(
    "answer",
    [
        "Gift cards cannot be exchanged for cash.",
        "Gift cards can be exchanged for cash only if the law says so.",
        "Can gift cards be exchanged for cash?",
        "Return shipping is free of charge.",
        "Standard shipping costs 4.90 EUR.",
        "Gift cards make a great present.",
    ],
)
def test_agreement_conditions_and_questions_are_left_alone(answer: str) -> None:
    assert contradicted_statement(view("Tell me about gift cards and shipping.", answer)) is None
