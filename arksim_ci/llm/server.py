"""The HTTP side of a provider: one connection pool for the run. `aiohttp` is imported when the first request is made."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urljoin, urlsplit

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.config.proxy import ProxyFault, proxy_for, through
from arksim_ci.llm.providers import model_headers
from arksim_ci.llm.server_error import ServerError, from_body, from_response, safe_text

if TYPE_CHECKING:
    import aiohttp

LARGEST_ANSWER: Final = 8 * 1024 * 1024
"""Bytes of an answer, unpacked; a larger one is cut off and is an error."""
_LARGEST_ERROR: Final = 64 * 1024
_MOST_CONNECTIONS: Final = 1000
_KEEP_ALIVE_SECONDS: Final = 4.0
"""Shorter than servers keep idle connections (5 s and more), so that a request is not sent into a closing one."""
_AZURE_API: Final = re.compile(r"/openai(/v1)?/*$")
"""How Azure's portal may show an endpoint: with the beginning of the API's own path."""
_HEADERS: Final = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "arksim-ci"}


class AnswerTooLarge(Exception):
    """An answer was larger than `LARGEST_ANSWER`."""


class Server:
    """Sends requests to a provider, each under one time limit, and never retries.

    `aiohttp` alone: the `openai` package over the same `aiohttp` took nearly three times the CPU for a request, and 0.3 s more at the start.

    Parameters:
        settings: how the provider is reached.
        timeout_seconds: for one whole request, however slowly its answer drips.
        now: seconds since the epoch, for dates in headers.
    """

    def __init__(self, settings: ProviderSettings, timeout_seconds: float, now: Callable[[], float]) -> None:
        self._settings = settings
        self._timeout = timeout_seconds
        self._now = now
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None
        self._secrets = (settings.api_key.strip(),) if settings.api_key else ()
        self._base_url = settings.base_url or ""

    @property
    def place(self) -> str:
        """Where requests go, for an error."""
        return _place(self._base_url) or "base_url"

    async def chat(self, body: Mapping[str, Any]) -> Mapping[str, object]:
        """Ask for a chat completion. Returns the parsed body of the answer.

        Raises:
            ServerError: an HTTP error, no answer in time, a broken connection, or an answer that is not JSON.
            AnswerTooLarge: it was.
        """
        data = await self._request("POST", "/chat/completions", body, {})
        if not isinstance(data, dict):
            raise ServerError(f"{self.place} answers with something that is not a chat completion", retryable=True)
        if data.get("error") and not data.get("choices"):  # gateways put an upstream's error into HTTP 200
            error = data["error"]
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise from_body(status, {}, data, self._now(), self._secrets)
        return data

    async def get_model(self) -> object:
        """Look the model up. Returns the parsed body, or None where that is not JSON.

        Raises:
            ServerError: as for `chat`.
        """
        path = f"/models/{quote(self._settings.model, safe='/:@')}"
        try:
            return await self._request("GET", path, None, model_headers(self._settings))
        except (_NotJson, AnswerTooLarge):
            return None

    async def close(self) -> None:
        """Close connections."""
        if self._session is not None:
            await self._session.close()

    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> object:
        try:
            async with asyncio.timeout(self._timeout):
                content = await self._send(method, path, body, headers)
        except TimeoutError:
            raise ServerError(f"{self.place} gave no answer within {self._timeout:g} s", retryable=True) from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            start = safe_text(content[:20_000].decode("utf-8", "replace"), self._secrets, 80)
            raise _NotJson(
                f"{self.place} answers with something that is not JSON; check base_url: {start}", retryable=True
            ) from None

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> bytes:
        import aiohttp  # noqa: PLC0415

        try:
            session = self._connected()
            data = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            with through(self._proxy):
                async with session.request(
                    method,
                    self._url(path),
                    data=data,
                    headers={**_HEADERS, **(headers or self._authorization())},
                    allow_redirects=False,  # the key is for base_url alone
                    proxy=self._proxy,
                ) as response:
                    if response.status < 300:
                        return await _bounded(response, LARGEST_ANSWER)
                    if response.status < 400:
                        raise self._redirected(response)
                    start = await _start(response, _LARGEST_ERROR)
                    lower = {name.lower(): value for name, value in response.headers.items()}
                    raise from_response(response.status, lower, start, self._now(), self._secrets)
        except ProxyFault as fault:
            raise ServerError(f"{self.place}: {fault}", retryable=fault.passing) from None
        except aiohttp.ClientConnectorCertificateError as error:  # a ValueError, too
            cause = f"no secure connection: {safe_text(str(error.certificate_error))}"
            hint = "for a private certificate authority, set SSL_CERT_FILE to its certificates"
            raise ServerError(f"{self.place}: {cause}; {hint}", retryable=False) from None
        except (ValueError, OverflowError, aiohttp.NonHttpUrlClientError):
            # An address that is none, or one with credentials beside a key.
            raise self._unusable() from None
        except (aiohttp.ClientError, OSError) as error:
            raise ServerError(f"{self.place}: {_connection_cause(_chain(error))}", retryable=True) from None

    def _redirected(self, response: aiohttp.ClientResponse) -> ServerError:
        location = response.headers.get("Location")
        target = safe_text(_place(self._base_url, location), self._secrets) if location else ""
        cause = f"HTTP {response.status}: {self.place} redirects to {target or 'no address'}; set base_url to where the API is"
        return ServerError(cause, retryable=False, status=response.status)

    def _unusable(self) -> ServerError:
        """An error about the URL or the key; the library's own text may hold the URL's credentials."""
        cause = f"{self.place}: no request can be made with this base_url and key; check both"
        return ServerError(cause, retryable=False)

    def _authorization(self) -> Mapping[str, str]:
        """The headers that carry the key; none where there is none."""
        if not self._secrets:
            return {}
        if self._settings.provider == "azure":
            return {"api-key": self._secrets[0]}
        return {"Authorization": f"Bearer {self._secrets[0]}", **self._settings.account_headers}

    def _url(self, path: str) -> str:
        base_url, _, query = self._base_url.partition("#")[0].partition("?")
        settings = self._settings
        if settings.provider == "azure":
            base_url = _AZURE_API.sub("", base_url)
            path = f"/openai/deployments/{quote(settings.azure_deployment or settings.model, safe='')}{path}"
            query = f"api-version={quote(settings.azure_api_version or '')}"
        return f"{base_url.rstrip('/')}{path}{'?' if query else ''}{query}"

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp  # noqa: PLC0415

            self._proxy = proxy_for(self._base_url)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_MOST_CONNECTIONS, keepalive_timeout=_KEEP_ALIVE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session


class _NotJson(ServerError):
    """An answer with HTTP 200 that is not JSON."""


def _place(url: str, relative: str = "") -> str:
    """An address, or what is relative to it, without credentials, query or fragment; "" where it is none."""
    try:
        parts = urlsplit(urljoin(url, relative))
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}" if host else ""


async def _bounded(response: aiohttp.ClientResponse, largest: int) -> bytes:
    """Read a body as far as it may be long."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > largest:
            raise AnswerTooLarge
    return b"".join(parts)


async def _start(response: aiohttp.ClientResponse, length: int) -> bytes:
    """The first bytes of a body."""
    start = b""
    async for part in response.content.iter_any():
        start += part
        if len(start) >= length:
            break
    return start[:length]


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what caused it, down to the first cause."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = getattr(cause, "os_error", None) or cause.__cause__ or cause.__context__
    return chain


def _connection_cause(causes: list[BaseException]) -> str:
    """What went wrong below, in words that name what to check."""
    import aiohttp  # noqa: PLC0415

    for cause in causes:
        if isinstance(cause, aiohttp.ClientConnectorDNSError):
            return "the host name is not known; check base_url"
        if isinstance(cause, aiohttp.ClientSSLError):
            return f"no secure connection: {safe_text(str(cause))}"
        if isinstance(cause, ConnectionRefusedError):
            return "the connection was refused; check base_url, and that the server runs"
        if isinstance(cause, aiohttp.ClientPayloadError):
            return "the answer breaks off, or can't be unpacked"
        if isinstance(cause, aiohttp.ClientResponseError):  # its text may hold the URL's credentials
            return "the answer is broken HTTP"
    return f"the connection failed ({safe_text(str(causes[-1])) or type(causes[-1]).__name__})"
