"""The judge's question about a whole conversation: was the user's goal reached?"""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message


@dataclass(frozen=True, slots=True)
class GoalFacts:
    """One finished conversation. The answer is a `Score` of 0-1. `case` tells repetitions of a conversation apart."""

    scenario: Scenario
    history: tuple[Message, ...]
    case: str
