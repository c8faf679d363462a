"""HTTP for artifacts: one request, made again where that can help, with nothing secret in any text that comes out of it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from arksim_ci import __version__
from arksim_ci.config.proxy import ProxyFault, proxy_for, through
from arksim_ci.github.addresses import place
from arksim_ci.reports.safe_text import log_text, one_line
from arksim_ci.retry import ARTIFACT_RETRYABLE, RetryPolicy, retry_after_seconds, wait_seconds

if TYPE_CHECKING:
    from types import TracebackType

    import aiohttp

_log = logging.getLogger(__name__)

POLICY: Final = RetryPolicy(attempts=5, base_seconds=3.0, cap_seconds=15.0, total_seconds=120.0)
MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
TIMEOUT_SECONDS: Final = 60.0


class NoAnswer(Exception):
    """No answer came, however often it was asked. The text says from where and why, without secrets."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. `headers` has lower-case names.

    `sent_before` says that an earlier try of the same request can have reached the server: its connection broke, or the
    server failed on it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(default=b"", repr=False)
    sent_before: bool = False

    @property
    def ok(self) -> bool:
        """Whether the status says success."""
        return 200 <= self.status < 300

    def json_object(self) -> dict[str, object] | None:
        """The body as a JSON object; None where it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def reason(self) -> str:
        """The server's words about a failure, on one short line."""
        said = self.json_object() or {}
        words = said.get("msg") or said.get("message") or said.get("error") or _azure_code(self.body)
        return f"HTTP {self.status}" + (f": {_one_line(str(words))}" if words else "")


class ArtifactHttp:
    """A connection pool for the requests of one upload or download: `async with ArtifactHttp() as http`.

    Redirects are never followed and cookies never kept. Requests here may all be made twice.
    """

    def __init__(
        self,
        *,
        policy: RetryPolicy = POLICY,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Prepare.

        Args:
            policy: how often and how patiently a request is made again.
            sleep: waits some seconds.
            now: seconds since the epoch, for a Retry-After that is a date.
        """
        self._policy = policy
        self._sleep = sleep
        self._now = now
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> ArtifactHttp:
        import aiohttp  # noqa: PLC0415  (loaded when the first artifact moves)

        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"User-Agent": f"arksim-action/{__version__}", "Accept-Encoding": "identity"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session:
            await self._session.close()

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout_seconds: float = TIMEOUT_SECONDS,
        is_final: Callable[[Answer], bool] = lambda answer: False,
    ) -> Answer:
        """Make a request, again after a broken connection, a time-out or a status that may pass.

        Args:
            method: `GET`, `PUT`, `POST`.
            url: sent exactly as it is.
            headers: of the request.
            body: of the request.
            timeout_seconds: for one try.
            is_final: whether a failure that looks as if it may pass will not.

        Returns:
            The last answer, whatever its status.

        Raises:
            NoAnswer: no try was answered, or an answer is larger than any that belongs here.
        """
        sent_before = False
        waited = 0.0
        for retries in range(self._policy.attempts):
            answer: Answer | None = None
            retry_after = None
            try:
                answer = await self._once(method, url, headers, body, timeout_seconds, sent_before)
                if answer.status not in ARTIFACT_RETRYABLE or is_final(answer):
                    return answer
                cause = answer.reason()
                retry_after = retry_after_seconds(answer.headers.get("retry-after"), self._now())
                sent_before = sent_before or answer.status != 429
            except _Broken as broken:
                cause = str(broken)
                sent_before = sent_before or broken.reached
            pause = wait_seconds(self._policy, retries, retry_after)
            waited += pause
            if retries + 1 == self._policy.attempts or waited > self._policy.total_seconds:
                if answer is not None:
                    return answer
                raise NoAnswer(f"no answer from {place(url)}: {cause} (tried {retries + 1} times)")
            _log.info("%s %s: %s; trying again in %.1f s", method, place(url), cause, pause)
            await self._sleep(pause)
        raise AssertionError("a policy has at least one attempt")

    async def _once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        sent_before: bool,
    ) -> Answer:
        import aiohttp  # noqa: PLC0415
        import yarl  # noqa: PLC0415

        if self._session is None:
            raise RuntimeError("requests are made inside `async with`")
        try:
            proxy = proxy_for(url)
            with through(proxy):
                async with (
                    asyncio.timeout(timeout_seconds),
                    self._session.request(
                        method,
                        yarl.URL(url, encoded=True),
                        headers=headers,
                        data=io.BytesIO(body) if body else None,
                        allow_redirects=False,
                        proxy=proxy,
                    ) as response,
                ):
                    text = await _read(response, url)
                    found = {name.lower(): value for name, value in response.headers.items()}
                    return Answer(response.status, found, text, sent_before)
        except ProxyFault as fault:
            if fault.passing:
                raise _Broken(f"can't connect ({fault})", reached=False) from None
            raise NoAnswer(f"no answer from {place(url)}: {fault}") from None
        except TimeoutError:
            raise _Broken(f"nothing within {timeout_seconds:g} seconds", reached=True) from None
        except aiohttp.ClientConnectorError as error:
            raise _Broken(
                f"can't connect ({_one_line(error.strerror or type(error).__name__)})", reached=False
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise _Broken(f"the connection broke ({type(error).__name__})", reached=True) from None
        except ValueError as error:  # an address that is none
            raise NoAnswer(f"{place(url)} can't be asked: {type(error).__name__}") from None


class _Broken(Exception):
    """A try without an answer. `reached` says that the server can have got the request."""

    def __init__(self, cause: str, *, reached: bool) -> None:
        self.reached = reached
        super().__init__(cause)


async def _read(response: aiohttp.ClientResponse, url: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise NoAnswer(f"{place(url)} answered with more than {MAX_ANSWER_BYTES:,} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _azure_code(body: bytes) -> str:
    """The code of an error of Azure's storage, which answers in XML."""
    found = re.search(rb"<Code>([A-Za-z]{1,80})</Code>", body)
    return found[1].decode() if found else ""


def _one_line(text: str) -> str:
    """The start of a server's words, safe for the log and without addresses: they can be signed."""
    return log_text(one_line(re.sub(r"\w+://\S+", "(an address)", text), 300))
