"""recommendations.json: what to change, per unique error."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

_OPEN = ConfigDict(extra="ignore")

AgentModule = Literal["Memory", "Tools/Action", "Planning/Reasoning", "Orchestration", "Generation"]
AGENT_MODULES: tuple[AgentModule, ...] = (
    "Memory",
    "Tools/Action",
    "Planning/Reasoning",
    "Orchestration",
    "Generation",
)


class ModuleFix(BaseModel):
    """What to change in one part of the agent."""

    model_config = _OPEN

    module: AgentModule
    fix: str


class CodeFix(BaseModel):
    """A change to the agent's source, as a unified diff that was checked to apply."""

    model_config = _OPEN

    module: AgentModule
    file: str
    start_line: int
    end_line: int
    diff: str


class Recommendation(BaseModel):
    """How to fix one unique error."""

    model_config = _OPEN

    unique_error_id: str
    module_fixes: list[ModuleFix]
    best_module_fix: str
    """The text of the best fix, prefixed by its module: `Memory: ...`."""
    best_module_fix_reasoning: str
    code_fixes: list[CodeFix] = Field(default_factory=list)
    code_fix_entry_function: str | None = None
    best_code_fix_location: str | None = None
    best_code_fix: str | None = None
    dropped: list[str] = Field(default_factory=list)
    """What the LLM proposed and we refused, each with the reason."""


class Recommendations(BaseModel):
    """The whole recommendations file."""

    model_config = _OPEN

    recommendations: list[Recommendation]
