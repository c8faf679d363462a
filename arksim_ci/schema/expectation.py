"""What a run should have measured, and by which rules it is decided: the second half of what the gates read."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from arksim_ci.schema.scenario import ToolCallsAssertion
from arksim_ci.schema.simulation import Silence, ToolCall
from arksim_ci.schema.verdict import Attempts, Judge, Run, RunStatus, Usage

_FROZEN = ConfigDict(frozen=True)


class ExpectedTurn(BaseModel):
    """A turn that the agent answered, and so a turn to judge."""

    model_config = _FROZEN

    turn_id: int
    tool_calls: tuple[ToolCall, ...] = ()


class ExpectedConversation(BaseModel):
    """One test case: its conversation as far as it came."""

    model_config = _FROZEN

    conversation_id: str
    scenario_id: str
    turns: tuple[ExpectedTurn, ...]
    silence: Silence | None = None
    not_finished: str | None = None
    """Why the conversation broke off, or never began, through no fault of the agent."""
    assertions: tuple[ToolCallsAssertion, ...] = ()


class ExpectedMetric(BaseModel):
    """A metric that runs. `tool_turn` is a turn metric that runs only where a turn has tool calls.

    `scale` is (lowest, highest), for numeric metrics.
    """

    model_config = _FROZEN

    name: str
    kind: Literal["numeric", "qualitative"]
    scope: Literal["turn", "tool_turn", "conversation"]
    scale: tuple[float, float] | None = None


class Gates(BaseModel):
    """The thresholds, labels and tolerances of the configuration. Shares and rates are 0-1."""

    model_config = _FROZEN

    numeric_thresholds: dict[str, float] = {}
    qualitative_failure_labels: dict[str, tuple[str, ...]] = {}
    min_pass_rate: float | dict[str, float] = 1.0
    min_coverage: float = 1.0
    max_never_spoke_share: float = 0.0


class NotMeasured(BaseModel):
    """One value that should have been measured and was not. `turn_id` is None for a whole conversation."""

    model_config = _FROZEN

    conversation_id: str
    turn_id: int | None
    metric: str
    cause: str


class Expectation(BaseModel):
    """Everything that decides a run besides the evaluation itself."""

    model_config = _FROZEN

    conversations: tuple[ExpectedConversation, ...]
    metrics: tuple[ExpectedMetric, ...]
    gates: Gates
    not_measured: tuple[NotMeasured, ...] = ()
    status: RunStatus = "COMPLETED"
    status_cause: str = ""
    run: Run
    attempts: Attempts
    judge: Judge
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()
