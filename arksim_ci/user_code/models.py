"""The data that the user's metrics and agents get and give, as files written for ArkSim 0.3.8 know it.

Runs in the worker process: pydantic's models where that interpreter has pydantic 2, small ones of ours elsewhere.
"""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import BaseModel, ConfigDict, Field
else:
    try:
        import pydantic

        if not pydantic.VERSION.startswith("2."):
            raise ImportError("pydantic 2 is needed")
        from pydantic import BaseModel, ConfigDict, Field
    except ImportError:
        from arksim_ci.user_code.small_models import BaseModel, ConfigDict, Field

MetricScope = Literal["turn", "conversation"]


class ChatMessage(BaseModel):
    """One message; `role` is `user` or `assistant`."""

    role: str
    content: str


class ToolCallSource(str, enum.Enum):  # noqa: UP042 - Python 3.10 has no StrEnum
    """How a tool call came to be known."""

    A2A_PROTOCOL = "a2a_protocol"
    OPENAI_AGENTS = "openai_agents"
    OTEL_TRACE = "otel_trace"


class A2AToolCaptureExtension:
    """The A2A extension by which an agent reports its tool calls."""

    URI = "https://arksim.arklex.ai/a2a/tool-call-capture/v1"
    METADATA_KEY = f"{URI}/tool_calls"


class ToolCall(BaseModel):
    """A tool call of the agent."""

    model_config = ConfigDict(extra="ignore")

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str | None = None
    error: str | None = None
    source: ToolCallSource | None = None


class AgentResponse(BaseModel):
    """An agent's answer with the tool calls that led to it."""

    model_config = ConfigDict(extra="ignore")

    content: str
    tool_calls: list[ToolCall] = Field(default_factory=list)


class ScoreInput(BaseModel):
    """What a metric judges. A metric's `additional_input` is in `model_extra` too."""

    model_config = ConfigDict(extra="allow")

    chat_history: list[ChatMessage] = Field(default_factory=list)
    current_turn: list[ChatMessage] = Field(default_factory=list)
    knowledge: str = ""
    user_goal: str = ""
    profile: str = ""
    tool_calls: list[Any] = Field(default_factory=list)


class QuantResult(BaseModel):
    """A numeric metric's result, on the metric's own scale."""

    name: str
    value: float
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    scope: MetricScope = "turn"


class QualResult(BaseModel):
    """A qualitative metric's result: a label."""

    name: str
    value: str
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    scope: MetricScope = "turn"


class KnowledgeItem(BaseModel):
    """A piece of background knowledge."""

    content: str = ""
    metadata: Any = None


class Scenario(BaseModel):
    """One simulated user with one goal."""

    scenario_id: str
    user_id: str
    goal: str
    agent_context: str
    user_profile: str
    knowledge: list[KnowledgeItem] = Field(default_factory=list)
    origin: dict[str, Any] = Field(default_factory=dict)
    assertions: list[Any] = Field(default_factory=list)


class Scenarios(BaseModel):
    """The whole scenario file."""

    schema_version: str
    scenarios: list[Scenario]

    @classmethod
    def load(cls, path: str) -> Scenarios:
        """Read a scenario file."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))


class AgentType(enum.Enum):
    """How an agent is reached."""

    CHAT_COMPLETIONS = "chat_completions"
    A2A = "a2a"
    CUSTOM = "custom"


class ChatCompletionsConfig(BaseModel):
    """A chat-completions server."""

    endpoint: str | None = None
    headers: dict[str, str] | None = None
    body: dict[str, Any] | None = None


class A2AConfig(BaseModel):
    """An A2A server."""

    endpoint: str
    headers: dict[str, str] | None = None


class CustomConfig(BaseModel):
    """A Python class as the agent."""

    module_path: str | None = None
    class_name: str | None = None
    agent_class: Any = None


class AgentConfig(BaseModel):
    """The agent's configuration, as its class gets it."""

    agent_name: str
    agent_type: str
    api_config: ChatCompletionsConfig | A2AConfig | None = None
    custom_config: CustomConfig | None = None
