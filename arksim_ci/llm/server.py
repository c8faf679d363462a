"""The HTTP side of a provider: one `openai` client for the run. The package is imported when the first request is made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.providers import model_headers
from arksim_ci.llm.server_error import ServerError, from_body, from_response, safe_text

if TYPE_CHECKING:
    import openai
    from openai._types import RequestOptions

LARGEST_ANSWER: Final = 8 * 1024 * 1024
"""Bytes of an answer, unpacked; a larger one is cut off and is an error."""
_LARGEST_ERROR: Final = 64 * 1024
_UNREAD: bool = True
"""Leave the body to us."""


class AnswerTooLarge(Exception):
    """An answer was larger than `LARGEST_ANSWER`."""


class Server:
    """Sends requests to a provider, each under one time limit, and never retries.

    The untyped `post` costs a fifth of the CPU of `chat.completions.create`; the body is read here, so that its size is bounded.

    Parameters:
        settings: how the provider is reached.
        timeout_seconds: for one whole request, however slowly its answer drips.
        now: seconds since the epoch, for dates in headers.
    """

    def __init__(self, settings: ProviderSettings, timeout_seconds: float, now: Callable[[], float]) -> None:
        self._settings = settings
        self._timeout = timeout_seconds
        self._now = now
        self._client: openai.AsyncOpenAI | None = None
        self._secrets = (settings.api_key.strip(),) if settings.api_key else ()
        self._base_url = settings.base_url or ""

    @property
    def place(self) -> str:
        """Where requests go, for an error: without credentials, query or fragment."""
        try:
            parts = urlsplit(self._base_url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return "base_url"
        if not parts.hostname:
            return "base_url"
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"

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
        if self._client is not None:
            await self._client.close()

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
        import httpx2  # noqa: PLC0415
        import openai  # noqa: PLC0415

        options: RequestOptions = {
            "headers": {**headers, **self._authorization(headers)},
            "security": {"bearer_auth": True},
        }
        try:
            client = self._connected()
            response: Any
            if method == "GET":
                response = await client.get(
                    path, options=options, cast_to=httpx2.Response, stream=_UNREAD, stream_cls=openai.AsyncStream[Any]
                )
            else:
                response = await client.post(
                    path,
                    body=body,
                    options=options,
                    cast_to=httpx2.Response,
                    stream=_UNREAD,
                    stream_cls=openai.AsyncStream[Any],
                )
            try:
                return await _bounded(response, LARGEST_ANSWER)
            finally:
                await response.aclose()
        except openai.APIStatusError as error:
            raise from_response(
                error.status_code, error.response.headers, error.response.content, self._now(), self._secrets
            ) from None
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            causes = _chain(error)
            if any(isinstance(cause, httpx2.UnsupportedProtocol | ValueError | OverflowError) for cause in causes):
                raise self._unusable() from None
            raise ServerError(f"{self.place}: {_connection_cause(causes)}", retryable=True) from None
        except (ValueError, OverflowError, httpx2.InvalidURL):
            raise self._unusable() from None

    def _unusable(self) -> ServerError:
        """An error about the URL or the key; the library's own text may hold the URL's credentials."""
        cause = f"{self.place}: no request can be made with this base_url and key; check both"
        return ServerError(cause, retryable=False)

    def _authorization(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """Leave the usual header out where there is no key, or where another header carries it."""
        from openai import Omit  # noqa: PLC0415

        return {"Authorization": Omit()} if headers or not self._secrets else {}

    def _connected(self) -> openai.AsyncOpenAI:
        if self._client is None:
            self._client = self._connect()
        return self._client

    def _connect(self) -> openai.AsyncOpenAI:
        import openai  # noqa: PLC0415

        settings = self._settings
        http_client = openai.DefaultAioHttpClient(event_hooks={"response": [_bound_error]}, timeout=self._timeout)
        key = self._secrets[0] if self._secrets else "none"
        if settings.provider == "azure":
            return openai.AsyncAzureOpenAI(
                azure_endpoint=self._base_url,
                azure_deployment=settings.azure_deployment or settings.model,
                api_version=settings.azure_api_version,
                api_key=key,
                max_retries=0,
                timeout=self._timeout,
                http_client=http_client,
            )
        base_url, _, query = self._base_url.partition("?")
        account: dict[str, Any] = {
            name: settings.account_headers.get(name) or openai.Omit()
            for name in ("OpenAI-Organization", "OpenAI-Project")
        }
        return openai.AsyncOpenAI(
            base_url=base_url,
            default_query=dict(parse_qsl(query)),
            api_key=key,
            default_headers=account,
            max_retries=0,
            timeout=self._timeout,
            http_client=http_client,
        )


class _NotJson(ServerError):
    """An answer with HTTP 200 that is not JSON."""


async def _bounded(response: Any, largest: int) -> bytes:
    """Read a body as far as it may be long."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > largest:
            raise AnswerTooLarge
    return b"".join(parts)


async def _bound_error(response: Any) -> None:
    """Keep only the start of an error's body: the SDK reads it whole."""
    if response.status_code >= 400:
        import httpx2  # noqa: PLC0415

        whole = response.stream

        class Start(httpx2.AsyncByteStream):
            async def __aiter__(self) -> Any:
                left = _LARGEST_ERROR
                async for part in whole:
                    yield part[:left]
                    left -= len(part)
                    if left <= 0:
                        return

            async def aclose(self) -> None:
                await whole.aclose()

        response.stream = Start()


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what caused it, down to the first cause."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = getattr(cause, "os_error", None) or cause.__cause__ or cause.__context__
    return chain


def _connection_cause(causes: list[BaseException]) -> str:
    """What went wrong below: the SDK says "Request timed out." for a refused connection, too."""
    import aiohttp  # noqa: PLC0415

    for cause in causes:
        if isinstance(cause, aiohttp.ClientConnectorDNSError):
            return "the host name is not known; check base_url"
        if isinstance(cause, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
            return f"no secure connection: {safe_text(str(cause))}"
        if isinstance(cause, ConnectionRefusedError):
            return "the connection was refused; check base_url, and that the server runs"
        if isinstance(cause, aiohttp.ClientResponseError):  # its text may hold the URL's credentials
            return "the answer is broken HTTP"
    return f"the connection failed ({safe_text(str(causes[-1])) or type(causes[-1]).__name__})"
