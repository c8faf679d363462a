"""Clients for the scripted server, on a clock that needs no waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from arksim_ci.config.model import Provider
from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits
from arksim_ci.llm.openai import OpenAIClient
from tests.support.fake_time import FakeTime
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion

KEY = "sk-test-0123456789abcdef"
GOOD = '{"score": 4, "reason": "fine"}'


def good(_: Request) -> Reply:
    return Reply(content=GOOD)


def replies(*answers: Reply) -> Any:
    """A script that gives these answers one after the other, the last one for ever."""
    rest = list(answers)

    def script(_: Request) -> Reply:
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return script


def refusal(message: str, status: int = 400, **fields: Any) -> Reply:
    return Reply(status=status, body={"error": {"message": message, **fields}})


def finished(content: str | None, reason: str, **message: Any) -> Reply:
    body = completion(content, **message)
    body["choices"][0]["finish_reason"] = reason
    return Reply(body=body)


@asynccontextmanager
async def client(
    server: ScriptedServer | str,
    provider: Provider = "openai_compatible",
    *,
    key: str | None = KEY,
    workers: int = 50,
    timeout: float = 5.0,
    cache_dir: Any = None,
    time: FakeTime | None = None,
    **limits: Any,
) -> AsyncIterator[OpenAIClient]:
    """A client of the server (or base URL) whose waits take no time."""
    time = time or FakeTime()
    base_url = server if isinstance(server, str) else server.base_url
    deployment = ("my-deployment", "2024-10-21") if provider == "azure" else (None, None)
    if provider == "azure":
        base_url = base_url.removesuffix("/v1")
    settings = ProviderSettings(provider, "model-1", base_url, key, "MY_KEY", *deployment)
    gate = Limits(workers, model="model-1", clock=time.clock, sleep=time.sleep, **limits)
    llm = build_llm(settings, gate, timeout_seconds=timeout, cache_dir=cache_dir)
    assert isinstance(llm, OpenAIClient)
    try:
        yield llm
    finally:
        await llm.close()
