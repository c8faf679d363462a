"""What a server answers instead of an answer, put into one sentence that a reader can act on and that holds no secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from arksim_ci.retry import asked_wait, llm_status_is_retryable

LONGEST_TEXT: Final = 300
_QUOTA: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_KEY_SHAPED: Final = re.compile(
    r"(?i)(?<![A-Za-z0-9])(?:sk|pk|rk|gsk|xai)-[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{20,}|bearer\s+\S+"
)


class ServerError(Exception):
    """A request that got no answer, or an error for an answer. The text is the cause.

    `status` is the HTTP status, None where there was none. `message`, `code` and `param` are the server's own words, cleaned.
    `retry_after` is how many seconds the server asks to wait. `retryable` says whether another try makes sense. The limiter
    notes how long the try took (`seconds`) and how many there were (`tries`).
    """

    def __init__(
        self,
        cause: str,
        *,
        retryable: bool,
        status: int | None = None,
        message: str = "",
        code: str = "",
        param: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(cause)
        self.retryable = retryable
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
        self.seconds = 0.0
        self.tries = 1

    @property
    def throttled(self) -> bool:
        """Whether the server wants fewer requests."""
        return self.status == 429 and self.retryable

    @property
    def key_refused(self) -> bool:
        """Whether the server does not accept the key. Google says so with HTTP 400."""
        about_key = "api key not valid" in self.message.lower() or "API_KEY_INVALID" in self.code
        return self.status == 401 or (self.status == 403 and not self._about_scopes) or about_key

    @property
    def may_lack_scope(self) -> bool:
        """Whether the key is good but may not list models: such a key can still chat."""
        return self.status in {401, 403} and self._about_scopes

    @property
    def _about_scopes(self) -> bool:
        return "scope" in self.message.lower()


def safe_text(text: str, secrets: tuple[str, ...] = (), longest: int = LONGEST_TEXT) -> str:
    """A server's text for a log or an error: no secret, nothing that looks like a key, one line, not long."""
    text = text[:20_000]
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = _KEY_SHAPED.sub("***", text)
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, now: float, secrets: tuple[str, ...]
) -> ServerError:
    """Read an HTTP error. `headers` has lower-case names, `now` is seconds since the epoch."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = text
    return from_body(status, headers, data, now, secrets)


def from_body(
    status: int, headers: Mapping[str, str], data: object, now: float, secrets: tuple[str, ...]
) -> ServerError:
    """The same from a parsed body: some gateways put an error into an answer with HTTP 200."""
    try:
        message, codes, param = _words(data)
    except RecursionError:  # it nests so deeply that it can be read, but not be written
        message, codes, param = "", frozenset[str](), ""
    message = safe_text(message, secrets, 2_000)
    quota = bool(_QUOTA & codes)
    said = safe_text(message)
    return ServerError(
        f"HTTP {status}: {said}" if said else f"HTTP {status}",
        retryable=llm_status_is_retryable(status) and not quota,
        status=status,
        message=message,
        code=" ".join(sorted(safe_text(code, secrets, 100) for code in codes)),
        param=safe_text(param, secrets, 100),
        retry_after=asked_wait(headers, now),
    )


def _words(data: object) -> tuple[str, frozenset[str], str]:
    """Message, codes and parameter of an error body, in any of the shapes that servers use."""
    if isinstance(data, list) and data:  # Google puts the error into a list
        data = data[0]
    if not isinstance(data, Mapping):
        return str(data) if data else "", frozenset(), ""
    error = data.get("error", data)
    if not isinstance(error, Mapping):
        return str(error), frozenset(), ""
    message = error.get("message") or error.get("detail") or data.get("detail") or data.get("message") or ""
    if not isinstance(message, str):  # FastAPI lists what it refused
        param = _refused_field(message)
        message = json.dumps(message, default=str)
    else:
        param = str(error.get("param") or "")
    codes = [error.get("code"), error.get("type"), error.get("status")]
    details = error.get("details")
    if isinstance(details, list):
        codes += [detail.get("reason") for detail in details if isinstance(detail, Mapping)]
    return message, frozenset(code for code in codes if isinstance(code, str) and code), param


def _refused_field(details: object) -> str:
    """The field that a validation error of FastAPI is about: `{"loc": ["body", "response_format", "type"], ...}`."""
    first = details[0] if isinstance(details, list) and details else None
    place = first.get("loc") if isinstance(first, Mapping) else None
    if isinstance(place, list) and len(place) > 1 and place[0] == "body":
        return str(place[1])
    return ""
