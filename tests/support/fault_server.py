"""One real HTTP server that plays judge, simulated user, agent and GitHub, and fails as it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE, TURN_METRICS
from tests.support.fake_github import FakeGitHub
from tests.support.faults import Fault, Faults, Role, Struck, role_of, spoiled
from tests.support.scripted_server import Reply, Request, ScriptedServer

HUGE_BYTES = 50_000_000
LABELS = {
    "return shoes": "repetition",
    "return hats": "lack of specific information",
    "return coats": "failure to ask for clarification",
}
"""What the judge finds, by the user's goal: three categories, so that there are three questions for clustering."""
_STATUS = re.compile(r"STATUS_(\d{3})(_AFTER)?")
_OTHER_ANSWERS: dict[Fault, tuple[bytes, str]] = {
    Fault.EMPTY_BODY: (b"", "application/json"),
    Fault.HTML: (b"<!doctype html><title>Welcome</title><h1>It works!</h1>", "text/html"),
    Fault.OTHER_JSON: (b'{"status": "accepted", "items": [1, 2, 3]}', "application/json"),
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FaultServer(ScriptedServer):
    """A `ScriptedServer` whose answers are spoiled by `faults`; GitHub's API is below `/api`.

    Its judge finds failures that no gate of the matrix forbids, so that clustering and recommendations have work to do.
    """

    def __init__(self) -> None:
        super().__init__(answer_well, lambda request: Reply(content="You have 30 days."))
        self.faults = Faults()
        self.github = _MountedGitHub()

    def strike(self, *struck: Struck) -> None:
        """Fail from now on as this says, and count anew."""
        self.faults = Faults(struck)

    def application(self) -> web.Application:
        app = super().application()
        self.github.add_routes(app)

        @web.middleware
        async def spoil(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._spoil(request, handler)

        app.middlewares.append(spoil)
        return app

    def __enter__(self) -> FaultServer:
        super().__enter__()
        self.github.port = self.port
        return self

    async def _spoil(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        content = await request.read()
        role = role_of(request.path, json.loads(content) if content else {})
        fault = self.faults.draw(role, f"{request.method} {request.path}".encode() + content) if role else None
        if fault is None or role is None:
            return await handler(request)
        with contextlib.suppress(ConnectionError):  # the client had enough
            return await self._fail(fault, role, request, handler)
        return web.Response()

    async def _fail(self, fault: Fault, role: Role, request: web.Request, handler: Handler) -> web.StreamResponse:
        if status := _STATUS.fullmatch(fault.name):
            return _refusal(int(status[1]), retry_after=bool(status[2]))
        if fault in _OTHER_ANSWERS:
            body, kind = _OTHER_ANSWERS[fault]
            return web.Response(body=body, content_type=kind)
        if fault is Fault.DROP:
            return _hang_up(request)
        if fault is Fault.HANG:
            while request.transport is not None and not request.transport.is_closing():
                await asyncio.sleep(0.02)
            return web.Response()
        if fault is Fault.HUGE:
            return await _stream(request, HUGE_BYTES, b'{"a": "' + b"x" * 1_000_000)
        good = await handler(request)
        body = good.body if isinstance(good, web.Response) and isinstance(good.body, bytes) else b""
        if fault is Fault.CUT:
            await _stream(request, len(body) + 1, body[: len(body) // 2], whole=False)
            return _hang_up(request)
        if fault is Fault.DRIP:
            return await _drip(request, body)
        if fault is Fault.TRUNCATED_BODY:
            return web.Response(status=good.status, body=body[: len(body) // 2], content_type="application/json")
        return web.json_response(spoiled(fault, json.loads(body)))


class _MountedGitHub(FakeGitHub):
    """Has no server of its own."""


def answer_well(request: Request) -> Reply:
    """A good answer to any question, told from the prompt: a server that refuses schemas gets questions without them, too."""
    text = request.text
    match role_of(request.path, request.body):
        case Role.JUDGE if text.startswith("You are the judge of a test of a chat agent. You judge one whole"):
            return _json({"reason": "They know it.", "score": 1})
        case Role.JUDGE:
            scores = {metric: {"reason": f"About {metric}.", "score": 5} for metric in TURN_METRICS}
            label = next((label for word, label in LABELS.items() if word in text), "no failure")
            labels = {AGENT_BEHAVIOR_FAILURE: {"reason": "It says nothing new.", "label": label}}
            if TOOL_CALL_BEHAVIOR_FAILURE in text:
                labels[TOOL_CALL_BEHAVIOR_FAILURE] = {"reason": "They are right.", "label": "no failure"}
            return _json({**scores, **labels})
        case Role.CLUSTERING:
            members = re.findall(r'"ref": "([FG]\d+)"', text)
            return _json({"groups": [{"description": "The agent repeats itself.", "members": members}]})
        case Role.RECOMMENDATIONS:
            fix = {"module": "Memory", "fix": "Keep what was said."}
            return _json({"module_fixes": [fix], "reasoning": "It forgets.", "best": 0})
    said = sum(message["role"] == "assistant" for message in request.body["messages"])
    subject = re.search(r"return (\w+)", text)
    return Reply(content=f"Question {said + 1}: how many days do I have for {subject[1] if subject else 'this'}?")


def _json(value: Any) -> Reply:
    return Reply(content=json.dumps(value))


def _refusal(status: int, *, retry_after: bool) -> web.Response:
    headers = {"Retry-After": "2"} if retry_after else {}
    if status == 302:
        headers["Location"] = "/elsewhere"
    return web.json_response({"error": {"message": "not now"}, "message": "not now"}, status=status, headers=headers)


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _stream(request: web.Request, length: int, piece: bytes, *, whole: bool = True) -> web.StreamResponse:
    """Promise `length` bytes, and send a piece again and again until they are sent, or once."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(length)})
    await response.prepare(request)
    for _ in range(length // len(piece) if whole else 1):
        await response.write(piece)
    return response


async def _drip(request: web.Request, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for byte in body:
        await response.write(bytes([byte]))
        await asyncio.sleep(0.1)
    return response
