"""verdict.json: the gate's decision and what it rests on.

The shape of the verdict follows Roark's simulation-plan job (status, failures with a type each, inherited pass rates,
attempts), the checks and coverage are ArkSim's thresholds and labels.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

_OPEN = ConfigDict(extra="ignore")

RunStatus = Literal["COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED", "BUDGET_REACHED"]
CheckKind = Literal["numeric", "qualitative", "assertion"]
Command = Literal["simulate", "evaluate", "simulate-evaluate"]


class Failing(BaseModel):
    """One place where a check failed. `turn_id` is None for a whole conversation."""

    model_config = _OPEN

    conversation_id: str
    scenario_id: str
    turn_id: int | None = None
    value: float | str


class Check(BaseModel):
    """One metric held to a threshold or to a list of labels, or the assertions of the scenarios.

    `passed` is None where the check is not decided: too little was measured to tell. `pass_rate` is None where nothing
    was measured.
    """

    model_config = _OPEN

    name: str
    kind: CheckKind
    threshold: float | None = None
    labels: list[str] | None = None
    pass_rate: float | None
    min_pass_rate: float
    inherited: bool
    """Whether `min_pass_rate` is the general one rather than one set for this metric."""
    passed_conversations: int
    evaluated_conversations: int
    passed: bool | None
    failing: list[Failing] = Field(default_factory=list)


class RunNotCompleted(BaseModel):
    """The run ended before everything was done."""

    type: Literal["RUN_NOT_COMPLETED"] = "RUN_NOT_COMPLETED"
    status: RunStatus
    cause: str


class IncompleteCoverage(BaseModel):
    """Fewer conversations, turns or metric values were measured than the gates need."""

    type: Literal["INCOMPLETE_COVERAGE"] = "INCOMPLETE_COVERAGE"
    unit: Literal["conversations", "turns", "metric values"]
    evaluated: int
    expected: int


class AgentNeverSpoke(BaseModel):
    """The agent fell silent in more test cases than allowed."""

    type: Literal["AGENT_NEVER_SPOKE"] = "AGENT_NEVER_SPOKE"
    never_spoke: int
    stopped_answering: int
    test_cases: int
    max_share: float


class MetricNotEvaluated(BaseModel):
    """A metric that a gate reads was not measured everywhere it should have been."""

    type: Literal["METRIC_NOT_EVALUATED"] = "METRIC_NOT_EVALUATED"
    metric: str
    evaluated: int
    expected: int
    causes: list[str]


class MetricBelowMinPassRate(BaseModel):
    """Too few conversations passed a check."""

    type: Literal["METRIC_BELOW_MIN_PASS_RATE"] = "METRIC_BELOW_MIN_PASS_RATE"
    metric: str
    threshold: float | None
    pass_rate: float | None
    min_pass_rate: float
    inherited: bool


class FailureLabelFound(BaseModel):
    """A turn (or, with `turn_id` None, a conversation) has a label that the gate forbids."""

    type: Literal["FAILURE_LABEL_FOUND"] = "FAILURE_LABEL_FOUND"
    metric: str
    label: str
    conversation_id: str
    turn_id: int | None


class AssertionFailed(BaseModel):
    """The tool calls of a conversation are not those that its scenario asserts.

    Each line of `diff` is a call: `- ` asserted and not made, `+ ` made and not allowed, two spaces for what is fine.
    """

    type: Literal["ASSERTION_FAILED"] = "ASSERTION_FAILED"
    conversation_id: str
    scenario_id: str
    match_mode: str
    expected: list[dict[str, object]]
    actual: list[dict[str, object]]
    diff: list[str] = Field(default_factory=list)


Failure = Annotated[
    RunNotCompleted
    | IncompleteCoverage
    | AgentNeverSpoke
    | MetricNotEvaluated
    | MetricBelowMinPassRate
    | FailureLabelFound
    | AssertionFailed,
    Field(discriminator="type"),
]


class Places(BaseModel):
    """Where the run's things are, as its reports say it. Paths are relative to the repository or the working directory."""

    model_config = _OPEN

    config_path: str
    scenario_path: str
    artifact_name: str
    focus_folder: str | None = None
    """Where the focus files are on the machine of a run outside of GitHub."""
    run_id: str | None = None
    run_url: str | None = None
    summary_url: str | None = None
    commit_url: str | None = None


class Run(BaseModel):
    """What was run. `places` is None in a verdict that was decided without a run of ours."""

    model_config = _OPEN

    agent_name: str
    command: Command
    commit: str | None
    started_at: str
    duration_seconds: float
    version: str
    places: Places | None = None


class Coverage(BaseModel):
    """How much of what should have been measured was."""

    model_config = _OPEN

    expected_conversations: int
    simulated_conversations: int
    evaluated_conversations: int
    expected_turns: int
    evaluated_turns: int
    expected_metric_values: int
    evaluated_metric_values: int


class Attempts(BaseModel):
    """How often test cases were tried."""

    model_config = _OPEN

    test_cases: int
    attempts: int
    silent_attempts: int
    retries: int
    still_silent: int


class Judge(BaseModel):
    """Who judged, and by which prompts. Scores of different judges can't be compared."""

    model_config = _OPEN

    provider: str
    model: str
    judge_mode: str
    prompts_hash: str


class RoleUsage(BaseModel):
    """What one role's requests used. `cost_usd` is None where no price is known."""

    model_config = _OPEN

    calls: int = 0
    retries: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Usage(BaseModel):
    """Usage per role."""

    model_config = _OPEN

    simulated_user: RoleUsage = Field(default_factory=RoleUsage)
    judge: RoleUsage = Field(default_factory=RoleUsage)
    analysis: RoleUsage = Field(default_factory=RoleUsage)


class Verdict(BaseModel):
    """The whole verdict file."""

    model_config = _OPEN

    schema_version: str
    evaluation_id: str
    simulation_id: str
    generated_at: str
    run: Run
    status: RunStatus
    passed: bool | None
    exit_code: Literal[0, 1, 3]
    score: float | None
    checks: list[Check]
    failures: list[Failure]
    coverage: Coverage
    attempts: Attempts
    judge: Judge
    usage: Usage
    warnings: list[str]
    metric_scales: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Lowest and highest value of each numeric metric that states them."""
