"""An agent behind an HTTP endpoint that takes chat completions: the whole conversation with every request."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Any

from arksim_ci.agents.agent import AgentAnswer, AgentDidNotAnswer
from arksim_ci.agents.event_stream import read_event_stream
from arksim_ci.agents.response_shapes import UNDERSTOOD, read_answer, shorten
from arksim_ci.agents.trace_context import turn_headers
from arksim_ci.agents.transport import AgentHttp
from arksim_ci.schema.scenario import Scenario


class ChatCompletionsConnection:
    """The way to the agent, shared by all conversations of a run."""

    def __init__(self, http: AgentHttp, body: Mapping[str, Any] | None, *, traced: bool = False) -> None:
        """Prepare; nothing is connected yet.

        Args:
            http: sends the requests.
            body: what every request holds besides the conversation. Its `messages` come before the conversation; a true
                `enable_metadata` adds `metadata` {chat_id, user_goal, knowledge, turn_id}.
            traced: whether each request's headers say which turn it is, for the receiver of traces.
        """
        self._http = http
        self._traced = traced
        self._body = copy.deepcopy(dict(body or {}))
        self._first_messages: list[Any] = self._body.pop("messages", None) or []
        self._has_metadata = bool(self._body.pop("enable_metadata", False))

    async def open(self, conversation_id: str, scenario: Scenario) -> ChatCompletionsAgent:
        """Begin a conversation. Nothing is sent before the first message."""
        metadata = None
        if self._has_metadata:
            metadata = {
                "chat_id": conversation_id,
                "user_goal": scenario.goal,
                "knowledge": [{"content": item.content} for item in scenario.knowledge],
            }
        traced_as = conversation_id if self._traced else None
        return ChatCompletionsAgent(self._http, self._body, self._first_messages, metadata, traced_as)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()


class ChatCompletionsAgent:
    """One conversation. Cookies that the agent sets live as long as it."""

    def __init__(
        self,
        http: AgentHttp,
        body: Mapping[str, Any],
        first_messages: list[Any],
        metadata: Mapping[str, Any] | None,
        traced_as: str | None,
    ) -> None:
        self._http = http
        self._body = body
        self._messages = list(first_messages)
        self._metadata = metadata
        self._traced_as = traced_as
        self._cookies: SimpleCookie = SimpleCookie()

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        """Send the conversation with a new message at its end and read the answer.

        Of an answer with tool calls only the text is sent back later: calls without their results, which the agent keeps
        to itself, would be refused by chat APIs.

        Raises:
            AgentDidNotAnswer: with the cause.
        """
        asked = [*self._messages, {"role": "user", "content": message}]
        payload = {**self._body, "messages": asked}
        if self._metadata is not None:
            given = self._body.get("metadata")
            payload["metadata"] = {
                **(given if isinstance(given, Mapping) else {}),
                **self._metadata,
                "turn_id": turn_id,
            }
        headers = turn_headers(self._traced_as, turn_id) if self._traced_as else None
        content_type, body = await self._http.post(json.dumps(payload).encode("utf-8"), self._cookies, headers)
        answer = read_answer(self._parse(content_type, body), self._http.hide)
        self._messages = [*asked, {"role": "assistant", "content": answer.content}]
        return answer

    async def close(self) -> None:
        """End the conversation. Nothing is sent: the endpoint knows no conversations."""

    def _parse(self, content_type: str, body: bytes) -> object:
        text = body.decode("utf-8-sig", "replace")
        if content_type == "text/event-stream" or text.startswith(("data:", "event:")):
            return read_event_stream(text)
        try:
            parsed: object = json.loads(text)
        except (ValueError, RecursionError):
            shown = shorten(self._http.hide(text)) or "an empty body"
            raise AgentDidNotAnswer(f"the agent's answer is not JSON: {shown} Understood are {UNDERSTOOD}.") from None
        return parsed
