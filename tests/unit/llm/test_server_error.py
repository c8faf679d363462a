"""A server's error as one sentence without secrets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.llm.server_error import LONGEST_TEXT, ServerError, from_response, safe_text

KEY = "very-secret-key-0123456789"


def read(status: int, body: object, headers: dict[str, str] | None = None) -> ServerError:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return from_response(status, headers or {}, content, 0, (KEY,))


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ({"error": {"message": "too busy", "type": "server_error"}}, "HTTP 503: too busy"),
        ({"error": "too busy"}, "HTTP 503: too busy"),
        ([{"error": {"code": 503, "message": "too busy"}}], "HTTP 503: too busy"),
        ({"message": "too busy"}, "HTTP 503: too busy"),
        ({"detail": "too busy"}, "HTTP 503: too busy"),
        (b"<h1>too\nbusy</h1>", "HTTP 503: <h1>too busy</h1>"),
        (b"", "HTTP 503"),
        (b"\xff\xfe", "HTTP 503: \ufffd\ufffd"),
        ({"error": None}, "HTTP 503: None"),
    ],
)
def test_the_cause_is_found_in_every_shape(body: object, cause: str) -> None:
    assert str(read(503, body)) == cause


def test_the_field_of_a_validation_error_is_found() -> None:
    error = read(422, {"detail": [{"loc": ["body", "response_format", "type"], "msg": "bad"}]})
    assert error.param == "response_format"


def test_no_key_gets_into_an_error() -> None:
    error = read(
        400, {"error": {"message": f"{KEY} and sk-abcdefghijkl and Bearer abc.def", "code": KEY, "param": KEY}}
    )
    text = f"{error} {error.message} {error.code} {error.param}"
    assert KEY not in text
    assert "sk-abcdefghijkl" not in text
    assert "abc.def" not in text


@given(text=st.text())
def test_a_text_becomes_one_short_line(text: str) -> None:
    cleaned = safe_text(text + KEY, (KEY,))
    assert len(cleaned) <= LONGEST_TEXT
    assert cleaned.isprintable()
    assert KEY not in cleaned


@pytest.mark.parametrize(
    ("status", "body", "refused"),
    [
        (401, {"error": {"message": "Incorrect API key provided"}}, True),
        (403, {"error": {"message": "forbidden"}}, True),
        (403, {"error": {"message": "Missing scopes: api.model.read"}}, False),
        (
            400,
            [{"error": {"message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}],
            True,
        ),
        (400, {"error": {"message": "bad request"}}, False),
        (500, {"error": {"message": "oops"}}, False),
    ],
)
def test_a_refused_key_is_known(status: int, body: object, refused: bool) -> None:
    assert read(status, body).key_refused is refused


def test_a_used_up_quota_is_no_throttling() -> None:
    error = read(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})
    assert not error.retryable
    assert not error.throttled
    assert read(429, {"error": {"message": "slow down"}}).throttled


def test_what_the_server_asks_to_wait_is_read() -> None:
    assert read(503, {}, {"retry-after": "4"}).retry_after == 4


@pytest.mark.parametrize("shape", ['{"error": {"message": %s}}', '{"detail": %s}', '{"error": %s}', "%s"])
def test_an_error_that_nests_however_deeply_is_an_error(shape: str) -> None:
    for levels in range(900, 1_010):
        body = shape % ("[" * levels + "]" * levels)
        assert from_response(400, {}, body.encode(), 0, ()).status == 400
