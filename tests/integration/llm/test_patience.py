"""Faults of the server: retries, time-outs, throttling, outages (rows 17 and 23), and the budget."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.config.model import Price
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed, RunLimitReached
from tests.integration.llm.clients import GOOD, KEY, client, good, refusal, replies
from tests.support.certificate import self_signed
from tests.support.fake_time import FakeTime
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion
from tests.unit.llm.asking import score_question, text_question


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_row_17_a_passing_fault_is_retried(status: int) -> None:
    with ScriptedServer(replies(refusal("later", status), refusal("later", status), Reply(content=GOOD))) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0
            assert (llm.usage().judge.calls, llm.usage().judge.retries) == (3, 2)


async def test_a_cut_connection_is_retried() -> None:
    with ScriptedServer(replies(Reply(drop=True), Reply(content=GOOD))) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_stays_wrong_is_not_retried(status: int) -> None:
    with ScriptedServer(replies(refusal("no way", status))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match=f"HTTP {status}: no way"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) == 1


async def test_a_refused_key_names_its_variable_and_never_itself(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(replies(refusal(f"Incorrect API key provided: {KEY}.", 401))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match="refused the key in MY_KEY") as caught:
                await llm.ask(score_question())
    assert server.requests["llm"][0].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(caught.value)
    assert KEY not in caplog.text
    cause: BaseException | None = caught.value
    while cause is not None:
        assert KEY not in str(cause)
        cause = cause.__cause__


async def test_row_23_retries_are_in_the_log_and_end_with_the_cause(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "arksim_ci")
    with ScriptedServer(replies(refusal("overloaded", 503))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match=r"HTTP 503: overloaded \(after 6 tries\)"):
                await llm.ask(score_question())
    assert "judge: HTTP 503: overloaded; try 2 follows in" in caplog.text


@pytest.mark.parametrize("headers", [{"Retry-After": "17"}, {"retry-after-ms": "17000"}])
async def test_retry_after_is_obeyed(headers: dict[str, str]) -> None:
    clock = FakeTime()
    throttled = Reply(status=429, body={"error": {"message": "slow down"}}, headers=headers)
    with ScriptedServer(replies(throttled, Reply(content=GOOD))) as server:
        async with client(server, time=clock) as llm:
            await llm.ask(score_question())
    assert clock.slept == [17.0]


async def test_throttling_makes_the_client_slower_but_loses_nothing() -> None:
    def script(request: Request) -> Reply:
        if server.in_flight["llm"] > 5:
            return refusal("slow down", 429)
        return Reply(content="Hello", delay=0.01)

    with ScriptedServer(script) as server:
        async with client(server, workers=40) as llm:
            await asyncio.gather(*(llm.ask(text_question()) for _ in range(100)))
            assert llm.usage().simulated_user.retries > 0


async def test_never_more_requests_in_flight_than_workers() -> None:
    with ScriptedServer(replies(Reply(content="Hello", delay=0.02))) as server:
        async with client(server, workers=7) as llm:
            await asyncio.gather(*(llm.ask(text_question()) for _ in range(50)))
    assert server.most_in_flight["llm"] == 7


async def test_a_used_up_quota_is_not_waited_for() -> None:
    clock = FakeTime()
    with ScriptedServer(replies(refusal("You exceeded your quota", 429, code="insufficient_quota"))) as server:
        async with client(server, time=clock) as llm:
            with pytest.raises(LLMUnavailable, match="exceeded your quota"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) == 1
    assert clock.slept == []


async def test_row_23_a_server_that_hangs_is_left_after_the_time_out() -> None:
    with ScriptedServer(replies(Reply(content=GOOD, delay=60), Reply(content=GOOD))) as server:
        async with client(server, timeout=0.3) as llm:
            started = time.perf_counter()
            assert (await llm.ask(score_question())).value == 4.0
            assert time.perf_counter() - started < 5


async def test_row_23_a_server_that_drips_is_left_after_the_time_out() -> None:
    with ScriptedServer(replies(Reply(content=GOOD, drip=0.05))) as server:
        async with client(server, timeout=0.3) as llm:
            with pytest.raises(LLMUnavailable, match=r"gave no answer within 0\.3 s \(after 6 tries\)"):
                await llm.ask(score_question())


async def test_a_refused_connection_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = taken.getsockname()[1]
        async with client(f"http://127.0.0.1:{port}/v1") as llm:
            with pytest.raises(LLMUnavailable, match=f"http://127.0.0.1:{port}/v1: the connection was refused; check"):
                await llm.ask(score_question())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 404 No\r\nContent-Length: 4000\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_broken_http_is_a_fault_of_the_connection(answer: bytes) -> None:
    async with listening(answer) as port, client(f"http://127.0.0.1:{port}/v1") as llm:
        with pytest.raises(LLMUnavailable, match=rf"http://127\.0\.0\.1:{port}/v1: the .*\(after 6 tries\)"):
            await llm.ask(text_question())


@asynccontextmanager
async def listening(answer: bytes, **options: Any) -> AsyncIterator[int]:
    """A server that says the same bytes to everybody. Its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **options)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_an_answer_that_breaks_off_is_no_http_400() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"
    async with listening(half) as port, client(f"http://127.0.0.1:{port}/v1") as llm:
        with pytest.raises(LLMUnavailable, match=r"the answer breaks off, or can't be unpacked \(after 6 tries\)$"):
            await llm.ask(text_question())


