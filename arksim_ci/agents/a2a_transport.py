"""The agent's HTTP client as the A2A SDK wants it. Imports httpx: import this module when an A2A agent is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx

from arksim_ci.agents.transport import AgentHttp

if TYPE_CHECKING:
    import aiohttp

_OF_THE_CONNECTION = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "content-encoding", "accept-encoding"}
)
"""Headers that belong to one HTTP client's connection and mean nothing to the other's."""


def http_client(http: AgentHttp) -> httpx.AsyncClient:
    """A client for the SDK whose requests go through `http`, with its retries, limits and sentences. Time limits are the caller's."""
    return httpx.AsyncClient(transport=_Transport(http), follow_redirects=False)


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, http: AgentHttp) -> None:
        self._http = http

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name not in _OF_THE_CONNECTION}
        response = await self._http.begin(request.method, str(request.url), headers, await request.aread())
        kept = [(name, value) for name, value in response.headers.items() if name.lower() not in _OF_THE_CONNECTION]
        return httpx.Response(response.status, headers=kept, stream=_Body(self._http, response))


class _Body(httpx.AsyncByteStream):
    def __init__(self, http: AgentHttp, response: aiohttp.ClientResponse) -> None:
        self._http = http
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._http.pieces(self._response):
            yield piece

    async def aclose(self) -> None:
        self._response.close()
