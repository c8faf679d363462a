"""Checks key and model before anything is paid: looks the model up, and asks one tiny question where that is not possible."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import Final

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed
from arksim_ci.llm.providers import key_of
from arksim_ci.llm.server_error import ServerError

WARNED_DAYS: Final = 90
_NO_SUCH_PATH: Final = frozenset({404, 405, 501})


async def preflight(
    settings: ProviderSettings,
    place: str,
    look_up: Callable[[], Awaitable[object]],
    ask: Callable[[], Awaitable[object]],
    now: Callable[[], float],
) -> list[str]:
    """Check key and model. Returns warnings.

    Args:
        settings: how the provider is reached.
        place: the base URL, for errors.
        look_up: gets the model's description; raises `ServerError`.
        ask: sends one tiny chat request; raises `ServerError`.
        now: seconds since the epoch.

    Raises:
        PreflightFailed: the key is refused, the model is unknown, or nothing answers chat requests at this base URL.
        LLMUnavailable: the provider can't be reached, or not now.
    """
    if settings.provider != "azure":  # azure knows deployments, not models
        try:
            description = await look_up()
        except ServerError as error:
            if not _inconclusive(error, settings.model):
                raise _failure(error, settings, place) from None
        else:
            if isinstance(description, dict):
                return shutdown_warnings(settings.model, description.get("shutdown_date"), now())
    try:
        await ask()
    except ServerError as error:
        raise _failure(error, settings, place) from None
    return []


def _inconclusive(error: ServerError, model: str) -> bool:
    """Whether looking the model up told nothing: no such path here, or a key that may chat but not look."""
    return error.may_lack_scope or (error.status in _NO_SUCH_PATH and not names_unknown_model(error, model))


def names_unknown_model(error: ServerError, model: str) -> bool:
    """Whether an HTTP 404 is about the model, not about the path."""
    if error.status != 404:
        return False
    text = error.message.lower()
    about_path = any(word in text for word in ("url", "path", "route", "cannot get", "cannot post"))
    codes = error.code.lower()
    return "model_not_found" in codes or (not about_path and (model.lower() in text or "model" in text))


def _failure(error: ServerError, settings: ProviderSettings, place: str) -> PreflightFailed | LLMUnavailable:
    if error.key_refused:
        return PreflightFailed(f"{place} refused {key_of(settings)}: {error}")
    if names_unknown_model(error, settings.model) or error.status == 410:
        return PreflightFailed(f"{place} does not know the model {settings.model}: {error}; set `model`")
    if error.status in _NO_SUCH_PATH:
        return PreflightFailed(f"{place} does not answer chat requests: {error}; check `base_url`")
    if error.status is None and not error.retryable:
        return PreflightFailed(str(error))
    if not error.retryable and error.status not in {402, 429}:
        return PreflightFailed(f"{place} refused a request to the model {settings.model}: {error}")
    return LLMUnavailable(str(error))


def shutdown_warnings(model: str, shutdown_date: object, now: float) -> list[str]:
    """A warning where the model is shut down within 90 days. The date is ISO 8601 or seconds since the epoch."""
    day = _day(shutdown_date)
    if day is None:
        return []
    days = (day - datetime.fromtimestamp(now, UTC).date()).days
    if days > WARNED_DAYS:
        return []
    when = f"in {days} days" if days > 1 else "tomorrow" if days == 1 else "today" if days == 0 else "already"
    return [
        f"The model {model} is announced to shut down on {day.isoformat()} ({when}); choose another `model` in time."
    ]


def _day(value: object) -> date | None:
    try:
        if isinstance(value, str):
            return date.fromisoformat(value[:10])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).date()
    except (ValueError, OverflowError, OSError):
        pass
    return None
