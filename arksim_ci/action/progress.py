"""Progress in a step's log: a fold for each phase, a plain line every few seconds."""

from __future__ import annotations

from collections.abc import Callable

from arksim_ci.github.workflow import Workflow
from arksim_ci.schema.simulation import Conversation, Turn

SECONDS_BETWEEN_LINES = 10.0


class WorkflowProgress:
    """Shows how a run goes.

    Args:
        workflow: the step's log.
        monotonic: a clock in seconds.
    """

    def __init__(self, workflow: Workflow, monotonic: Callable[[], float]) -> None:
        self._workflow = workflow
        self._monotonic = monotonic
        self._last = monotonic()
        self._expected = 0
        self._conversations = 0
        self._turns = 0
        self._judgements = 0

    def phase(self, name: str) -> None:
        """Begin a fold."""
        self._workflow.group(name)

    def expect(self, conversations: int, turns: int) -> None:
        """Say how much there will be."""
        self._expected = conversations
        self._workflow.log(f"{conversations:,} conversations of up to {turns:,} turns")

    def turn_answered(self, scenario_id: str, turn: Turn) -> None:
        """Count it; what is said stays out of the log."""
        self._turns += 1
        self._now_and_then()

    def conversation_ended(self, conversation: Conversation) -> None:
        """Count it."""
        self._conversations += 1
        self._now_and_then()
        if self._conversations == self._expected:
            self._line()

    def judged(self) -> None:
        """Count it."""
        self._judgements += 1
        self._now_and_then()

    def note(self, sentence: str) -> None:
        """Write it down."""
        self._workflow.log(sentence)

    def _now_and_then(self) -> None:
        if self._monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._line()

    def _line(self) -> None:
        self._last = self._monotonic()
        self._workflow.log(
            f"{self._conversations:,} of {self._expected:,} conversations, {self._turns:,} turns, "
            f"{self._judgements:,} judgements"
        )
