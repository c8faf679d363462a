"""GitHub's REST and GraphQL API: patient with its limits, honest about its refusals. Only the hosts that the runner names."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit

from arksim_ci import __version__
from arksim_ci.config.proxy import ProxyFault, proxy_for, through
from arksim_ci.github.addresses import place
from arksim_ci.github.answers import Answer, GitHubRefused, PermissionMissing
from arksim_ci.github.patience import MOST_SECONDS, POLICY, SECONDS_BETWEEN_WRITES, TRANSIENT, limit_seconds
from arksim_ci.redaction import redactor
from arksim_ci.reports.safe_text import log_text, one_line
from arksim_ci.retry import next_wait

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Answer", "GitHubClient", "GitHubRefused", "PermissionMissing"]

logger = logging.getLogger(__name__)

PER_PAGE = 100
MOST_PAGES = 100
LARGEST_ANSWER = 32 * 1024 * 1024
_NEXT = re.compile(r'<([^>]+)>\s*;[^,]*\brel="next"')
_WRITES = {"POST", "PATCH", "PUT", "DELETE"}


class GitHubClient:
    """Talks to GitHub for one run.

    Args:
        api_url: `GITHUB_API_URL`.
        graphql_url: `GITHUB_GRAPHQL_URL`.
        token: the token of all requests; it is never part of an error.
        sleep: waits seconds.
        now: seconds since the epoch.
        monotonic: a clock for durations, in seconds.
        max_wait_seconds: most that all waits together may take.
        timeout_seconds: for one request.
    """

    def __init__(
        self,
        api_url: str,
        graphql_url: str,
        token: str,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        max_wait_seconds: float = MOST_SECONDS,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._api_url = api_url.rstrip("/")
        self._graphql_url = graphql_url
        self._token = token
        self._sleep = sleep
        self._now = now
        self._monotonic = monotonic
        self._wait_left = max_wait_seconds
        self._timeout_seconds = timeout_seconds
        self._limits_met = 0
        self._last_write = float("-inf")
        self._writing = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._redact = redactor([token])

    async def get(self, path: str, parameters: Mapping[str, str | int] | None = None) -> Any:
        """GET a JSON value. `path` starts with a slash.

        Raises:
            GitHubRefused: there is none.
        """
        return (await self._ask("GET", self._url(path, parameters))).json()

    async def pages(
        self, path: str, parameters: Mapping[str, str | int] | None = None, most_pages: int = MOST_PAGES
    ) -> AsyncIterator[Any]:
        """GET all items of a list, or the pages themselves where they are mappings, a hundred items at a time.

        Raises:
            GitHubRefused: a page is missing, or the next one is on another host.
        """
        url = self._url(path, {"per_page": PER_PAGE, **(parameters or {})})
        for _ in range(most_pages):
            answer = await self._ask("GET", url)
            page = answer.json()
            for item in page if isinstance(page, list) else [page]:
                yield item
            found = _NEXT.search(answer.headers.get("link", ""))
            if found is None:
                return
            url = urljoin(url, found[1])
            if urlsplit(url)[:2] != urlsplit(self._api_url)[:2]:
                raise GitHubRefused(f"GET {path}: the next page is on another host; it is not followed")

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """POST; the answer's JSON value.

        Raises:
            GitHubRefused: it was not done, as far as is known.
        """
        return (await self._ask("POST", self._url(path), body)).json()

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """PATCH; the answer's JSON value.

        Raises:
            GitHubRefused: it was not done, as far as is known.
        """
        return (await self._ask("PATCH", self._url(path), body)).json()

    async def delete(self, path: str) -> None:
        """DELETE. What is gone already counts as deleted.

        Raises:
            GitHubRefused: it was not done, as far as is known.
        """
        try:
            await self._ask("DELETE", self._url(path))
        except GitHubRefused as error:
            if error.status != 404:
                raise

    async def graphql(self, query: str) -> Mapping[str, Any]:
        """Ask a GraphQL query; its `data`.

        Raises:
            GitHubRefused: there is none.
        """
        value = (await self._ask("POST", self._graphql_url, {"query": query}, write=False)).json()
        data = value.get("data") if isinstance(value, dict) else None
        if not isinstance(data, dict):
            errors = value.get("errors") if isinstance(value, dict) else None
            first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
            raise GitHubRefused(self._safe(f"GitHub's GraphQL API answered: {first.get('message') or 'nothing'}"))
        return data

    async def download(self, path: str, max_bytes: int) -> Answer:
        """GET a file that GitHub keeps on another host. The redirect is followed by hand: that host gets no token.

        Raises:
            GitHubRefused: it is not there, or larger than `max_bytes`.
        """
        answer = await self._ask("GET", self._url(path), max_bytes=max_bytes)
        for _ in range(3):
            target = urljoin(answer.url, answer.headers.get("location", ""))
            if answer.status not in (301, 302, 303, 307, 308) or urlsplit(target).scheme not in ("http", "https"):
                break
            answer = await self._ask("GET", target, max_bytes=max_bytes, authorized=False)
        if answer.status != 200:
            raise GitHubRefused(f"GET {path}: HTTP {answer.status} instead of a file", answer.status)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _url(self, path: str, parameters: Mapping[str, str | int] | None = None) -> str:
        query = f"?{urlencode(parameters)}" if parameters else ""
        return f"{self._api_url}{path}{query}"

    async def _ask(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        write: bool | None = None,
        max_bytes: int = LARGEST_ANSWER,
        authorized: bool = True,
    ) -> Answer:
        """Send a request, again where that makes sense, and return a good answer or a redirect."""
        started, failures = self._monotonic(), 0
        is_write = method in _WRITES if write is None else write
        while True:
            problem, answer, wait = "", None, None
            try:
                answer = await self._paced(is_write, method, url, body, max_bytes, authorized)
            except _NoAnswer as error:
                problem = str(error)
            if answer is not None and answer.status < 400:
                return answer
            if answer is not None:
                wait = limit_seconds(answer.status, answer.headers, answer.message, self._limits_met, self._now())
                if wait is not None:
                    self._limits_met += 1
                elif answer.status not in TRANSIENT:
                    raise self._refusal(method, url, answer)
                problem = f"HTTP {answer.status} {answer.message}"
            if wait is None:
                failures += 1
                elapsed = self._monotonic() - started
                wait = next_wait(POLICY, failures=failures, elapsed=elapsed, throttled=False, retry_after=None)
            status = answer.status if answer else 0
            if wait is None or wait > self._wait_left:
                gave_up = "" if wait is None else f"; waiting {wait:.0f} seconds more for it would be too long"
                raise GitHubRefused(self._safe(f"{method} {place(url)}: {problem.strip()}{gave_up}"), status)
            self._wait_left -= wait
            logger.info("%s", self._safe(f"{method} {place(url)}: {problem.strip()}; trying again in {wait:.0f} s"))
            await self._sleep(wait)

    async def _paced(
        self, is_write: bool, method: str, url: str, body: Mapping[str, Any] | None, max_bytes: int, authorized: bool
    ) -> Answer:
        """Send; writes one after the other, with a second between them."""
        if not is_write:
            return await self._send(method, url, body, max_bytes, authorized)
        async with self._writing:
            pause = self._last_write + SECONDS_BETWEEN_WRITES - self._monotonic()
            if pause > 0:
                await self._sleep(pause)
            try:
                return await self._send(method, url, body, max_bytes, authorized)
            finally:
                self._last_write = self._monotonic()

    async def _send(
        self, method: str, url: str, body: Mapping[str, Any] | None, max_bytes: int, authorized: bool
    ) -> Answer:
        import aiohttp  # noqa: PLC0415  (a configuration error does not pay for it)

        session = self._session or self._open_session()
        headers = {"Authorization": f"Bearer {self._token}"} if authorized else {}
        if authorized:
            headers |= {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        try:
            proxy = proxy_for(url)
            with through(proxy):
                async with (
                    asyncio.timeout(self._timeout_seconds),
                    session.request(
                        method, url, json=body, headers=headers, allow_redirects=False, proxy=proxy
                    ) as response,
                ):
                    content = await self._read(response, method, url, max_bytes)
                    found = {name.lower(): value for name, value in response.headers.items()}
                    return Answer(response.status, found, content, url)
        except ProxyFault as fault:
            if fault.passing:
                raise _NoAnswer(str(fault)) from None
            raise GitHubRefused(self._safe(f"{method} {place(url)}: {fault}")) from None
        except TimeoutError:
            raise _NoAnswer(f"no answer within {self._timeout_seconds:g} seconds") from None
        except aiohttp.ClientSSLError as error:
            hint = "for a private certificate authority, set SSL_CERT_FILE to a bundle inside of the workspace"
            raise GitHubRefused(self._safe(f"{method} {place(url)}: no secure connection: {error}; {hint}")) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _NoAnswer(f"{type(error).__name__}: {error}") from None

    async def _read(self, response: aiohttp.ClientResponse, method: str, url: str, max_bytes: int) -> bytes:
        pieces, size = [], 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > max_bytes:
                raise GitHubRefused(f"{method} {place(url)}: the answer is larger than {max_bytes:,} bytes")
            pieces.append(piece)
        return b"".join(pieces)

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(), limit=10),  # reads SSL_CERT_FILE
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"User-Agent": f"arksim-action/{__version__}"},
        )
        return self._session

    def _refusal(self, method: str, url: str, answer: Answer) -> GitHubRefused:
        text = self._safe(f"{method} {place(url)}: HTTP {answer.status} {answer.message}".strip())
        if answer.status in (401, 403):
            return PermissionMissing(text, answer.status, answer.headers.get("x-accepted-github-permissions", ""))
        return GitHubRefused(text, answer.status)

    def _safe(self, text: str) -> str:
        return log_text(one_line(self._redact(text), 500))


class _NoAnswer(Exception):
    """The connection failed or the answer came too late."""
