"""A Python class as the agent (`agent_type: custom`), run in the worker process of the user's code."""

from __future__ import annotations

from arksim_ci.agents.agent import Agent, AgentAnswer, AgentDidNotAnswer
from arksim_ci.config.model import AgentConfig, CustomConfig
from arksim_ci.schema.scenario import Scenario
from arksim_ci.user_code.host import AgentHandle, UserCodeFailed, UserCodeHost


class CustomConnection:
    """The way to a custom agent. `host` is started, and closed, by whoever made it.

    Args:
        config: `agent_type` is `custom`, and `custom_config` is set.
        host: runs the user's code.
    """

    def __init__(self, config: AgentConfig, host: UserCodeHost) -> None:
        if config.custom_config is None:
            raise ValueError("a custom agent has a custom_config")
        self._config = config
        self._custom: CustomConfig = config.custom_config
        self._host = host

    async def load(self) -> str:
        """Load the agent's file now and return the class's name, so that what is wrong is known before anything is spent.

        Raises:
            UserCodeNotLoadable: a ConfigError with file, line and advice.
        """
        return await self._host.load_agent(self._custom.module_path, self._custom.class_name)

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        """Make an instance for one conversation.

        Raises:
            AgentDidNotAnswer: its constructor, or `get_chat_id`, raised something.
        """
        try:
            handle = await self._host.open_agent(
                self._custom.module_path, self._custom.class_name, conversation_id, self._config.model_dump(mode="json")
            )
        except UserCodeFailed as error:
            raise AgentDidNotAnswer(str(error)) from error
        return CustomConversation(self._host, handle, conversation_id, scenario)

    async def close(self) -> None:
        """Nothing is shared but the host."""


class CustomConversation:
    """One conversation with a custom agent."""

    def __init__(self, host: UserCodeHost, handle: AgentHandle, conversation_id: str, scenario: Scenario) -> None:
        self._host = host
        self._handle = handle
        self._metadata = {
            "chat_id": conversation_id,
            "user_goal": scenario.goal,
            "knowledge": [item.model_dump(mode="json") for item in scenario.knowledge],
        }

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        """Call the agent's `execute`.

        Raises:
            AgentDidNotAnswer: it raised something, did not return in time, or returned neither a text nor a response.
        """
        try:
            answer = await self._host.answer(self._handle, message, self._metadata | {"turn_id": turn_id})
        except UserCodeFailed as error:
            raise AgentDidNotAnswer(str(error)) from error
        return AgentAnswer(answer.content, tuple(answer.tool_calls))

    async def close(self) -> None:
        """Call the agent's `close`, if it has one."""
        await self._host.close_agent(self._handle)
