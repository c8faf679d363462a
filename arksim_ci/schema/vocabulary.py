"""The field's own words: metric names, failure labels, severities, statuses and the figures that belong to them.

Source: the ArkSim documentation (evaluation, schema reference, output) and its release 0.3.8.
"""

from __future__ import annotations

from typing import Final, Literal

TURN_METRICS: Final = ("helpfulness", "coherence", "verbosity", "relevance", "faithfulness")
"""Scored 1-5 on every turn; 5 is best, for verbosity too (5 is appropriately succinct)."""
TURN_SCALE: Final = (1.0, 5.0)

GOAL_COMPLETION: Final = "goal_completion"
"""Scored 0-1 once a conversation."""
AGENT_BEHAVIOR_FAILURE: Final = "agent_behavior_failure"
"""The label of what went wrong in a turn."""
TOOL_CALL_BEHAVIOR_FAILURE: Final = "tool_call_behavior_failure"
"""The label of what went wrong in a turn's tool calls; judged only where a turn has tool calls."""
OVERALL_SCORE: Final = "overall_score"
"""A threshold's name for `overall_agent_score`; not a metric of its own."""

BUILTIN_METRICS: Final = (*TURN_METRICS, GOAL_COMPLETION, AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE)
DEFAULT_METRICS: Final = (*TURN_METRICS, GOAL_COMPLETION, AGENT_BEHAVIOR_FAILURE)

NO_FAILURE: Final = "no failure"
EVALUATION_RUN_FAILED: Final = "evaluation_run_failed"
"""The label of a turn whose label was not measured."""
GOAL_NOT_COMPLETED: Final = "goal not completed"
"""The category of a unique error about a whole conversation."""

BEHAVIOR_FAILURE_LABELS: Final = (
    "false information",
    "disobey user request",
    "lack of specific information",
    "failure to ask for clarification",
    "repetition",
    NO_FAILURE,
)
TOOL_FAILURE_LABELS: Final = (
    "unsafe action",
    "unsafe state",
    "false information",
    "disobey user request",
    "lack of specific information",
    "failure to ask for clarification",
    "repetition",
    NO_FAILURE,
)
ALL_FAILURE_LABELS: Final = ("unsafe action", "unsafe state", *BEHAVIOR_FAILURE_LABELS)

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "high", "medium", "low")
SEVERITY_OF: Final[dict[str, Severity]] = {
    "unsafe action": "critical",
    "unsafe state": "critical",
    "false information": "critical",
    "disobey user request": "high",
    "lack of specific information": "medium",
    "failure to ask for clarification": "medium",
    GOAL_NOT_COMPLETED: "medium",
    "repetition": "low",
}

NOT_MEASURED: Final = -1.0
"""How the files write a score that was not measured. No gate ever reads it as a value."""

TURN_SUCCESS_WEIGHT: Final = 0.75
GOAL_WEIGHT: Final = 0.25
PARTIAL_FAILURE_FROM: Final = 0.6

EvaluationStatus = Literal["Done", "Partial Failure", "Failed", "Evaluation Failed"]

STOP_SIGNAL: Final = "###STOP###"
"""What the simulated user says, alone, when it is done."""


def normalize_label(label: str) -> str:
    """Bring a label to the form in which labels are compared: without regard to case and outer spaces."""
    return label.strip().casefold()
