"""The settings of a run, checked and frozen. Shares and rates are 0-1, times are seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from arksim_ci.schema.vocabulary import DEFAULT_METRICS

_STRICT = ConfigDict(extra="forbid", frozen=True)

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
Provider = Literal["openai", "azure", "anthropic", "google", "ollama", "openai_compatible", "offline"]
JudgeMode = Literal["combined", "per_metric"]


class ApiConfig(BaseModel):
    """How an agent is reached over HTTP. `body` belongs to `chat_completions` alone.

    `headers` and `endpoint` may hold `${VAR}`; here they are as written, and `config.variables` fills them in.
    """

    model_config = _STRICT

    endpoint: str = Field(min_length=1)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    body: dict[str, Any] | None = None


class CustomConfig(BaseModel):
    """A Python class as the agent."""

    model_config = _STRICT

    module_path: Path
    class_name: str | None = None


class AgentConfig(BaseModel):
    """The agent under test."""

    model_config = _STRICT

    agent_type: Literal["chat_completions", "a2a", "custom"]
    agent_name: str = Field(min_length=1)
    api_config: ApiConfig | None = None
    custom_config: CustomConfig | None = None


class TraceReceiverConfig(BaseModel):
    """The receiver of an agent's traces. `wait_timeout` is in seconds."""

    model_config = _STRICT

    enabled: bool = False
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=4318, ge=1, le=65535)
    wait_timeout: Seconds = 5.0


class Price(BaseModel):
    """What a model costs, in USD per million tokens."""

    model_config = _STRICT

    input: float = Field(ge=0)
    cached_input: float = Field(ge=0)
    output: float = Field(ge=0)


class RunConfig(BaseModel):
    """Every key of config.yaml with its default. Paths are absolute once loaded."""

    model_config = _STRICT

    # The agent and the simulation
    agent_config: AgentConfig | None = None
    agent_config_file_path: Path | None = None
    scenario_file_path: Path | None = None
    num_conversations_per_scenario: int = Field(default=5, ge=1)
    max_turns: int = Field(default=5, ge=1)
    output_file_path: Path = Path("./simulation.json")
    simulated_user_prompt_template: str | None = None
    trace_receiver: TraceReceiverConfig | None = None

    # The evaluation
    simulation_file_path: Path | None = None
    output_dir: Path = Path("./results/evaluation")
    custom_metrics_file_paths: tuple[Path, ...] = ()
    metrics_to_run: tuple[str, ...] = DEFAULT_METRICS
    generate_html_report: bool = True
    judge_mode: JudgeMode = "combined"

    # The gates
    numeric_thresholds: dict[str, float] | None = None
    qualitative_failure_labels: dict[str, tuple[str, ...]] | None = None
    score_threshold: Share | None = None
    min_pass_rate: Share | dict[str, Share] = 1.0
    min_coverage: Share = 1.0
    max_never_spoke_share: Share = 0.0

    # The LLM
    model: str = Field(default="gpt-5.1", min_length=1)
    provider: Provider = "openai"
    base_url: str | None = None
    api_key_env: str | None = None
    num_workers: Annotated[int, Field(ge=1)] | Literal["auto"] = 50

    # Limits
    llm_timeout_seconds: Seconds = 60.0
    agent_timeout_seconds: Seconds = 120.0
    run_timeout_seconds: Seconds | None = None
    max_no_response_retries: int = Field(default=1, ge=0)
    no_response_retry_backoff_seconds: float = Field(default=2.0, ge=0)
    max_llm_calls: Annotated[int, Field(ge=1)] | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    prices: dict[str, Price] | None = None
    cache_dir: Path | None = None

    # The diagnosis
    code_file_path: Path | None = None
    entry_function: str | None = None
    code_paths: tuple[Path, ...] = ()
    max_recommendations: int = Field(default=10, ge=0)
