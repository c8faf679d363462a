"""Secrets are replaced before anything is written, sent or shown, in every spelling in which they could leak."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import quote, quote_plus

REPLACEMENT: Final = "***"
SHORTEST: Final = 8
"""A shorter value is not replaced: it would tear harmless text apart."""


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that replaces every secret of at least `SHORTEST` characters by `***`.

    Each is found raw, JSON-escaped, HTML-escaped, URL-encoded, and base64-encoded at any of the three positions that it can have in
    a longer base64 text.
    """
    spellings = {
        spelling
        for secret in secrets
        if len(secret) >= SHORTEST
        for spelling in _spellings(secret)
        if len(spelling) >= 6
    }
    if not spellings:
        return str
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return lambda text: pattern.sub(REPLACEMENT, text)


def redact_json(value: Any, redact: Callable[[str], str]) -> Any:
    """A JSON value with every text in it redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_json(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(key): redact_json(item, redact) for key, item in value.items()}
    return value


def _spellings(secret: str) -> Iterable[str]:
    yield secret
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    yield html.escape(secret)
    for encoded in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)
    raw = secret.encode("utf-8", "replace")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            yield _determined(encode(b"\0" * offset + raw).decode().rstrip("="), offset, len(raw))


def _determined(encoded: str, offset: int, length: int) -> str:
    """The base64 characters that the secret alone decides, whatever stands before and after it.

    A character carries six bits; those that also carry bits of a neighbour are left out.
    """
    first = -(-offset * 8 // 6)
    last = (offset + length) * 8 // 6
    return encoded[first:last]
