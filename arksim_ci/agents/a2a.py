"""An agent that speaks A2A (Agent2Agent), by the official SDK."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from arksim_ci.agents.a2a_answer import TOOL_CALLS_EXTENSION, Reply
from arksim_ci.agents.agent import AgentAnswer, AgentDidNotAnswer
from arksim_ci.agents.response_shapes import shorten
from arksim_ci.agents.trace_context import turn_headers
from arksim_ci.agents.transport import AgentHttp, without_secrets
from arksim_ci.schema.scenario import Scenario

if TYPE_CHECKING:
    from a2a.client import Client, ClientCallContext
    from a2a.types import AgentCard, SendMessageRequest

FIRST_POLL_SECONDS: Final = 0.25
SLOWEST_POLL_SECONDS: Final = 4.0


class A2AConnection:
    """The way to the agent, shared by all conversations of a run. Its card is fetched once."""

    def __init__(
        self,
        http: AgentHttp,
        endpoint: str,
        timeout_seconds: float,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        traced: bool = False,
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            http: sends the requests.
            endpoint: base URL of the agent; its card is at `/.well-known/agent-card.json` below it.
            timeout_seconds: for a whole turn, from the message to the end of the task, and for fetching the card.
            sleep: waits some seconds, between two looks at a task.
            traced: whether each turn's requests say which turn it is, for the receiver of traces.
        """
        self._http = http
        self._endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._sleep = sleep
        self._traced = traced
        self._connecting: asyncio.Task[Client] | None = None

    async def open(self, conversation_id: str, scenario: Scenario) -> A2AAgent:
        """Begin a conversation. Where the card is not there yet, it is fetched.

        Raises:
            AgentDidNotAnswer: there is no card, or it offers no way that we speak.
        """
        if self._connecting is None or (self._connecting.done() and _failed(self._connecting)):
            self._connecting = asyncio.create_task(self._connect())
        client = await asyncio.shield(self._connecting)
        return A2AAgent(client, self._http, conversation_id, self._timeout_seconds, self._sleep, traced=self._traced)

    async def close(self) -> None:
        """Close the connections."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        await self._http.close()

    async def _connect(self) -> Client:
        from a2a.client import A2ACardResolver, ClientConfig, ClientFactory  # noqa: PLC0415  (heavy)
        from a2a.client.errors import AgentCardResolutionError  # noqa: PLC0415

        from arksim_ci.agents.a2a_transport import http_client  # noqa: PLC0415

        logging.getLogger("a2a").setLevel(logging.WARNING)  # it logs the whole card, which is the agent's text
        client = http_client(self._http)
        place = without_secrets(self._endpoint)
        advice = "set agent_config.api_config.endpoint to the base URL of an A2A agent"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                card = await A2ACardResolver(client, self._endpoint).get_agent_card()
        except TimeoutError:
            raise AgentDidNotAnswer(f"no agent card from {place} within {self._timeout_seconds:g} seconds") from None
        except (AgentDidNotAnswer, AgentCardResolutionError, ValueError) as error:
            cause = shorten(self._http.hide(str(error)))
            raise AgentDidNotAnswer(f"there is no agent card at {place}: {cause} ({advice})") from None
        config = ClientConfig(
            httpx_client=client,
            streaming=card.capabilities.streaming,
            supported_protocol_bindings=["JSONRPC", "HTTP+JSON"],
        )
        try:
            return ClientFactory(config).create(card)
        except ValueError:
            raise AgentDidNotAnswer(
                f"the agent card at {place} offers {_offered(card)}; understood are JSONRPC and HTTP+JSON"
            ) from None


class A2AAgent:
    """One conversation: a context of the agent's, which begins under our conversation's id."""

    def __init__(
        self,
        client: Client,
        http: AgentHttp,
        conversation_id: str,
        timeout_seconds: float,
        sleep: Callable[[float], Awaitable[object]],
        *,
        traced: bool,
    ) -> None:
        self._client = client
        self._http = http
        self._conversation_id = conversation_id
        self._timeout_seconds = timeout_seconds
        self._sleep = sleep
        self._traced = traced
        self._last = Reply(context_id=conversation_id)

    async def answer(self, message: str, turn_id: int) -> AgentAnswer:
        """Send a message and wait until the agent is done with it: by stream where it streams, else by looking at the task.

        Raises:
            AgentDidNotAnswer: with the cause.
        """
        from a2a.utils.errors import A2AError  # noqa: PLC0415
        from google.protobuf.json_format import ParseError  # noqa: PLC0415

        reply = self._last.next()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._exchange(message, self._call_context(turn_id), reply)
        except TimeoutError:
            at = f"; its task is in state {reply.state}" if reply.state else ""
            raise AgentDidNotAnswer(f"no answer within {self._timeout_seconds:g} seconds{at}") from None
        except (A2AError, ParseError, ValueError, KeyError) as error:
            cause = shorten(self._http.hide(str(error)))
            raise AgentDidNotAnswer(f"no answer by A2A: {type(error).__name__}: {cause}") from None
        self._last = reply
        try:
            return reply.answer()
        except AgentDidNotAnswer as error:
            raise AgentDidNotAnswer(self._http.hide(str(error))) from None

    async def close(self) -> None:
        """End the conversation. Nothing is sent: a context of A2A has no end."""

    async def _exchange(self, message: str, context: ClientCallContext, reply: Reply) -> None:
        from google.protobuf.json_format import MessageToDict  # noqa: PLC0415

        events = self._client.send_message(self._request(message), context=context)
        try:
            async for event in events:
                reply.add(MessageToDict(event))
                if reply.is_final:
                    break
        except AgentDidNotAnswer:
            if not reply.task_id:  # a stream that broke off; the task may go on, and looking at it changes nothing
                raise
        finally:
            await _close(events)
        await self._wait(context, reply)

    async def _wait(self, context: ClientCallContext, reply: Reply) -> None:
        """Look at the task until the agent is done with it."""
        from a2a.types import GetTaskRequest  # noqa: PLC0415
        from google.protobuf.json_format import MessageToDict  # noqa: PLC0415

        pause = FIRST_POLL_SECONDS
        while not reply.is_final:
            if not reply.task_id:
                raise AgentDidNotAnswer("the agent's answer holds neither a message nor a task")
            await self._sleep(pause)
            pause = min(pause * 2, SLOWEST_POLL_SECONDS)
            task = await self._client.get_task(GetTaskRequest(id=reply.task_id), context=context)
            reply.add({"task": MessageToDict(task)})

    def _request(self, message: str) -> SendMessageRequest:
        from a2a.types import Message, Part, Role, SendMessageRequest  # noqa: PLC0415

        return SendMessageRequest(
            message=Message(
                role=Role.ROLE_USER,
                parts=[Part(text=message)],
                message_id=str(uuid.uuid4()),
                context_id=self._last.context_id,
                task_id=self._last.open_task,
                extensions=[TOOL_CALLS_EXTENSION],
            )
        )

    def _call_context(self, turn_id: int) -> ClientCallContext:
        from a2a.client import ClientCallContext  # noqa: PLC0415

        headers = turn_headers(self._conversation_id, turn_id) if self._traced else {}
        return ClientCallContext(service_parameters={"A2A-Extensions": TOOL_CALLS_EXTENSION, **headers})


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.cancelled() or task.exception() is not None


def _offered(card: AgentCard) -> str:
    bindings = sorted({interface.protocol_binding for interface in card.supported_interfaces})
    return shorten(", ".join(bindings)) or "no interface"


async def _close(events: Any) -> None:
    """End a stream that may not be at its end."""
    if hasattr(events, "aclose"):
        await events.aclose()
