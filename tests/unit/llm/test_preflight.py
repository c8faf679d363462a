"""What the answers to a look-up and to a tiny question mean."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from arksim_ci.config.model import Provider
from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed
from arksim_ci.llm.preflight import preflight, shutdown_warnings
from arksim_ci.llm.server_error import ServerError, from_body

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
SETTINGS = ProviderSettings("openai", "gpt-5.1", "https://api.example/v1", "key-0123456789", "OPENAI_API_KEY")


def error(status: int, message: str, **fields: Any) -> ServerError:
    return from_body(status, {}, {"error": {"message": message, **fields}}, 0, ())


NO_PATH = from_body(404, {}, {"detail": "Not Found"}, 0, ())


async def run(
    look_up: object, ask: ServerError | None = None, provider: Provider = "openai"
) -> tuple[list[str], list[str]]:
    """Returns the warnings and what was requested."""
    requested: list[str] = []

    async def look() -> object:
        requested.append("look up")
        if isinstance(look_up, ServerError):
            raise look_up
        return look_up

    async def tiny() -> None:
        requested.append("ask")
        if ask is not None:
            raise ask

    settings = dataclasses.replace(SETTINGS, provider=provider)
    return await preflight(settings, "https://api.example/v1", look, tiny, lambda: NOW), requested


async def test_a_known_model_costs_no_question() -> None:
    assert await run({"id": "gpt-5.1", "object": "model"}) == ([], ["look up"])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_its_variable(status: int) -> None:
    with pytest.raises(PreflightFailed, match="refused the key in OPENAI_API_KEY"):
        await run(error(status, "Incorrect API key provided"))


@pytest.mark.parametrize(
    "unknown",
    [
        error(404, "The model `gpt-5.1` does not exist", code="model_not_found"),
        error(404, "model: gpt-5.1", type="not_found_error"),
        error(404, 'model "gpt-5.1" not found, try pulling it first'),
        error(410, "The model gpt-5.1 has been shut down"),
    ],
)
async def test_an_unknown_model_says_to_set_the_model(unknown: ServerError) -> None:
    with pytest.raises(PreflightFailed, match=r"does not know the model gpt-5\.1.*; set `model`"):
        await run(unknown)


@pytest.mark.parametrize(
    "inconclusive",
    [
        NO_PATH,
        error(404, "Invalid URL (GET /v1/models/gpt-5.1)"),
        error(405, "Method Not Allowed"),
        error(501, "not implemented"),
        error(403, "Missing scopes: api.model.read"),
    ],
)
async def test_a_server_that_cannot_look_models_up_is_asked_a_tiny_question(inconclusive: ServerError) -> None:
    assert await run(inconclusive) == ([], ["look up", "ask"])


async def test_a_web_page_instead_of_a_model_is_no_proof() -> None:
    assert await run(None) == ([], ["look up", "ask"])


async def test_azure_is_asked_at_once() -> None:
    assert await run({}, provider="azure") == ([], ["ask"])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (error(404, "The model does not exist", code="model_not_found"), "set `model`"),
        (NO_PATH, "check `base_url`"),
        (error(401, "no"), "OPENAI_API_KEY"),
        (error(400, "not a chat model"), "not a chat model"),
    ],
)
async def test_the_tiny_question_finds_the_same_faults(answer: ServerError, words: str) -> None:
    with pytest.raises(PreflightFailed, match=words):
        await run(NO_PATH, answer)


@pytest.mark.parametrize(
    "trouble",
    [
        ServerError("https://api.example/v1: the host name is not known; check base_url", retryable=True),
        error(503, "overloaded"),
        error(429, "You exceeded your current quota", code="insufficient_quota"),
        error(402, "pay first"),
    ],
)
async def test_an_outage_is_not_a_fault_of_the_configuration(trouble: ServerError) -> None:
    with pytest.raises(LLMUnavailable, match=str(trouble)[:20]):
        await run(trouble)


@pytest.mark.parametrize(
    ("date", "said"),
    [
        ("2027-04-01", None),
        ("2027-02-28", "2027-02-28 (in 90 days)"),
        ("2027-03-01", None),
        ("2026-12-01T00:00:00Z", "tomorrow"),
        ("2026-11-30", "today"),
        ("2026-01-01", "already"),
        (1798761600, "2027-01-01"),
        (None, None),
        ("soon", None),
        (float("nan"), None),
        (True, None),
        (10**30, None),
    ],
)
def test_a_model_that_is_about_to_go_is_a_warning(date: object, said: str | None) -> None:
    warnings = shutdown_warnings("gpt-5.1", date, NOW)
    assert (said is None) == (warnings == [])
    assert said is None or said in warnings[0]
