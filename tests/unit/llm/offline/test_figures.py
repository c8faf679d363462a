from __future__ import annotations

import pytest

from arksim_ci.llm.offline.figures import figures


@pytest.mark.parametrize(
    ("text", "kind", "low", "high"),
    [
        ("within 30 days", "duration", 30, 30),
        ("3 to 5 business days", "duration", 3, 5),
        ("two weeks", "duration", 14, 14),
        ("a 24-month warranty", "duration", 730.5, 730.5),
        ("$1,000 deductible", "money", 1000, 1000),
        ("4,90 EUR", "money", 4.9, 4.9),
        ("EUR 9.90", "money", 9.9, 9.9),
        ("£20-£30", "money", 20, 30),
        ("save 5-25%", "percent", 5, 25),
        ("ten percent", "percent", 10, 10),
        ("at 5:30 pm", "time", 1050, 1050),
        ("until 17:00", "time", 1020, 1020),
        ("12 am", "time", 0, 0),
        ("40 stores", "count", 40, 40),
    ],
)
def test_a_figure_is_read(text: str, kind: str, low: float, high: float) -> None:
    (figure,) = figures(text)
    assert figure.kind == kind
    assert [figure.low, figure.high] == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("on 6 March", "date", "03-06"),
        ("on March 6th", "date", "03-06"),
        ("on 2026-03-06", "date", "03-06"),
        ("write to help@shop.example", "email", "help@shop.example"),
        ("call +49 30 555 01 00", "phone", "49305550100"),
    ],
)
def test_what_is_compared_as_written(text: str, kind: str, value: str) -> None:
    (figure,) = figures(text)
    assert (figure.kind, figure.text_value) == (kind, value)


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("2 weeks", "14 days", True),
        ("1 month", "30 days", True),
        ("24 months", "2 years", True),
        ("30 days", "45 days", False),
        ("10%", "5-25%", True),
        ("30%", "5-25%", False),
        ("6 March", "2026-03-06", True),
        ("6 March", "7 March", False),
    ],
)
def test_figures_agree_where_both_can_be_true(one: str, other: str, agree: bool) -> None:
    (left,), (right,) = figures(one), figures(other)
    assert left.is_comparable(right)
    assert left.agrees_with(right) is agree


def test_different_currencies_are_not_compared() -> None:
    (dollars,), (euros,) = figures("$5"), figures("5 EUR")
    assert not dollars.is_comparable(euros)
