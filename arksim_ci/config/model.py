"""The settings of a run, checked and frozen. Shares and rates are 0-1, times are seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from arksim_ci.schema.vocabulary import DEFAULT_METRICS

_STRICT = ConfigDict(extra="forbid", frozen=True)


def _no_boolean(value: object) -> object:
    """Refuse `true` where a number belongs; Python would take it for 1."""
    if isinstance(value, bool):
        raise ValueError("a boolean is no number")
    return value


Whole = Annotated[int, BeforeValidator(_no_boolean)]
Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_no_boolean)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(_no_boolean)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_no_boolean)]
Seconds = Positive
Provider = Literal["openai", "azure", "anthropic", "google", "ollama", "openai_compatible", "offline"]
JudgeMode = Literal["combined", "per_metric"]


class ApiConfig(BaseModel):
    """How an agent is reached over HTTP. `body` belongs to `chat_completions` alone.

    `headers` and `endpoint` may hold `${VAR}`; here they are as written, and `config.variables` fills them in.
    """

    model_config = _STRICT

    endpoint: str = Field(min_length=1, description="URL of the agent, http or https. May hold ${VAR}.")
    headers: dict[str, str] = Field(
        default_factory=dict, repr=False, description="HTTP headers of every request. Values may hold ${VAR}."
    )
    body: dict[str, Any] | None = Field(
        default=None,
        description="Request body; the conversation's messages are appended to its `messages`. For chat_completions only.",
    )


class CustomConfig(BaseModel):
    """A Python class as the agent."""

    model_config = _STRICT

    module_path: Path = Field(description="Python file with the agent's class.")
    class_name: str | None = Field(
        default=None, description="Name of the class. Unset: the one agent class that the file defines."
    )


class AgentConfig(BaseModel):
    """The agent under test."""

    model_config = _STRICT

    agent_type: Literal["chat_completions", "a2a", "custom"] = Field(
        description="How the agent is reached: over an OpenAI-compatible endpoint, over A2A, or as a Python class."
    )
    agent_name: str = Field(min_length=1, description="Name of the agent, for reports.")
    api_config: ApiConfig | None = Field(default=None, description="For chat_completions and a2a.")
    custom_config: CustomConfig | None = Field(default=None, description="For custom.")


class TraceReceiverConfig(BaseModel):
    """The receiver of an agent's traces. `wait_timeout` is in seconds."""

    model_config = _STRICT

    enabled: bool = Field(default=False, description="Listen for the agent's traces, to see its tool calls.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: Whole = Field(default=4318, ge=1, le=65535, description="Port to listen on.")
    wait_timeout: Seconds = Field(default=5.0, description="Seconds to wait for traces after each answer.")


class Price(BaseModel):
    """What a model costs, in USD per million tokens."""

    model_config = _STRICT

    input: Number = Field(ge=0, description="USD per million input tokens.")
    cached_input: Number = Field(ge=0, description="USD per million input tokens that came from the prompt cache.")
    output: Number = Field(ge=0, description="USD per million output tokens.")


class RunConfig(BaseModel):
    """Every key of config.yaml with its default. Paths are absolute once loaded."""

    model_config = _STRICT

    # The agent and the simulation
    agent_config: AgentConfig | None = Field(default=None, description="The agent under test.")
    agent_config_file_path: Path | None = Field(
        default=None, description="JSON file with the agent's configuration. An inline agent_config wins."
    )
    scenario_file_path: Path | None = Field(default=None, description="Path to scenarios.json, or to a focus file.")
    num_conversations_per_scenario: Whole = Field(
        default=5, ge=1, description="Conversations to hold per scenario. `evaluate` ignores it."
    )
    max_turns: Whole = Field(default=5, ge=1, description="Most turns of a conversation.")
    output_file_path: Path = Field(
        default=Path("./simulation.json"),
        description="Where simulation.json is written. An output_dir that is overridden alone takes it along.",
    )
    simulated_user_prompt_template: str | None = Field(
        default=None,
        description="Jinja2 template of the simulated user's system prompt. Knows scenario.goal, scenario.user_profile, "
        "scenario.knowledge and scenario.agent_context.",
    )
    trace_receiver: TraceReceiverConfig | None = Field(
        default=None,
        description="Receiver of the agent's OpenTelemetry traces, for tool calls that its answers don't show.",
    )

    # The evaluation
    simulation_file_path: Path | None = Field(default=None, description="simulation.json to judge, for `evaluate`.")
    output_dir: Path = Field(default=Path("./results/evaluation"), description="Folder of the results.")
    custom_metrics_file_paths: tuple[Path, ...] = Field(
        default=(), description="Python files with custom metrics. Custom metrics always run."
    )
    metrics_to_run: tuple[str, ...] = Field(
        default=DEFAULT_METRICS,
        description="Built-in metrics to run. Empty: the default ones. With all default ones, tool_call_behavior_failure runs too.",
    )
    generate_html_report: bool = Field(default=True, description="Whether to write final_report.html.")
    judge_mode: JudgeMode = Field(
        default="combined",
        description="combined: one call scores a turn on every built-in metric and labels its failure. per_metric: one call each.",
    )

    # The gates
    numeric_thresholds: dict[str, Number] | None = Field(
        default=None,
        description="Metric -> lowest value, on the metric's own scale. A turn metric's mean over a conversation is compared.",
    )
    qualitative_failure_labels: dict[str, tuple[str, ...]] | None = Field(
        default=None, description="Metric -> labels that fail the run."
    )
    score_threshold: Share | None = Field(
        default=None, description="Deprecated: numeric_thresholds.overall_score instead."
    )
    min_pass_rate: Share | dict[str, Share] = Field(
        default=1.0,
        description="Share of the measured conversations that must pass each numeric check; one number, or metric -> number.",
    )
    min_coverage: Share = Field(
        default=1.0,
        description="Share of what the gates read (of everything, without gates) that must have been measured.",
    )
    max_never_spoke_share: Share = Field(
        default=0.0,
        description="Share of test cases in which the agent may never speak, or stop answering before the end.",
    )

    # The LLM
    model: str = Field(default="gpt-5.1", min_length=1, description="Model of the judge and of the simulated user.")
    provider: Provider = Field(
        default="openai", description="Who serves the model. offline: stated rules instead of a model, no network."
    )
    base_url: str | None = Field(
        default=None, description="Endpoint of the provider. Unset: the provider's own. openai_compatible needs it."
    )
    api_key_env: str | None = Field(
        default=None, description="Name of the variable that holds the provider's key. Unset: the provider's usual one."
    )
    num_workers: Annotated[int, Field(ge=1), BeforeValidator(_no_boolean)] | Literal["auto"] = Field(
        default=50,
        description="Most conversations in flight, and most LLM requests in flight, at once. auto: as many as the provider lets through.",
    )

    # Limits
    llm_timeout_seconds: Seconds = Field(default=60.0, description="Seconds one LLM request may take.")
    agent_timeout_seconds: Seconds = Field(default=120.0, description="Seconds one answer of the agent may take.")
    run_timeout_seconds: Seconds | None = Field(
        default=None, description="Seconds the whole run may take; what is finished then is written and reported."
    )
    max_no_response_retries: Whole = Field(
        default=1, ge=0, description="How often a test case is tried again in which the agent never spoke."
    )
    no_response_retry_backoff_seconds: Number = Field(
        default=2.0, ge=0, description="Seconds to wait before such a new attempt."
    )
    max_llm_calls: Annotated[int, Field(ge=1), BeforeValidator(_no_boolean)] | None = Field(
        default=None, description="Most LLM requests of the run."
    )
    max_cost_usd: Positive | None = Field(
        default=None,
        description="Most that the run's LLM requests may cost, in USD. Needs the model's price in prices.",
    )
    prices: dict[str, Price] | None = Field(default=None, description="Model -> its price, in USD per million tokens.")
    cache_dir: Path | None = Field(
        default=None, description="Folder for the judge's answers, so that equal questions are asked once."
    )

    # The diagnosis
    code_file_path: Path | None = Field(default=None, description="Source file of the agent, for code fixes.")
    entry_function: str | None = Field(default=None, description="Function in the source at which the agent starts.")
    code_paths: tuple[Path, ...] = Field(
        default=(), description="More source files or folders of the agent. Hidden files are skipped."
    )
    max_recommendations: Whole = Field(
        default=10, ge=0, description="Most unique errors, most severe first, that get fix recommendations."
    )
