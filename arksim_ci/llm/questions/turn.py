"""The judge's question about one turn: its scores and its failure labels."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """One turn in its conversation.

    `history` holds the messages before this turn; `user` and `agent` are the turn. `metrics` are the built-in metrics to
    judge now: in `combined` mode all that run, in `per_metric` mode one. `case` tells repetitions of a conversation apart.
    """

    scenario: Scenario
    history: tuple[Message, ...]
    user: Message | None
    agent: Message
    metrics: tuple[str, ...]
    case: str


@dataclass(frozen=True, slots=True)
class Score:
    """A number with its reason."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Label:
    """A label with its reason."""

    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnJudgement:
    """What the judge said of a turn. A metric that is in neither was not answered usably."""

    scores: dict[str, Score]
    labels: dict[str, Label]
