"""The failure label of a turn: one slot in the file, for what was said and for the tool calls."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.schema.judgement import Measured
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, NO_FAILURE, SEVERITIES, SEVERITY_OF


@dataclass(frozen=True, slots=True)
class TurnLabel:
    """The label that the turn shows, why, and another failure that it hides, if there are two."""

    value: str
    reason: str
    hidden: Measured | None = None

    @property
    def is_known(self) -> bool:
        """Whether the turn counts in `turn_success_ratio`: its label was measured, or a failure was found all the same."""
        return self.value != EVALUATION_RUN_FAILED or self.hidden is not None

    @property
    def is_failure(self) -> bool:
        """Whether anything went wrong in the turn."""
        return self.hidden is not None or self.value not in (NO_FAILURE, EVALUATION_RUN_FAILED)


def turn_label(behavior: Measured | None, tool: Measured | None, cause: str, *, behavior_runs: bool) -> TurnLabel:
    """Join the label of what the agent said (`behavior`) and of its tool calls (`tool`).

    Where one of them is a failure, the turn shows that one; where both are, the more severe one, on a tie that of
    what was said, and the other is hidden. A label of what was said that should have been measured and was not stays
    visible as `evaluation_run_failed`, with `cause`, even where the tool calls failed.
    """
    tool_failure = tool if tool and tool.value != NO_FAILURE else None
    if behavior is None:
        missing = TurnLabel(EVALUATION_RUN_FAILED, cause)
        if tool_failure is None:
            return missing
        return TurnLabel(missing.value, missing.reason, tool_failure) if behavior_runs else _shown(tool_failure, True)
    if tool_failure is None:
        return _shown(behavior, False)
    if behavior.value == NO_FAILURE:
        return _shown(tool_failure, True)
    if _severity(tool_failure) < _severity(behavior):
        return _shown(tool_failure, True, hidden=behavior)
    return _shown(behavior, False, hidden=tool_failure)


def _shown(label: Measured, of_tools: bool, hidden: Measured | None = None) -> TurnLabel:
    reason = label.reason or ""
    return TurnLabel(str(label.value), f"Tool calls: {reason}" if of_tools else reason, hidden)


def _severity(label: Measured) -> int:
    """0 is the most severe."""
    return SEVERITIES.index(SEVERITY_OF[str(label.value)])
