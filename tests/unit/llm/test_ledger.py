"""Usage and budget."""

from __future__ import annotations

import pytest

from arksim_ci.config.model import Price
from arksim_ci.llm.client import RunLimitReached
from arksim_ci.llm.ledger import Ledger
from arksim_ci.llm.prices import Tokens

PRICE = Price(input=2.0, cached_input=0.5, output=8.0)


def test_usage_is_counted_by_role() -> None:
    ledger = Ledger("m", {"m": PRICE})
    ledger.sent("judge", again=False)
    ledger.sent("judge", again=True)
    ledger.answered("judge", Tokens(1_000_000, 400_000, 100_000), "m-2026")
    judge = ledger.usage().judge
    assert (judge.calls, judge.retries) == (2, 1)
    assert (judge.input_tokens, judge.cached_tokens, judge.output_tokens) == (1_000_000, 400_000, 100_000)
    assert judge.cost_usd == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8)
    assert ledger.usage().simulated_user.calls == 0


def test_without_a_price_there_is_no_cost_rather_than_zero() -> None:
    ledger = Ledger("m")
    ledger.sent("judge", again=False)
    ledger.answered("judge", Tokens(10, 0, 10), "m")
    assert ledger.usage().judge.cost_usd is None


def test_the_price_may_stand_under_the_name_that_the_server_reports() -> None:
    ledger = Ledger("m", {"m-2026": PRICE})
    ledger.answered("judge", Tokens(1_000_000, 0, 0), "m-2026")
    assert ledger.usage().judge.cost_usd == pytest.approx(2.0)


def test_an_answer_without_usage_makes_the_cost_unknown() -> None:
    ledger = Ledger("m", {"m": PRICE})
    ledger.answered("judge", Tokens(1_000_000, 0, 0), "m")
    ledger.answered("judge", None, "m")
    assert ledger.usage().judge.cost_usd is None


def test_calls_end_at_the_limit() -> None:
    ledger = Ledger("m", max_calls=2)
    for _ in range(2):
        ledger.check()
        ledger.sent("judge", again=False)
    assert ledger.limit_reached is None
    with pytest.raises(RunLimitReached, match="max_llm_calls reached: 2 requests"):
        ledger.check()
    assert ledger.limit_reached == "max_llm_calls reached: 2 requests were sent"


def test_cost_ends_the_run_as_soon_as_it_is_reached() -> None:
    ledger = Ledger("m", {"m": PRICE}, max_cost_usd=2.0)
    ledger.answered("judge", Tokens(999_999, 0, 0), "m")
    ledger.check()
    ledger.answered("simulated_user", Tokens(1, 0, 0), "m")
    with pytest.raises(RunLimitReached, match="max_cost_usd reached"):
        ledger.check()


def test_a_cost_limit_that_cannot_be_measured_ends_the_run() -> None:
    ledger = Ledger("m", {"m": PRICE}, max_cost_usd=2.0)
    ledger.answered("judge", None, "m")
    with pytest.raises(RunLimitReached, match="does not report the tokens"):
        ledger.check()


def test_a_cost_limit_without_a_price_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a price for the model m"):
        Ledger("m", {"other": PRICE}, max_cost_usd=1.0)
