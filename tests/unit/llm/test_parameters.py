"""Which parameter an error is about, and what is done about it."""

from __future__ import annotations

from typing import Any

import pytest

from arksim_ci.llm.parameters import Parameters, refused_parameter
from arksim_ci.llm.server_error import ServerError, from_body

SENT = ("model", "messages", "max_tokens", "response_format", "prompt_cache_key")


def error(status: int, message: str = "", **fields: Any) -> ServerError:
    return from_body(status, {}, {"error": {"message": message, **fields}}, 0, ())


@pytest.mark.parametrize(
    ("server_error", "parameter"),
    [
        (error(400, "Unsupported parameter: 'max_tokens' is not supported", param="max_tokens"), "max_tokens"),
        (error(400, "Unknown parameter", param="prompt_cache_key", code="unknown_parameter"), "prompt_cache_key"),
        (error(400, "Invalid schema", param="response_format.json_schema.schema"), "response_format"),
        (error(400, "response_format is not available on this model"), "response_format"),
        (error(400, "This model does not support structured outputs."), "response_format"),
        (
            error(
                500,
                "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'input': 'json_schema'}]",
                type="internal_server_error",
            ),
            "response_format",
        ),
        (error(404, "No endpoints found that support the requested parameters: response_format"), "response_format"),
        (
            error(400, "This model's maximum context length is 4096 tokens. However, you requested 20000 tokens"),
            "max_tokens",
        ),
        (error(400, "too long", code="context_length_exceeded", param="messages"), "max_tokens"),
        (error(400, "The messages are malformed", param="messages"), None),
        (error(404, "The model does not exist", code="model_not_found"), None),
        (error(400, "temperature is not supported"), None),
        (error(429, "Rate limit reached; reduce max_tokens"), None),
        (error(401, "response_format needs another key"), None),
        (error(500, "upstream overloaded"), None),
        (ServerError("no answer within 60 s; response_format", retryable=True), None),
    ],
)
def test_the_parameter_that_an_error_is_about(server_error: ServerError, parameter: str | None) -> None:
    assert refused_parameter(server_error, SENT) == parameter


def test_a_field_of_fastapi_is_found() -> None:
    body = {"detail": [{"loc": ["body", "prompt_cache_key"], "msg": "Extra inputs are not permitted"}]}
    assert refused_parameter(from_body(422, {}, body, 0, ()), SENT) == "prompt_cache_key"


@pytest.mark.parametrize("message", ["tool use is not supported", "Function calling is disabled", "no tools here"])
def test_tools_have_many_names(message: str) -> None:
    assert refused_parameter(error(400, message), ("model", "messages", "tools", "tool_choice")) == "tools"


def test_an_output_limit_is_renamed_then_left_out() -> None:
    parameters = Parameters()
    fields = {"model": "m", "max_tokens": 5}
    parameters.refused("max_tokens", error(400, "Unsupported parameter: use 'max_completion_tokens'"))
    assert parameters.apply(fields) == {"model": "m", "max_completion_tokens": 5}
    parameters.refused("max_completion_tokens", error(400, "Unknown parameter"))
    assert parameters.apply(fields) == {"model": "m"}
    assert len(parameters.notes()) == 2


def test_an_output_limit_that_is_too_large_is_left_out_at_once() -> None:
    parameters = Parameters()
    parameters.refused("max_tokens", error(400, "max_tokens is too large: 16384; at most 4096"))
    assert parameters.apply({"max_tokens": 16384}) == {}


def test_what_fifty_questions_learn_is_noted_once() -> None:
    parameters = Parameters()
    for _ in range(50):
        parameters.refused("prompt_cache_key", error(400, "Unknown parameter"))
    assert parameters.notes() == ["The server refused the parameter prompt_cache_key; it was left out."]
