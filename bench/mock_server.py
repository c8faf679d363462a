"""The mock server, a process of its own: OpenAI's chat completions and responses, and the agent; every answer takes its time.

    python -m bench.mock_server [--llm-seconds 0.5] [--agent-seconds 0.3] [--jitter 0] [--low-percent 92]

Prints its port. `GET /stats` returns what was counted since `POST /reset`. HTTP is done here in a few lines on bare
asyncio, so that the server has a small share in what is measured on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import zlib
from collections.abc import Callable
from typing import Any

from bench.mock_answers import Mock, Request, agent_says, read_chat, read_responses
from bench.mock_counts import CHARACTERS_PER_TOKEN, Counts

MODEL_LOOKUP_SECONDS = 0.1


class Server:
    """Routes requests.

    Parameters:
        llm_seconds, agent_seconds: how long an answer takes.
        jitter: share by which it varies to both sides, 0-1; by the request's text, so that it is the same every time.
        low_percent: see `Mock`.
    """

    def __init__(self, llm_seconds: float, agent_seconds: float, jitter: float, low_percent: int) -> None:
        self._low_percent = low_percent
        self._llm_seconds = llm_seconds
        self._agent_seconds = agent_seconds
        self._jitter = jitter
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._counts = Counts()
        self._mock = Mock(self._low_percent)

    def handle(self, method: str, path: str, body: bytes, send: Callable[[int, object], None]) -> None:
        """Answer one request, now or later."""
        if path.endswith("/chat/completions"):
            self._llm(read_chat(json.loads(body)), _chat_completion, send)
        elif path.endswith("/responses"):
            self._llm(read_responses(json.loads(body)), _response, send)
        elif path == "/agent":
            self._agent(body, send)
        elif method == "GET" and "/models/" in path:
            found = {"id": path.rpartition("/")[2], "object": "model", "created": 1, "owned_by": "mock"}
            asyncio.get_running_loop().call_later(MODEL_LOOKUP_SECONDS, send, 200, found)
        elif path == "/stats":
            send(200, self._counts.as_json())
        elif path == "/reset":
            self.reset()
            send(200, {})
        else:
            self._counts.unknown_requests += 1
            send(404, {"error": {"message": f"no such path: {method} {path}"}})

    def _llm(
        self, request: Request, shape: Callable[[str, int, int], object], send: Callable[[int, object], None]
    ) -> None:
        counts, prompt = self._counts, request.prompt
        tokens, cached = counts.llm(request.role, prompt)
        text, ticket = self._mock.answer(request)
        counts.roles[request.role].output_tokens += len(text) // CHARACTERS_PER_TOKEN
        seconds = self._varied(self._llm_seconds, prompt)
        counts.llm_seconds += seconds
        counts.takes(seconds, ticket)

        def done() -> None:
            counts.llm_in_flight -= 1
            send(200, shape(text, tokens, cached))

        asyncio.get_running_loop().call_later(seconds, done)

    def _agent(self, body: bytes, send: Callable[[int, object], None]) -> None:
        counts = self._counts
        counts.agent()
        text, ticket = agent_says(json.loads(body))
        seconds = self._varied(self._agent_seconds, text)
        counts.takes(seconds, ticket)

        def done() -> None:
            counts.agent_in_flight -= 1
            send(200, _chat_completion(text, 0, 0))

        asyncio.get_running_loop().call_later(seconds, done)

    def _varied(self, seconds: float, text: str) -> float:
        if not self._jitter:
            return seconds
        return seconds * (1 + self._jitter * (zlib.crc32(text.encode()) / 2**31 - 1))


def _chat_completion(text: str, tokens: int, cached: int) -> object:
    output = len(text) // CHARACTERS_PER_TOKEN
    return {
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5.1-mock",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": output,
            "total_tokens": tokens + output,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _response(text: str, tokens: int, cached: int) -> object:
    output = len(text) // CHARACTERS_PER_TOKEN
    content: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": "resp_mock",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5.1-mock",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {"type": "message", "id": "msg_mock", "role": "assistant", "status": "completed", "content": content}
        ],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + output,
        },
    }


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length: what both tools speak."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            lines = self._buffer[:end].decode("latin-1").split("\r\n")
            method, path, _ = lines[0].split(" ", 2)
            length = next((int(line[15:]) for line in lines[1:] if line[:15].lower() == "content-length:"), 0)
            if len(self._buffer) < end + 4 + length:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            self._server.handle(method, path.partition("?")[0], body, self._send)

    def _send(self, status: int, value: object) -> None:
        if self._transport.is_closing():
            return
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def serve(server: Server, port: int) -> None:
    """Serve on localhost until the process ends; print the port once it listens."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", port, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


def main() -> None:
    """Run the server from the command line."""
    parser = argparse.ArgumentParser(description="Mock of an LLM provider and of an agent.")
    parser.add_argument("--llm-seconds", type=float, default=0.5)
    parser.add_argument("--agent-seconds", type=float, default=0.3)
    parser.add_argument("--jitter", type=float, default=0.0, help="share by which latencies vary, 0-1")
    parser.add_argument("--low-percent", type=int, default=92, help="share of turns with low scores, 0-100")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = Server(options.llm_seconds, options.agent_seconds, options.jitter, options.low_percent)
    asyncio.run(serve(server, options.port))


if __name__ == "__main__":
    main()