async def test_a_certificate_that_is_not_trusted_is_named(tmp_path: Path) -> None:
    _, tls = self_signed(tmp_path, "IP:127.0.0.1")
    async with listening(b"", ssl=tls) as port, client(f"https://127.0.0.1:{port}/v1") as llm:
        with pytest.raises(PreflightFailed, match=r"no secure connection: .*self-signed certificate.* SSL_CERT_FILE"):
            await llm.preflight()


async def test_an_ipv6_address_is_named_as_it_is_written() -> None:
    async with client("http://[::1]:1/v1") as llm:
        with pytest.raises(LLMUnavailable, match=r"http://\[::1\]:1/v1: the connection"):
            await llm.ask(text_question())


async def test_an_unknown_host_is_named() -> None:
    async with client("http://no-such-host.invalid/v1?key=secret-word") as llm:
        with pytest.raises(LLMUnavailable, match=r"no-such-host\.invalid/v1: the host name is not known") as caught:
            await llm.ask(score_question())
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://user:secret-word@127.0.0.1:1/v1", "http://127.0.0.1:99999999/v1", "ftp:", "http://"]
)
async def test_a_url_that_cannot_be_used_is_a_fault_of_the_configuration(url: str) -> None:
    async with client(url) as llm:
        with pytest.raises(PreflightFailed, match="check both") as caught:
            await llm.preflight()
        with pytest.raises(LLMUnavailable, match="check both"):
            await llm.ask(score_question())
    assert "secret-word" not in str(caught.value)


async def test_the_budget_of_calls_is_never_passed() -> None:
    with ScriptedServer(replies(Reply(content="Hello", delay=0.01))) as server:
        async with client(server, max_llm_calls=10) as llm:
            results = await asyncio.gather(*(llm.ask(text_question()) for _ in range(50)), return_exceptions=True)
    assert len(server.requests["llm"]) == 10
    assert sum(isinstance(result, RunLimitReached) for result in results) == 40


async def test_retries_and_repairs_are_part_of_the_budget() -> None:
    with ScriptedServer(replies(refusal("later", 500), Reply(content="?"))) as server:
        async with client(server, max_llm_calls=2) as llm:
            with pytest.raises(RunLimitReached, match="max_llm_calls reached: 2 requests were sent"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) == 2


async def test_the_cost_is_measured_and_ends_the_run() -> None:
    prices = {"model-1": Price(input=1.0, cached_input=0.1, output=10.0)}
    once = (60 * 1.0 + 40 * 0.1 + 10 * 10.0) / 1e6
    with ScriptedServer(good) as server:
        async with client(server, prices=prices, max_cost_usd=2.5 * once) as llm:
            for _ in range(3):
                await llm.ask(score_question())
            assert llm.usage().judge.cost_usd == pytest.approx(3 * once)
            with pytest.raises(RunLimitReached, match="max_cost_usd reached"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) == 3


async def test_a_cost_limit_needs_a_server_that_counts() -> None:
    body = completion(GOOD)
    del body["usage"]
    prices = {"model-1": Price(input=1.0, cached_input=0.1, output=10.0)}
    with ScriptedServer(replies(Reply(body=body))) as server:
        async with client(server, prices=prices, max_cost_usd=1.0) as llm:
            await llm.ask(score_question())
            assert llm.usage().judge.cost_usd is None
            with pytest.raises(RunLimitReached, match="does not report the tokens"):
                await llm.ask(score_question())
