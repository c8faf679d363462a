"""A proxy that fails: whoever makes requests says that it is the proxy, and never with the proxy's credentials."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.transport import AgentHttp
from arksim_ci.github.artifact_http import ArtifactHttp, NoAnswer
from arksim_ci.github.client import GitHubClient, GitHubRefused
from arksim_ci.llm.client import LLMUnavailable
from tests.integration.llm.clients import client
from tests.support.certificate import self_signed
from tests.support.fake_time import FakeTime
from tests.unit.llm.asking import score_question

URL = "https://api.example"


async def ask_llm() -> None:
    async with client(f"{URL}/v1") as llm:
        await llm.ask(score_question())


async def ask_agent() -> None:
    http = AgentHttp(URL, {}, 5, sleep=FakeTime().sleep)
    try:
        await http.post(b"{}", SimpleCookie())
    finally:
        await http.close()


async def ask_github() -> None:
    time = FakeTime()
    github = GitHubClient(URL, URL, "token", sleep=time.sleep, monotonic=time.clock)
    try:
        await github.get("/x")
    finally:
        await github.close()


async def ask_artifacts() -> None:
    async with ArtifactHttp(sleep=FakeTime().sleep) as http:
        await http.send("GET", URL, headers={})


ROOMS = [ask_llm, ask_agent, ask_github, ask_artifacts]
FAILURES = (LLMUnavailable, AgentDidNotAnswer, GitHubRefused, NoAnswer)


@contextlib.asynccontextmanager
async def proxy(answer: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """A proxy that answers everybody so: its address, and a list that grows with every request."""
    asked: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.append(1)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{port_of(server)}", asked


@pytest.mark.parametrize("ask", ROOMS)
@pytest.mark.parametrize(("status", "again"), [("407 Proxy Authentication Required", False), ("503 Later", True)])
async def test_a_proxy_that_refuses_is_named(
    ask: Callable[[], Awaitable[None]], status: str, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()) as (place, asked):
        monkeypatch.setenv("https_proxy", f"http://user:pass-word@{place}")
        with pytest.raises(FAILURES, match=f"the proxy http://{place} answers HTTP {status[:3]}") as caught:
            await ask()
    assert "pass-word" not in str(caught.value)
    assert (len(asked) > 1) is again


@pytest.mark.parametrize("ask", ROOMS)
@pytest.mark.parametrize("place", ["127.0.0.1:1", "no-such-proxy.invalid:3128"])
async def test_a_proxy_that_is_not_there_is_named(
    ask: Callable[[], Awaitable[None]], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", f"http://user:pass-word@{place}")
    with pytest.raises(FAILURES, match=f"the proxy http://{place} can't be reached: ") as caught:
        await ask()
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize("ask", ROOMS)
@pytest.mark.parametrize("address", ["socks5://user:pass-word@127.0.0.1:1", "http://user:pass-word@127.0.0.1:99999"])
async def test_an_address_that_is_no_proxy_is_a_fault_of_its_variable(
    ask: Callable[[], Awaitable[None]], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", address)
    with pytest.raises(FAILURES, match=r"the proxy of this machine \(HTTPS_PROXY\) can't be used") as caught:
        await ask()
    assert "pass-word" not in str(caught.value)


async def test_a_certificate_behind_a_proxy_is_not_the_proxys_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, tls = self_signed(tmp_path, "IP:127.0.0.1")
    target = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=tls)
    over = asyncio.Event()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port_of(target))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))
        over.set()

    through = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    monkeypatch.setenv("https_proxy", f"http://user:pass-word@127.0.0.1:{port_of(through)}")
    async with target, through:
        async with client("https://127.0.0.1:4433/v1") as llm:
            with pytest.raises(LLMUnavailable, match=r":4433/v1: no secure connection: .*self-signed certificate"):
                await llm.ask(score_question())
        await over.wait()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])
