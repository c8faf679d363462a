"""The interface of an agent under test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import ToolCall


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What the agent said in one turn. An empty `content` without tool calls means that it said nothing."""

    content: str
    tool_calls: tuple[ToolCall, ...] = field(default=())


class AgentDidNotAnswer(Exception):
    """The agent gave no answer: refused connection, time-out, error status, an answer in no known shape."""


class Agent(Protocol):
    """One conversation with the agent."""

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        """Say something to the agent and return its answer.

        Raises:
            AgentDidNotAnswer: with the cause, in words that a reader can act on.
        """
        ...

    async def close(self) -> None:
        """End the conversation."""
        ...


class AgentConnection(Protocol):
    """The way to the agent, shared by all conversations of a run."""

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        """Begin a conversation.

        Raises:
            AgentDidNotAnswer: the agent can't begin one.
        """
        ...

    async def close(self) -> None:
        """Close what the conversations share."""
        ...
