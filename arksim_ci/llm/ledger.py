"""Usage by role, and the run's budget: most calls, most cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arksim_ci.config.model import Price
from arksim_ci.llm.client import Role, RunLimitReached
from arksim_ci.llm.prices import Tokens, cost_usd, price_of
from arksim_ci.schema.verdict import RoleUsage, Usage


@dataclass(slots=True)
class _Account:
    calls: int = 0
    retries: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    cost_known: bool = True


class Ledger:
    """Counts every request, and says when the budget is used up.

    Every request that is sent is a call, retries and repairs included: the number of calls is never more than
    `max_calls`. Cost is known once an answer is there, so requests in flight when `max_cost_usd` is reached still finish.

    Parameters:
        model: the model as configured, for its price.
        prices: USD per million tokens, by model.
        max_calls: most requests of the run.
        max_cost_usd: the run stops asking once this is reached.

    Raises:
        ValueError: a cost limit without a price could never be held.
    """

    def __init__(
        self,
        model: str,
        prices: Mapping[str, Price] | None = None,
        max_calls: int | None = None,
        max_cost_usd: float | None = None,
    ) -> None:
        if max_cost_usd is not None and price_of(prices, model) is None:
            raise ValueError(f"max_cost_usd needs a price for the model {model}")
        self._model = model
        self._prices = prices
        self._max_calls = max_calls
        self._max_cost = max_cost_usd
        self._accounts: dict[Role, _Account] = {
            "simulated_user": _Account(),
            "judge": _Account(),
            "analysis": _Account(),
        }
        self._limit_reached: str | None = None

    @property
    def limit_reached(self) -> str | None:
        """Why a request was refused, in a sentence; None as long as none was."""
        return self._limit_reached

    def check(self) -> None:
        """See whether one more request may be sent.

        Raises:
            RunLimitReached: the budget is used up.
        """
        cause = self._limit()
        if cause:
            self._limit_reached = cause
            raise RunLimitReached(cause)

    def _limit(self) -> str | None:
        accounts = self._accounts.values()
        if self._max_calls is not None and sum(account.calls for account in accounts) >= self._max_calls:
            return f"max_llm_calls reached: {self._max_calls} requests were sent"
        if self._max_cost is not None:
            cost = sum(account.cost for account in accounts)
            if cost >= self._max_cost:
                return f"max_cost_usd reached: {cost:.4f} of {self._max_cost:g} USD"
            if not all(account.cost_known for account in accounts):
                return (
                    "max_cost_usd can't be kept: the server does not report the tokens used; use max_llm_calls instead"
                )
        return None

    def sent(self, role: Role, *, again: bool) -> None:
        """Count a request that is about to be sent; `again` after a failure."""
        account = self._accounts[role]
        account.calls += 1
        account.retries += again

    def answered(self, role: Role, tokens: Tokens | None, model: str) -> None:
        """Count what an answer used; None where the server does not say."""
        account = self._accounts[role]
        price = price_of(self._prices, self._model, model)
        if tokens is None or price is None:
            account.cost_known = False
        if tokens is None:
            return
        account.input += tokens.input
        account.cached += tokens.cached
        account.output += tokens.output
        if price is not None:
            account.cost += cost_usd(tokens, price)

    def usage(self) -> Usage:
        """What was used so far. The cost of a role is None where a price or the tokens of an answer are not known."""
        return Usage(**{role: self._as_usage(account) for role, account in self._accounts.items()})

    def _as_usage(self, account: _Account) -> RoleUsage:
        priced = account.cost_known and bool(self._prices)
        return RoleUsage(
            calls=account.calls,
            retries=account.retries,
            input_tokens=account.input,
            cached_tokens=account.cached,
            output_tokens=account.output,
            cost_usd=account.cost if priced else None,
        )
