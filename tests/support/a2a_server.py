"""A real A2A server, made with the official SDK, that answers as a test scripts it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

EXTENSION = "https://arksim.arklex.ai/a2a/tool-call-capture/v1"


class Turn:
    """One message to the agent, and the ways to answer it."""

    def __init__(self, context: RequestContext, queue: EventQueue) -> None:
        self.context = context
        self.queue = queue
        self.text = context.get_user_input()
        self.task_id = context.task_id or ""
        self.context_id = context.context_id or ""
        self.headers: dict[str, str] = dict(context.call_context.state.get("headers", {}))
        self.updater = TaskUpdater(queue, self.task_id, self.context_id)

    async def say(self, text: str) -> None:
        """Answer with a plain message, without a task."""
        await self.queue.enqueue_event(Message(role=Role.ROLE_AGENT, message_id="m", parts=[Part(text=text)]))

    async def begin(self) -> None:
        """Begin a task, unless this message continues one."""
        if self.context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await self.queue.enqueue_event(Task(id=self.task_id, context_id=self.context_id, status=status))
        await self.updater.start_work()

    async def artifact(
        self, *texts: str, calls: Sequence[dict[str, Any]] = (), parts: Sequence[Part] = (), **more: Any
    ) -> None:
        """Add an artifact, or to one (`artifact_id`, `append`)."""
        given = [*(Part(text=text) for text in texts), *parts]
        if calls:
            more |= {"metadata": {f"{EXTENSION}/tool_calls": list(calls)}, "extensions": [EXTENSION]}
        await self.updater.add_artifact(given, **more)

    def message(self, text: str) -> Message:
        return self.updater.new_agent_message([Part(text=text)])


Script = Callable[[Turn], Awaitable[None]]


class _Executor(AgentExecutor):
    def __init__(self, server: A2AServer) -> None:
        self._server = server

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        turn = Turn(context, event_queue)
        self._server.turns.append(turn)
        await self._server.script(turn)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


class A2AServer:
    """Serves an agent at `url`. `script` may be replaced while it runs.

    `turns` lists the messages that arrived, `card_requests` the headers of each request for the card; `statuses` are HTTP
    statuses that the next requests get instead of an answer.
    """

    def __init__(
        self,
        script: Script,
        *,
        streaming: bool = True,
        binding: str = "JSONRPC",
        card_url: str = "",
        version: str = "1.0",
    ) -> None:
        self.script = script
        self.turns: list[Turn] = []
        self.card_requests: list[dict[str, str]] = []
        self.requests: list[str] = []
        self.statuses: list[tuple[int, str]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.card = AgentCard(
            name="shop",
            description="A shop's support agent",
            version="1",
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            supported_interfaces=[
                AgentInterface(url=card_url or self.url, protocol_binding=binding, protocol_version=version)
            ],
            skills=[AgentSkill(id="orders", name="Orders", description="Looks orders up", tags=["orders"])],
            capabilities=AgentCapabilities(
                streaming=streaming, extensions=[AgentExtension(uri=EXTENSION, description="Tool calls")]
            ),
        )
        handler = DefaultRequestHandler(
            agent_executor=_Executor(self), task_store=InMemoryTaskStore(), agent_card=self.card
        )
        routes: list[BaseRoute] = [*create_agent_card_routes(self.card)]
        routes += (
            create_jsonrpc_routes(handler, "/", enable_v0_3_compat=version != "1.0")
            if binding == "JSONRPC"
            else create_rest_routes(handler)
        )
        self._app = Starlette(routes=routes)
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._noted,
                interface="asgi3",
                log_level="error",
                ws="none",
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(target=self._serve, daemon=True)

    async def _noted(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        self.requests.append(path)
        app: ASGIApp = self._app
        if path.endswith("agent-card.json"):
            self.card_requests.append(dict(Request(scope).headers))
        elif self.statuses:
            status, text = self.statuses.pop(0)
            app = JSONResponse({"error": text}, status_code=status)
        await app(scope, receive, send)

    def _serve(self) -> None:
        asyncio.run(self._server.serve([self._socket]))

    def __enter__(self) -> A2AServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)
