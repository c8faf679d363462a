"""HTTP to the agent: one connection pool for a run, bounded in time and size, every failure a sentence."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.response_shapes import shorten
from arksim_ci.config.proxy import ProxyFault, proxy_for, through
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

T = TypeVar("T")


class AgentHttp:
    """Sends the agent's requests.

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
        self._proxies: dict[str, str | None] = {}
        self._secrets = _secrets_of(endpoint, headers)

    async def post(
        self, payload: bytes, cookies: SimpleCookie, headers: Mapping[str, str] | None = None
    ) -> tuple[str, bytes]:
        """Send a JSON text and return the content type and the body of a successful answer.

        `cookies` are sent along, and what the agent sets is added to them. `headers` come besides those of every request.

        Raises:
            AgentDidNotAnswer: with the cause, free of secrets.
        """
        return await self._patiently(lambda: self._post_once(payload, cookies, headers or {}))

    async def begin(self, method: str, url: str, headers: Mapping[str, str], payload: bytes) -> aiohttp.ClientResponse:
        """Send a request to any address of the agent and return its successful answer, of which only the head has come.

        The time limit is the caller's. Read the body with `pieces`, and close the response. `headers` give way to those of
        every request.

        Raises:
            AgentDidNotAnswer: with the cause, free of secrets.
        """
        return await self._patiently(lambda: self._begin_once(method, url, headers, payload))

    async def pieces(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body of an answer as it comes.

        Raises:
            AgentDidNotAnswer: the answer breaks off, or is too large.
        """
        size = 0
        with self._explained(without_secrets(str(response.url))):
            async for piece in response.content.iter_any():
                size += len(piece)
                if size > self._max_answer_bytes:
                    place = without_secrets(str(response.url))
                    raise self._failure(place, f"the answer is larger than {self._max_answer_bytes / 1024 / 1024:g} MB")
                yield piece

    def hide(self, text: str) -> str:
        """Blank the secrets that we sent: a server may repeat them in what it says about an error. Before a text is cut."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    async def _patiently(self, once: Callable[[], Awaitable[T]]) -> T:
        """Try until it works, or until patience is at its end."""
        waited = 0.0
        for retries in range(self._policy.attempts):
            try:
                return await once()
            except _CanBeAskedAgain as failure:
                pause = wait_seconds(self._policy, retries, failure.retry_after)
                waited += pause
                if retries + 1 == self._policy.attempts or waited > self._policy.total_seconds:
                    tries = f" (tried {retries + 1} times)" if retries else ""
                    raise AgentDidNotAnswer(f"{failure}{tries}") from None
                await self._sleep(pause)
        raise AssertionError("a policy has at least one attempt")

    async def _post_once(
        self, payload: bytes, cookies: SimpleCookie, more_headers: Mapping[str, str]
    ) -> tuple[str, bytes]:
        sent = [self._cookie, *(f"{name}={morsel.value}" for name, morsel in cookies.items())]
        headers = {**self._headers, **more_headers}
        if any(sent):
            headers["Cookie"] = "; ".join(filter(None, sent))
        with self._explained(without_secrets(self._endpoint)):
            async with (
                asyncio.timeout(self._timeout_seconds),
                await self._send("POST", self._endpoint, headers, payload) as response,
            ):
                body = b"".join([piece async for piece in self.pieces(response)])
                _keep(response.cookies, cookies)
                self._check_status(response, body)
                return response.content_type, body

    async def _begin_once(
        self, method: str, url: str, given: Mapping[str, str], payload: bytes
    ) -> aiohttp.ClientResponse:
        ours = {**self._headers, **({"Cookie": self._cookie} if self._cookie else {})}
        names = {name.lower() for name in ours}
        headers = {**ours, **{name: value for name, value in given.items() if name.lower() not in names}}
        with self._explained(without_secrets(url)):
            response = await self._send(method, url, headers, payload)
            if not 200 <= response.status < 300:
                async with response:
                    self._check_status(response, b"".join([piece async for piece in self.pieces(response)]))
            return response

    async def _send(self, method: str, url: str, headers: Mapping[str, str], payload: bytes) -> aiohttp.ClientResponse:
        session = self._session or self._open_session()
        try:
            if url not in self._proxies:
                self._proxies[url] = proxy_for(url)
            proxy = self._proxies[url]
            with through(proxy):
                return await session.request(
                    method, url, data=payload, headers=headers, allow_redirects=False, proxy=proxy
                )
        except ProxyFault as fault:
            if fault.passing:
                raise _CanBeAskedAgain(self.hide(f"can't connect to {without_secrets(url)}: {fault}")) from None
            raise self._failure(without_secrets(url), str(fault)) from None

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415  (loaded when the first request is made)

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEP_ALIVE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self._session

    @contextlib.contextmanager
    def _explained(self, place: str) -> Iterator[None]:
        """Turn what can go wrong with a request to this place into a sentence."""
        import aiohttp  # noqa: PLC0415

        try:
            yield
        except TimeoutError:
            raise self._failure(place, f"no complete answer within {self._timeout_seconds:g} seconds") from None
        except aiohttp.ClientSSLError as error:
            raise self._failure(place, f"no secure connection: {error}") from None
        except aiohttp.ClientConnectorError as error:
            raise _CanBeAskedAgain(self.hide(f"can't connect to {place}: {error.strerror or error}")) from None
        except aiohttp.ServerDisconnectedError:
            raise self._failure(place, "the connection was closed before an answer came") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._failure(place, f"{type(error).__name__}: {error}") from None

    def _check_status(self, response: aiohttp.ClientResponse, body: bytes) -> None:
        status, place = response.status, without_secrets(str(response.url))
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            target = without_secrets(response.headers.get("Location", ""))
            raise self._failure(
                place, f"HTTP {status} sends on to {target or 'nowhere'}; set the endpoint to the final address"
            )
        text = shorten(self.hide(body.decode("utf-8", "replace"))) or "an empty body"
        cause = f"HTTP {status} from {place}: {text}"
        if status in AGENT_RETRYABLE:
            retry_after = retry_after_seconds(response.headers.get("Retry-After"), self._now())
            raise _CanBeAskedAgain(cause, retry_after)
        raise AgentDidNotAnswer(cause)

    def _failure(self, place: str, what: str) -> AgentDidNotAnswer:
        return AgentDidNotAnswer(self.hide(f"no answer from {place}: {what}"))


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
