"""A real local HTTP server that plays the LLM provider and the agent, as a test scripts them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True)
class Request:
    """What arrived. `question` is the kind of LLM question (the JSON schema's or forced tool's name), "" if none."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int
    """How many requests came to this role before, from 0."""
    query: dict[str, str] = field(default_factory=dict)

    @property
    def question(self) -> str:
        response_format = self.body.get("response_format") or {}
        if response_format.get("type") == "json_schema":
            return str(response_format["json_schema"]["name"])
        if response_format := (self.body.get("text") or {}).get("format"):
            return str(response_format.get("name", ""))
        tools = self.body.get("tools") or []
        return str(tools[0]["function"]["name"]) if tools else ""

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(
            str(message.get("content")) for message in self.body.get("messages") or self.body.get("input") or []
        )


@dataclass
class Reply:
    """What to answer. `content` is put into a chat completion; `body` (JSON value or raw bytes) replaces the whole answer."""

    content: str | None = None
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    """Cut the connection instead of answering."""
    drip: float = 0.0
    """Send the answer byte by byte, with so many seconds between."""


Script = Callable[[Request], Reply]


def completion(content: str | None, model: str = "scripted-1", **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI shapes it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    }


def response(content: str | None, model: str = "scripted-1") -> dict[str, Any]:
    """An answer of OpenAI's Responses API, which ArkSim asks."""
    text = {"type": "output_text", "text": content or "", "annotations": []}
    message = {"type": "message", "id": "msg-1", "status": "completed", "role": "assistant", "content": [text]}
    return {
        "id": "resp-1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


class ScriptedServer:
    """Serves `/v1/chat/completions` and `/v1/models/{model}` by `llm` and `models`, `/agent` by `agent`.

    `/v1/responses` and Azure's `/openai/deployments/{name}/chat/completions` are served by `llm`, too. Scripts may be replaced while it runs. `requests`
    lists what arrived, by role; `most_in_flight` is the largest number of requests of a role at the same time.
    """

    def __init__(
        self, llm: Script, agent: Script | None = None, models: Script | None = None, *, host: str = "127.0.0.1"
    ) -> None:
        self.host = host
        self.llm = llm
        self.agent = agent or (lambda request: Reply(content="Hello, how can I help?"))
        self.models = models or (lambda request: Reply(body={"id": "scripted-1", "object": "model"}))
        self.requests: dict[str, list[Request]] = {"llm": [], "agent": [], "models": []}
        self.in_flight = {"llm": 0, "agent": 0, "models": 0}
        self.most_in_flight = {"llm": 0, "agent": 0, "models": 0}
        self.cards: dict[str, Any] = {}
        """A2A agent cards, by the path that they stand below; `/` for the server's own."""
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://{self.host}:{self.port}/v1"

    @property
    def agent_url(self) -> str:
        return f"http://{self.host}:{self.port}/agent"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def application(self) -> web.Application:
        """What is served."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._llm)
        app.router.add_post("/v1/responses", self._llm)
        app.router.add_post("/openai/deployments/{name}/chat/completions", self._llm)
        app.router.add_get("/v1/models/{model:.+}", self._models)
        app.router.add_post("/agent", self._agent)
        app.router.add_get("/.well-known/agent-card.json", self._card)
        return app

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = self.application()
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, self.host, 0)
        self._loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.run_until_complete(_end_all_others())
        self._loop.close()

    async def _llm(self, raw: web.Request) -> web.StreamResponse:
        return await self._handle(raw, "llm")

    async def _models(self, raw: web.Request) -> web.StreamResponse:
        return await self._handle(raw, "models")

    async def _agent(self, raw: web.Request) -> web.StreamResponse:
        return await self._handle(raw, "agent")

    async def _card(self, raw: web.Request) -> web.StreamResponse:
        return web.json_response(self.cards["/"]) if "/" in self.cards else web.Response(status=404)

    async def _handle(self, raw: web.Request, role: str) -> web.StreamResponse:
        self.in_flight[role] += 1
        self.most_in_flight[role] = max(self.most_in_flight[role], self.in_flight[role])
        try:
            return await self._answer(raw, role)
        finally:
            self.in_flight[role] -= 1

    async def _answer(self, raw: web.Request, role: str) -> web.StreamResponse:
        text = await raw.text()
        request = Request(
            path=raw.path,
            headers=dict(raw.headers),
            body=json.loads(text) if text else {},
            number=len(self.requests[role]),
            query=dict(raw.query),
        )
        self.requests[role].append(request)
        script: Script = getattr(self, role)
        reply = script(request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.drop:
            assert raw.transport is not None
            raw.transport.abort()
            return web.Response()
        if isinstance(reply.body, bytes):
            return web.Response(status=reply.status, body=reply.body, headers=reply.headers)
        shape = response if raw.path.endswith("/responses") else completion
        body = shape(reply.content) if reply.body is None else reply.body
        if reply.drip:
            return await _drip(raw, reply, json.dumps(body).encode())
        return web.json_response(body, status=reply.status, headers=reply.headers)


async def _end_all_others() -> None:
    """End what still hangs, as a test scripted it."""
    hanging = asyncio.all_tasks() - {asyncio.current_task()}
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def _drip(raw: web.Request, reply: Reply, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(status=reply.status, headers={"Content-Type": "application/json", **reply.headers})
    await response.prepare(raw)
    for byte in body:
        await response.write(bytes([byte]))
        await asyncio.sleep(reply.drip)
    return response


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for a condition, or fail."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.01)
