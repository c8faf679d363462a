from __future__ import annotations

from arksim_ci.llm.offline.rules.repetition import repeated_answer
from tests.unit.llm.offline.scenes import view

WASH = "Wash the jacket at 30 degrees on a gentle cycle."
FIRST = ("How do I wash it?", WASH)


def test_the_same_answer_to_another_question() -> None:
    found = repeated_answer(view("And how do I restore it?", WASH, *FIRST))
    assert found is not None
    assert found.label == "repetition"
    assert "And how do I restore it?" in found.reason


def test_nearly_the_same_answer_and_old_sentences_in_a_new_frame() -> None:
    assert repeated_answer(view("More?", "Wash the jacket at 30 degrees on the gentle cycle.", *FIRST))
    assert repeated_answer(view("More?", f"Hello! {WASH} Is there anything else I can help with?", *FIRST))


def test_what_adds_something_or_was_asked_for_again_or_is_short_is_none() -> None:
    adds = f"{WASH} Dry it on low heat for 20 minutes. Then apply a repellent spray."
    assert repeated_answer(view("More?", adds, *FIRST)) is None
    assert repeated_answer(view("Could you repeat that?", WASH, *FIRST)) is None
    assert repeated_answer(view("Really?", "Yes, of course.", "Is it?", "Yes, of course.")) is None
    assert repeated_answer(view("How do I wash it?", WASH)) is None


def test_asking_again_for_what_the_user_still_owes_is_none() -> None:
    ask = "Could you please give me your order number?"
    assert repeated_answer(view("I don't know it.", ask, "Where is my parcel?", ask)) is None
    assert repeated_answer(view("It is order 1001.", ask, "Where is my parcel?", ask))
