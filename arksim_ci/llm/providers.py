"""What differs between providers on the wire. See each provider's documentation of its OpenAI-compatible API."""

from __future__ import annotations

from collections.abc import Mapping

from arksim_ci.config.model import Provider
from arksim_ci.config.providers import ProviderSettings


def key_of(settings: ProviderSettings) -> str:
    """The key in words, for an error: where it comes from."""
    return f"the key in {settings.api_key_variable}" if settings.api_key_variable else "the API key"


def model_headers(settings: ProviderSettings) -> Mapping[str, str]:
    """Headers that looking up a model needs: Anthropic's `GET /v1/models/{id}` is not part of its compatible layer."""
    if settings.provider == "anthropic" and settings.api_key:
        return {"x-api-key": settings.api_key, "anthropic-version": "2023-06-01"}
    return {}


def output_limit_name(provider: Provider) -> str:
    """The parameter that limits the length of an answer. OpenAI's reasoning models know only the newer name."""
    return "max_completion_tokens" if provider in {"openai", "azure"} else "max_tokens"
