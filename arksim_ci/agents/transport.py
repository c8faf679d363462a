"""HTTP to the agent: one connection pool for a run, bounded in time and size, every failure a sentence."""

from __future__ import annotations

import asyncio
import re
import time
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.response_shapes import shorten
from arksim_ci.retry import AGENT_RETRYABLE, RetryPolicy, retry_after_seconds, wait_seconds

if TYPE_CHECKING:
    import aiohttp

MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
MAX_CONNECTIONS: Final = 1000
KEEP_ALIVE_SECONDS: Final = 1.5
"""Shorter than servers keep idle connections (2 s and more), so that a request is not sent into a closing one."""
POLICY: Final = RetryPolicy(attempts=5)

_HARMLESS_HEADERS = ("content-type", "accept", "user-agent")
_SHORTEST_SECRET = 8


class AgentHttp:
    """POSTs JSON to the agent.

    A request is made again only where the agent cannot have acted: a refused connection, and the statuses of
    `retry.AGENT_RETRYABLE`; never after a time-out or a broken connection. Redirects are not followed and cookies are not
    kept here: whoever holds a conversation passes its own.
    """

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        timeout_seconds: float,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
        policy: RetryPolicy = POLICY,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            endpoint: where requests go, with every `${VAR}` filled in.
            headers: as the endpoint.
            timeout_seconds: for one request, from connecting to the last byte of its answer.
            sleep: waits some seconds.
            now: seconds since the epoch, for a Retry-After that is a date.
            policy: how often and how patiently a request is made again.
            max_answer_bytes: an answer that is larger is refused.
        """
        self._endpoint = endpoint
        self._cookie = next((value for name, value in headers.items() if name.lower() == "cookie"), "")
        self._headers = {name: value for name, value in headers.items() if name.lower() != "cookie"}
        if not any(name.lower() == "content-type" for name in headers):
            self._headers["Content-Type"] = "application/json"
        self._timeout_seconds = timeout_seconds
        self._sleep = sleep
        self._now = now
        self._policy = policy
        self._max_answer_bytes = max_answer_bytes
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None
        self._place = without_secrets(endpoint)
        self._secrets = _secrets_of(endpoint, headers)

    async def post(self, payload: bytes, cookies: SimpleCookie) -> tuple[str, bytes]:
        """Send a JSON text and return the content type and the body of a successful answer.

        `cookies` are sent along, and what the agent sets is added to them.

        Raises:
            AgentDidNotAnswer: with the cause, free of secrets.
        """
        waited = 0.0
        for retries in range(self._policy.attempts):
            try:
                return await self._post_once(payload, cookies)
            except _CanBeAskedAgain as failure:
                pause = wait_seconds(self._policy, retries, failure.retry_after)
                waited += pause
                if retries + 1 == self._policy.attempts or waited > self._policy.total_seconds:
                    tries = f" (tried {retries + 1} times)" if retries else ""
                    raise AgentDidNotAnswer(f"{failure}{tries}") from None
                await self._sleep(pause)
        raise AssertionError("a policy has at least one attempt")

    def hide(self, text: str) -> str:
        """Blank the secrets that we sent: a server may repeat them in what it says about an error. Before a text is cut."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    async def _post_once(self, payload: bytes, cookies: SimpleCookie) -> tuple[str, bytes]:
        import aiohttp  # noqa: PLC0415  (loaded when the first request is made)

        session = self._session or self._open_session()
        sent = [self._cookie, *(f"{name}={morsel.value}" for name, morsel in cookies.items())]
        headers = {**self._headers, "Cookie": "; ".join(filter(None, sent))} if any(sent) else self._headers
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                session.post(
                    self._endpoint, data=payload, headers=headers, allow_redirects=False, proxy=self._proxy
                ) as response,
            ):
                body = await self._read(response)
                _keep(response.cookies, cookies)
                self._check_status(response, body)
                return response.content_type, body
        except TimeoutError:
            raise self._failure(f"no complete answer within {self._timeout_seconds:g} seconds") from None
        except aiohttp.ClientSSLError as error:
            raise self._failure(f"no secure connection: {error}") from None
        except aiohttp.ClientConnectorError as error:
            raise _CanBeAskedAgain(self.hide(f"can't connect to {self._place}: {error.strerror or error}")) from None
        except aiohttp.ServerDisconnectedError:
            raise self._failure("the connection was closed before an answer came") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._failure(f"{type(error).__name__}: {error}") from None

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415

        self._proxy = _proxy_for(self._endpoint)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEP_ALIVE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > self._max_answer_bytes:
                raise self._failure(f"the answer is larger than {self._max_answer_bytes / 1024 / 1024:g} MB")
            pieces.append(piece)
        return b"".join(pieces)

    def _check_status(self, response: aiohttp.ClientResponse, body: bytes) -> None:
        status = response.status
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            target = without_secrets(response.headers.get("Location", ""))
            raise self._failure(
                f"HTTP {status} sends on to {target or 'nowhere'}; set the endpoint to the final address"
            )
        text = shorten(self.hide(body.decode("utf-8", "replace"))) or "an empty body"
        cause = f"HTTP {status} from {self._place}: {text}"
        if status in AGENT_RETRYABLE:
            retry_after = retry_after_seconds(response.headers.get("Retry-After"), self._now())
            raise _CanBeAskedAgain(cause, retry_after)
        raise AgentDidNotAnswer(cause)

    def _failure(self, what: str) -> AgentDidNotAnswer:
        return AgentDidNotAnswer(self.hide(f"no answer from {self._place}: {what}"))


class _CanBeAskedAgain(Exception):
    """A request that failed before the agent can have acted. `retry_after` in seconds is the server's wish."""

    def __init__(self, cause: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(cause)


def _keep(new: SimpleCookie, cookies: SimpleCookie) -> None:
    """Take over what a server sets or, by an age of 0, deletes."""
    for name, morsel in new.items():
        if morsel["max-age"] == "0":
            cookies.pop(name, None)
        else:
            cookies[name] = morsel.value


def _proxy_for(endpoint: str) -> str | None:
    """The proxy that the machine is set to use for this endpoint, as curl and pip use it."""
    parts = urlsplit(endpoint)
    if urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def without_secrets(url: str) -> str:
    """The URL without user info, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else parts.path


def _secrets_of(endpoint: str, headers: Mapping[str, str]) -> list[str]:
    """What must not be shown of a request: header values, user info and the query's values; longest first."""
    parts = urlsplit(endpoint)
    texts = [value for name, value in headers.items() if name.lower() not in _HARMLESS_HEADERS]
    texts += [value for _, value in parse_qsl(parts.query)]
    texts += parts.netloc.rpartition("@")[0].split(":")
    pieces = {piece for text in texts for piece in (text, unquote(text), *re.split(r"[\s;,=]+", text))}
    return sorted((piece for piece in pieces if len(piece) >= _SHORTEST_SECRET), key=len, reverse=True)
