"""What stands between a run and the outside: it can be shut, and no secret, and nothing that no file could hold, passes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from arksim_ci.agents.agent import Agent, AgentAnswer, AgentConnection, AgentDidNotAnswer
from arksim_ci.agents.tool_arguments import storable_arguments
from arksim_ci.llm.client import LLM, Answer, Question, RunLimitReached
from arksim_ci.redaction import redact_json
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import ToolCall
from arksim_ci.schema.verdict import Usage

T = TypeVar("T")


class Gatekeeper:
    """An LLM that can be told to take no more questions, so that a run ends soon and in order.

    It shuts by itself when the run's budget refuses a question, whoever asked it: `limit_reached` then says why, and
    `on_limit` is called.
    """

    def __init__(self, inner: LLM) -> None:
        self._inner = inner
        self._closed = ""
        self.limit_reached = ""
        self.on_limit: Callable[[str], None] = lambda cause: None

    def shut(self, cause: str) -> None:
        """Refuse every question from now on; those under way go on."""
        self._closed = self._closed or cause

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Pass the question on.

        Raises:
            RunLimitReached: the run takes no new work.
        """
        if self._closed:
            raise RunLimitReached(self._closed)
        try:
            return await self._inner.ask(question)
        except RunLimitReached as limit:
            if not self._closed:
                self.limit_reached = str(limit)
                self.shut(self.limit_reached)
                self.on_limit(self.limit_reached)
            raise

    async def preflight(self) -> list[str]:
        """As the LLM behind it."""
        return await self._inner.preflight()

    def usage(self) -> Usage:
        """As the LLM behind it."""
        return self._inner.usage()

    def notes(self) -> list[str]:
        """As the LLM behind it."""
        return self._inner.notes()

    @property
    def model(self) -> str:
        """As the LLM behind it."""
        return self._inner.model

    async def close(self) -> None:
        """As the LLM behind it."""
        await self._inner.close()


class RedactedConnection:
    """The way to the agent, on which secrets in its answers are replaced before anybody sees them."""

    def __init__(self, inner: AgentConnection, redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._redact = redact

    async def open(self, conversation_id: str, scenario: Scenario) -> Agent:
        """Begin a conversation.

        Raises:
            AgentDidNotAnswer: the agent can't begin one.
        """
        try:
            return _RedactedAgent(await self._inner.open(conversation_id, scenario), self._redact)
        except AgentDidNotAnswer as error:
            raise AgentDidNotAnswer(self._redact(str(error))) from None

    async def close(self) -> None:
        """Close what the conversations share."""
        await self._inner.close()


class _RedactedAgent:
    def __init__(self, inner: Agent, redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._redact = redact

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        try:
            answer = await self._inner.answer(message, turn_id)
        except AgentDidNotAnswer as error:
            raise AgentDidNotAnswer(self._redact(str(error))) from None
        return AgentAnswer(self._redact(answer.content), tuple(map(self._harmless, answer.tool_calls)))

    def _harmless(self, call: ToolCall) -> ToolCall:
        fields = {**call.model_dump(exclude={"arguments"}), "arguments": storable_arguments(call.arguments)}
        return ToolCall.model_validate(redact_json(fields, self._redact))

    async def close(self) -> None:
        await self._inner.close()
