"""Whether an agent that was started is ready: its health URL answers 200, or its endpoint's port accepts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from arksim_ci.agents.transport import without_secrets

if TYPE_CHECKING:
    import aiohttp

PAUSE_SECONDS: Final = 0.2
"""Between two tries."""
TRY_SECONDS: Final = 5.0
"""How long one try may take."""

_PORTS = {"http": 80, "https": 443}


@dataclass
class HealthCheck:
    """Asks until the agent is ready.

    Args:
        url: must answer 200; where it is None, `host` and `port` must accept a connection.
        host, port: of the agent's endpoint.
        last: why the last try failed, in words.
    """

    url: str | None
    host: str
    port: int
    last: str = field(default="nothing was tried")

    @classmethod
    def of(cls, health_url: str | None, endpoint: str) -> HealthCheck | None:
        """The check for an agent, or None where there is nothing to ask."""
        parts = urlsplit(health_url or endpoint)
        if not parts.hostname:
            return None
        return cls(health_url or None, parts.hostname, parts.port or _PORTS.get(parts.scheme, 80))

    @property
    def expected(self) -> str:
        """What has to come about, in words."""
        if self.url is not None:
            return f"{without_secrets(self.url)} answers 200"
        return f"port {self.port} of {self.host} accepts connections"

    async def until_ready(self) -> None:
        """Ask until the agent is ready. It does not end by itself."""
        if self.url is None:
            while not await self._accepts():  # noqa: ASYNC110  (another process sets no event)
                await asyncio.sleep(PAUSE_SECONDS)
            return
        import aiohttp  # noqa: PLC0415  (needed only where there is a health URL)

        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TRY_SECONDS)) as session:
            while not await self._answers(session, self.url):  # noqa: ASYNC110
                await asyncio.sleep(PAUSE_SECONDS)

    async def _accepts(self) -> bool:
        try:
            async with asyncio.timeout(TRY_SECONDS):
                _, writer = await asyncio.open_connection(self.host, self.port)
        except (OSError, TimeoutError) as error:
            self.last = _cause(error)
            return False
        writer.close()
        return True

    async def _answers(self, session: aiohttp.ClientSession, url: str) -> bool:
        import aiohttp  # noqa: PLC0415

        try:
            async with session.get(url, allow_redirects=False) as response:
                self.last = f"it answers HTTP {response.status}"
                return response.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self.last = _cause(error)
            return False


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {TRY_SECONDS:g} seconds"
    if "Connect call failed" in str(error) or isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    return str(error) or type(error).__name__
