"""What an answer costs, by the prices that the user gave. No price is built in: they change, and a wrong one is worse than none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arksim_ci.config.model import Price


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one answer used. `cached` are those of `input` that the provider read from its prompt cache."""

    input: int
    cached: int
    output: int


def price_of(prices: Mapping[str, Price] | None, *models: str) -> Price | None:
    """The price of the first of these names that has one: the model as configured, then as the server names it."""
    return next((prices[model] for model in models if model in prices), None) if prices else None


def cost_usd(tokens: Tokens, price: Price) -> float:
    """The cost in USD; prices are per million tokens."""
    fresh = tokens.input - tokens.cached
    return (fresh * price.input + tokens.cached * price.cached_input + tokens.output * price.output) / 1_000_000
