"""Which turn a span belongs to, and when a turn's spans are complete. No network, no clock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from arksim_ci.agents.trace_context import CONVERSATION_ID, TURN_ID, parent_span_id, trace_id
from arksim_ci.agents.traces_otlp import Span

logger = logging.getLogger(__name__)

MOST_SPANS_IN_HAND = 20_000
"""Spans that are kept until it is known which turn they belong to; the oldest trace goes first."""

TurnKey = tuple[str, int]


@dataclass(slots=True)
class TurnSpans:
    """The spans of a turn so far. `batches` counts how often some came."""

    key: TurnKey
    spans: list[Span] = field(default_factory=list)
    batches: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether no span is known to be missing: each one's parent has come, too, or is none of the agent's.

        A span is sent when it ends, so a parent comes after what it holds.
        """
        known = {span.span_id for span in self.spans} | {"", parent_span_id(*self.key)}
        return bool(self.spans) and all(span.parent_id in known for span in self.spans)


class OpenTurns:
    """The turns under way, and the spans that came for them.

    A span belongs to the turn that its attributes name, or else its resource's; without a turn's number, to the one that
    is under way in the conversation; without either, to the turn of its trace: the one that our request began, or the one
    of which another span of the trace tells.
    """

    def __init__(self, note: Callable[[str], None] = logger.warning) -> None:
        """Start without turns. `note` is told what a user should know."""
        self._note = note
        self._turns: dict[TurnKey, TurnSpans] = {}
        self._of_trace: dict[str, TurnKey] = {}
        self._in_hand: dict[str, list[Span]] = {}
        self._ended: set[str] = set()

    def begin(self, conversation_id: str, turn_id: int) -> TurnSpans:
        """A turn begins."""
        turn = TurnSpans((conversation_id, turn_id))
        self._turns[turn.key] = turn
        self._of_trace[trace_id(*turn.key)] = turn.key
        return turn

    def end(self, turn: TurnSpans) -> None:
        """A turn is over: what still comes for it is too late."""
        del self._turns[turn.key]
        self._ended.add(turn.key[0])
        self._of_trace = {trace: key for trace, key in self._of_trace.items() if key != turn.key}

    def take(self, spans: Iterable[Span]) -> list[TurnSpans]:
        """Sort spans to their turns. Returns the turns that got some."""
        got: dict[TurnKey, TurnSpans] = {}
        for span in spans:
            turn = self._turn_of(span)
            if turn is None:
                self._keep(span)
                continue
            waiting = self._in_hand.pop(span.trace_id, []) if span.trace_id else []
            turn.spans += [*waiting, span]
            got[turn.key] = turn
        for turn in got.values():
            turn.batches += 1
        return list(got.values())

    def _turn_of(self, span: Span) -> TurnSpans | None:
        conversation_id = _named(span, CONVERSATION_ID)
        if conversation_id is None:
            key = self._of_trace.get(span.trace_id)
            return self._turns.get(key) if key else None
        turn = self._named_turn(conversation_id, _named(span, TURN_ID))
        if turn is None:
            self._say_too_late(conversation_id)
        elif span.trace_id:
            self._of_trace.setdefault(span.trace_id, turn.key)
        return turn

    def _named_turn(self, conversation_id: str, turn_id: str | None) -> TurnSpans | None:
        if turn_id is not None and turn_id.lstrip("-").isdecimal():
            return self._turns.get((conversation_id, int(turn_id)))
        return next((turn for key, turn in self._turns.items() if key[0] == conversation_id), None)

    def _keep(self, span: Span) -> None:
        if not span.trace_id or _named(span, CONVERSATION_ID) is not None:
            return
        self._in_hand.setdefault(span.trace_id, []).append(span)
        while sum(map(len, self._in_hand.values())) > MOST_SPANS_IN_HAND:
            del self._in_hand[next(iter(self._in_hand))]

    def _say_too_late(self, conversation_id: str) -> None:
        if conversation_id in self._ended:
            self._ended.discard(conversation_id)
            self._note(
                "an agent's spans came after their turn was over and are not counted; raise trace_receiver.wait_timeout, or "
                "let the agent send its spans sooner"
            )


def _named(span: Span, name: str) -> str | None:
    value = span.attributes.get(name, span.resource.get(name))
    return None if value is None else str(value)
