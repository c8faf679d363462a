"""evaluation.json, schema v1.1: what the judge made of the conversations."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from arksim_ci.schema.vocabulary import EvaluationStatus

MetricScope = Literal["turn", "conversation"]

_OPEN = ConfigDict(extra="ignore")
_LEGACY_STATUS = {"completed": "Done", "partial_failure": "Partial Failure", "failed": "Failed"}


class QuantResult(BaseModel):
    """A numeric metric's result, on the metric's own scale."""

    model_config = _OPEN

    name: str
    value: float
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    scope: MetricScope = "turn"


class QualResult(BaseModel):
    """A qualitative metric's result: a label."""

    model_config = _OPEN

    name: str
    value: str
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    scope: MetricScope = "turn"


class TurnEvaluation(BaseModel):
    """One turn's results. A metric that was not measured is absent from `scores`.

    `turn_score` is the mean of the built-in and custom turn metrics brought to 1-5, or -1.
    """

    model_config = _OPEN

    turn_id: int
    scores: list[QuantResult]
    turn_score: float
    turn_behavior_failure: str
    turn_behavior_failure_reason: str
    qual_scores: list[QualResult] = Field(default_factory=list)
    unique_error_ids: list[str] = Field(default_factory=list)


class ConversationEvaluation(BaseModel):
    """One conversation's results; -1 stands for what was not measured."""

    model_config = _OPEN

    conversation_id: str
    goal_completion_score: float
    goal_completion_reason: str
    turn_success_ratio: float
    overall_agent_score: float
    evaluation_status: EvaluationStatus
    turn_scores: list[TurnEvaluation]
    convo_scores: list[QuantResult] = Field(default_factory=list)
    convo_qual_scores: list[QualResult] = Field(default_factory=list)

    @field_validator("evaluation_status", mode="before")
    @classmethod
    def _documented_status(cls, value: object) -> object:
        return _LEGACY_STATUS.get(value, value) if isinstance(value, str) else value


class Occurrence(BaseModel):
    """Where a unique error occurred."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    conversation_id: str
    turn_id: int


class UniqueError(BaseModel):
    """One root cause, with every turn that shows it."""

    model_config = _OPEN

    unique_error_id: str
    behavior_failure_category: str
    unique_error_description: str
    severity: str = "medium"
    occurrences: list[Occurrence]


class ErrorScenarioMapping(BaseModel):
    """Which scenarios showed a unique error. `error_index` counts from 1, most severe first."""

    model_config = _OPEN

    error_index: int
    unique_error_id: str
    error_description: str
    severity: str
    scenario_ids: list[str]


class Evaluation(BaseModel):
    """The whole evaluation file."""

    model_config = _OPEN

    schema_version: str
    generated_at: str
    evaluator_version: str
    evaluation_id: str
    simulation_id: str
    conversations: list[ConversationEvaluation]
    unique_errors: list[UniqueError]
    error_scenario_mappings: list[ErrorScenarioMapping] = Field(default_factory=list)
