"""Builds the LLM of a run from its settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.client import LLM
from arksim_ci.llm.limits import Limits


def build_llm(
    settings: ProviderSettings,
    limits: Limits,
    *,
    timeout_seconds: float,
    cache_dir: Path | None = None,
    now: Callable[[], float] = time.time,
) -> LLM:
    """The LLM that answers a run's questions. Nothing is sent, and no SDK imported, before the first question.

    Args:
        settings: which provider, and how it is reached.
        limits: concurrency, retries, budget and usage.
        timeout_seconds: for one LLM request.
        cache_dir: folder of the judge's answers; None for no cache.
        now: seconds since the epoch.
    """
    if settings.provider == "offline":
        from arksim_ci.llm.offline import OfflineLLM  # noqa: PLC0415

        return OfflineLLM(admit=limits.admit)
    from arksim_ci.llm.openai import OpenAIClient  # noqa: PLC0415

    cache = None
    if cache_dir is not None:
        from arksim_ci.llm.cache import AnswerCache  # noqa: PLC0415

        identity = (settings.provider, settings.model, settings.base_url or "", settings.azure_deployment or "")
        cache = AnswerCache(cache_dir, identity)
    return OpenAIClient(settings, limits, timeout_seconds=timeout_seconds, cache=cache, now=now)
