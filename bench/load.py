"""How many calls a second the mock server can serve: a benchmark whose server is the bottleneck measures the server."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import urlsplit

CONNECTIONS = 50
REQUEST_CHARACTERS = 7_000


async def calls_per_second(server: str, calls: int = 4_000) -> float:
    """Send judge's requests of 7 kB over 50 connections, one after the other on each, to a server without latency."""
    address = urlsplit(server)
    properties = {f"metric_{number}": {"type": "object", "properties": {"score": {}}} for number in range(6)}
    fields = {
        "model": "gpt-5.1",
        "messages": [{"role": "system", "content": "x" * REQUEST_CHARACTERS}, {"role": "user", "content": "Judge."}],
        "response_format": {"json_schema": {"name": "judge_turn", "schema": {"properties": properties}}},
    }
    body = json.dumps(fields).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: mock\r\nContent-Length: {len(body)}\r\n\r\n"

    async def send_all(number: int) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for _ in range(number):
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()

    started = time.monotonic()
    await asyncio.gather(*(send_all(calls // CONNECTIONS) for _ in range(CONNECTIONS)))
    return calls / (time.monotonic() - started)
