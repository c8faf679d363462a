"""The base class of custom agents. Runs in the worker process: standard library only."""

from __future__ import annotations

import abc
from typing import Any

from arksim_ci.user_code.models import AgentConfig


class BaseAgent(abc.ABC):
    """An agent in Python: one instance holds one conversation."""

    def __init__(self, agent_config: AgentConfig) -> None:
        self.agent_config = agent_config

    @abc.abstractmethod
    async def get_chat_id(self) -> str:
        """The agent's own name for the conversation."""

    @abc.abstractmethod
    async def execute(self, user_query: str, **kwargs: Any) -> Any:
        """Answer a message: a text, or an AgentResponse with the tool calls."""

    async def close(self) -> None:  # noqa: B027
        """End the conversation; override it to release what it holds."""
