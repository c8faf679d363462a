"""What a run tells while it goes on; who shows it, and how, is no concern of the run."""

from __future__ import annotations

from typing import Protocol

from arksim_ci.schema.simulation import Conversation, Turn


class Progress(Protocol):
    """Whoever watches a run. Every method returns at once."""

    def phase(self, name: str) -> None:
        """A part of the run begins, in a word or two for a reader."""
        ...

    def expect(self, conversations: int, turns: int) -> None:
        """How much there will be at most."""
        ...

    def turn_answered(self, scenario_id: str, turn: Turn) -> None:
        """The agent answered."""
        ...

    def conversation_ended(self, conversation: Conversation) -> None:
        """A conversation is over, for whatever reason."""
        ...

    def judged(self) -> None:
        """One judgement more is there."""
        ...

    def note(self, sentence: str) -> None:
        """Something a reader of the log should know."""
        ...
