from __future__ import annotations

import pytest

from arksim_ci.llm.offline.text import is_within, negated, overlap, quote, sentences, stem, stems, words


@pytest.mark.parametrize(
    "alike",
    [
        ("shipped", "shipping", "shipment", "ships"),
        ("delivery", "deliver", "delivered", "deliveries"),
        ("policy", "policies"),
        ("cancelled", "cancellation", "cancel", "cancelling"),
        ("refund", "refunds", "refundable", "refunded"),
        ("exchange", "exchanging", "exchanged"),
    ],
)
def test_forms_of_a_word_share_a_stem(alike: tuple[str, ...]) -> None:
    assert len({stem(word) for word in alike}) == 1


@pytest.mark.parametrize("different", [("return", "refund"), ("order", "offer"), ("class", "clasp")])
def test_other_words_do_not(different: tuple[str, str]) -> None:
    assert stem(different[0]) != stem(different[1])


def test_stop_words_and_small_numbers_are_no_content_but_order_numbers_are() -> None:
    assert stems("What is the status of my order 1002, and of the 30 others?") == {"statu", "order", "1002", "other"}


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    assert overlap(stems("退货期限是三十天"), stems("退货期限是多少")) > 0.3
    assert stems("Rückgabe möglich, Größe über 40") >= {"rückgab", "möglich"}


def test_sentences_end_at_marks_and_lines_not_at_decimals_or_abbreviations() -> None:
    text = "It costs 4.90 EUR, e.g. for shoes. **Really?**\n- first item\n2. second item"
    assert sentences(text) == ("It costs 4.90 EUR, e.g. for shoes.", "Really?", "first item", "second item")


@pytest.mark.parametrize(
    ("text", "is_negated"),
    [("You can't return it.", True), ("It is non-refundable.", True), ("You can.", False), ("Not impossible? No, not.", True), ("No, it is not.", False)],
)  # fmt: skip
def test_negation(text: str, is_negated: bool) -> None:
    assert negated(text) is is_negated


def test_a_part_of_a_message_is_within_it_word_for_word() -> None:
    assert is_within("I want a human.", "Hello! I want a human, now.")
    assert not is_within("I want a hum", "Hello! I want a human.")


def test_a_quotation_is_one_short_line_without_marks_of_its_own() -> None:
    assert quote('say\n "yes"  now') == "\"say 'yes' now\""
    assert len(quote("word " * 100)) <= 162


def test_no_text_is_no_words() -> None:
    assert words(" \n…!") == []
    assert sentences("…") == ()
    assert overlap(set(), set()) == 0
