"""What was measured so far, and why the rest was not."""

from __future__ import annotations

from arksim_ci.schema.judgement import Judgement, Measured


class Measurements:
    """Every value of a run by conversation, turn (None for the whole conversation) and metric; or the cause why there is none."""

    def __init__(self) -> None:
        self._measured: dict[tuple[str, int | None, str], Measured] = {}
        self._causes: dict[tuple[str, int | None, str], str] = {}
        self.never_judged = "it was never judged"
        """The cause for what was not even tried."""

    def add(self, judgement: Judgement) -> None:
        """Keep the values of a judgement."""
        for measured in judgement.measured:
            key = (judgement.conversation_id, judgement.turn_id, measured.metric)
            self._measured[key] = measured
            self._causes.pop(key, None)

    def fail(self, conversation_id: str, turn_id: int | None, metric: str, cause: str) -> None:
        """Note why a value could not be measured."""
        self._causes[conversation_id, turn_id, metric] = cause

    def get(self, conversation_id: str, turn_id: int | None, metric: str) -> Measured | None:
        """The value, or None where it was not measured."""
        return self._measured.get((conversation_id, turn_id, metric))

    def cause(self, conversation_id: str, turn_id: int | None, metric: str) -> str:
        """Why a value was not measured."""
        return self._causes.get((conversation_id, turn_id, metric), self.never_judged)
