"""scenarios.json: who the simulated users are, what they want and what they know."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_STRICT = ConfigDict(extra="forbid", frozen=True)


class KnowledgeItem(BaseModel):
    """A piece of background knowledge: what is true about the subject of the conversation."""

    model_config = _STRICT

    content: str
    metadata: Any = None


class ExpectedToolCall(BaseModel):
    """A tool call that the agent should make."""

    model_config = _STRICT

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    arg_match_mode: Literal["exact", "ignore", "partial"] = "ignore"


class ToolCallsAssertion(BaseModel):
    """What tool calls a conversation must show. An empty `expected` means that no tool may be called."""

    model_config = _STRICT

    type: Literal["tool_calls"]
    expected: tuple[ExpectedToolCall, ...]
    match_mode: Literal["strict", "unordered", "contains", "within"] = "unordered"


class Scenario(BaseModel):
    """One simulated user with one goal."""

    model_config = _STRICT

    scenario_id: str = Field(min_length=1)
    user_id: str
    goal: str
    agent_context: str
    user_profile: str
    knowledge: tuple[KnowledgeItem, ...] = ()
    origin: dict[str, Any] = Field(default_factory=dict)
    assertions: tuple[ToolCallsAssertion, ...] = ()


class Scenarios(BaseModel):
    """The whole scenario file."""

    model_config = _STRICT

    schema_version: str
    scenarios: tuple[Scenario, ...]
