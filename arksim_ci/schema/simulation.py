"""simulation.json: the conversations as they were held."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from arksim_ci.schema.vocabulary import STOP_SIGNAL

_OPEN = ConfigDict(extra="ignore")


class ToolCall(BaseModel):
    """A tool call that was seen during a turn."""

    model_config = _OPEN

    id: str = ""
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str | None = None
    error: str | None = None
    source: str | None = None


class Message(BaseModel):
    """One message. `turn_id` counts from 0 and is shared by a user message and the answer to it."""

    model_config = _OPEN

    turn_id: int = Field(ge=0)
    message_id: str
    role: Literal["simulated_user", "assistant"]
    content: str
    tool_calls: list[ToolCall] | None = None


class SimulatedUserPrompt(BaseModel):
    """The simulated user's template and what it was filled with.

    The keys of `variables` are `scenario.agent_context`, `scenario.goal`, `scenario.knowledge` (a list of texts) and
    `scenario.user_profile`.
    """

    model_config = _OPEN

    simulated_user_prompt_template: str
    variables: dict[str, Any]


class Silence(BaseModel):
    """How and why an agent fell silent in a test case."""

    model_config = _OPEN

    kind: Literal["never_spoke", "stopped_answering"]
    cause: str


class Conversation(BaseModel):
    """One test case's conversation.

    `agent_silence`, `not_finished` and `attempts` are ours; readers of the documented schema ignore them.
    """

    model_config = _OPEN

    conversation_id: str
    scenario_id: str
    conversation_history: list[Message]
    simulated_user_prompt: SimulatedUserPrompt
    agent_silence: Silence | None = None
    not_finished: str | None = None
    """Why the conversation broke off through no fault of the agent (provider outage, deadline); None when it ended."""
    attempts: int = Field(default=1, ge=0)

    def turns(self) -> list[Turn]:
        """The turns that the agent answered, in order."""
        asked: dict[int, Message] = {}
        found: list[Turn] = []
        for message in self.conversation_history:
            if message.role == "simulated_user":
                asked[message.turn_id] = message
            else:
                found.append(Turn(turn_id=message.turn_id, user=asked.get(message.turn_id), agent=message))
        return found

    def silence(self) -> Silence | None:
        """How the agent fell silent: as recorded, or read off a history that ends with an unanswered message."""
        if self.agent_silence or self.not_finished or not self.conversation_history:
            return self.agent_silence
        last = self.conversation_history[-1]
        if last.role == "assistant" or STOP_SIGNAL in last.content:
            return None
        kind: Literal["never_spoke", "stopped_answering"] = "stopped_answering" if self.turns() else "never_spoke"
        return Silence(kind=kind, cause="the last message has no answer")


class Turn(BaseModel):
    """A user message and the answer to it. `user` is None only in files of other tools that start with the agent."""

    turn_id: int
    user: Message | None
    agent: Message


class Simulation(BaseModel):
    """The whole simulation file. Conversations stand in the order of scenario, then repetition."""

    model_config = _OPEN

    schema_version: str
    simulator_version: str
    simulation_id: str
    generated_at: str
    conversations: list[Conversation]
