"""A secret is found in every spelling; harmless text stays readable."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.redaction import SHORTEST, redact_json, redactor


@given(
    secret=st.text(st.characters(codec="utf-8"), min_size=8, max_size=60),
    before=st.binary(max_size=7),
    after=st.binary(),
)
def test_no_spelling_of_a_secret_survives(secret: str, before: bytes, after: bytes) -> None:
    redact = redactor([secret])
    for spelling in (secret, json.dumps(secret)[1:-1], html.escape(secret), quote(secret, safe="")):
        assert spelling not in redact(f"x{spelling}x")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = redact(encode(before + secret.encode() + after).decode())
        assert "***" in text


def test_harmless_text_stays_readable() -> None:
    redact = redactor(["sk-1234567890", "short", "Bearer sk-1234567890"])
    assert redact("application/json with a short word") == "application/json with a short word"
    assert redact("key=sk-1234567890, Authorization: Bearer sk-1234567890") == "key=***, Authorization: ***"


def test_without_secrets_nothing_changes() -> None:
    assert redactor([])("text") == "text"


@pytest.mark.parametrize("mark", ["…", " ...", "... (cut)", "… (+1,204 characters)"])
@pytest.mark.parametrize("secret", ["sk-1234567890abcdef", 'with"quotes"&<b>/+x'])
def test_the_beginning_of_a_secret_that_was_cut_is_replaced(mark: str, secret: str) -> None:
    redact = redactor([secret, "another-secret"])
    for spelling in (secret, json.dumps(secret)[1:-1], quote(secret, safe="")):
        for length in range(SHORTEST, len(spelling)):
            assert redact(f"key={spelling[:length]}{mark} and on") == f"key=***{mark} and on"
    assert redact(f"key={secret[:4]}{mark}") == f"key={secret[:4]}{mark}"
    assert redact(f"{secret[:9]} x{mark}") == f"{secret[:9]} x{mark}"


def test_values_of_every_kind_are_walked_through() -> None:
    redact = redactor(["sk-1234567890"])
    value = {"sk-1234567890": [("sk-1234567890", 1), {"a": None}], "b": 2.5}
    assert redact_json(value, redact) == {"***": [["***", 1], {"a": None}], "b": 2.5}


def test_each_line_of_a_secret_is_one() -> None:
    redact = redactor(["-----BEGIN-----\nfirst_line_of_it\r\nshort\nlast_line_of_it"])
    assert redact("first_line_of_it") == "***"
    assert redact("last_line_of_it and short") == "*** and short"
    assert "line_of_it" not in redact(json.dumps("-----BEGIN-----\nfirst_line_of_it\r\nshort\nlast_line_of_it"))


@pytest.mark.parametrize("secret", ["p\udce4ss-w\udcf6rd", "half \ud83d of a pair"])
def test_a_secret_that_is_no_utf_8_is_found_as_it_is_and_as_files_hold_it(secret: str) -> None:
    redact = redactor([secret])
    for text in (secret, secret.encode("utf-8", "replace").decode(), json.dumps(secret)[1:-1]):
        assert redact(f"x {text} y") == "x *** y"
