"""Secrets are replaced before anything is written, sent or shown, in every spelling in which they could leak."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote, quote_plus

REPLACEMENT: Final = "***"
SHORTEST: Final = 8
"""A shorter value is not replaced: it would tear harmless text apart."""
_CUT: Final = re.compile(r"\s?(?:…|\.\.\.)")
"""How a text ends that was cut, by us or by others."""


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that replaces every secret of at least `SHORTEST` characters by `***`.

    Each is found raw, JSON-escaped, as Python's `repr` writes it, HTML-escaped, URL-encoded, and base64-encoded at any of the three positions that it can have in
    a longer base64 text. Where a text was cut (`…`, `...`) in the middle of a secret, the beginning that is left is replaced, too.
    """
    spellings = {
        spelling
        for secret in secrets
        for part in {secret, *secret.splitlines()}  # logs show it line by line
        if len(part) >= SHORTEST
        for spelling in _spellings(part)
        if len(spelling) >= 6
    }
    if not spellings:
        return str
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    pattern = re.compile("|".join(map(re.escape, longest_first)))

    def redact(text: str) -> str:
        text = pattern.sub(REPLACEMENT, text)
        maybe_cut = "…" in text or "..." in text  # a twentieth of what the pattern's search takes
        return _without_beginnings(text, longest_first) if maybe_cut else text

    return redact


def _without_beginnings(text: str, spellings: Sequence[str]) -> str:
    """Replace what is left of a secret where the text was cut in the middle of it."""
    longest = len(spellings[0])
    pieces: list[str] = []
    done = 0
    for mark in _CUT.finditer(text):
        before = text[max(done, mark.start() - longest) : mark.start()]
        kept = min((_beginning(before, spelling) for spelling in spellings), default=len(before))
        if kept < len(before):
            pieces += [text[done : mark.start() - len(before) + kept], REPLACEMENT]
            done = mark.start()
    return "".join([*pieces, text[done:]])


def _beginning(text: str, spelling: str) -> int:
    """Where a beginning of the spelling stands at the end of the text; the text's length where there is none."""
    at = text.rfind(spelling[:SHORTEST])
    return at if at >= 0 and spelling.startswith(text[at:]) else len(text)


def redact_json(value: Any, redact: Callable[[str], str]) -> Any:
    """A JSON value with every text in it redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        return [redact_json(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(key): redact_json(item, redact) for key, item in value.items()}
    return value


def _spellings(secret: str) -> Iterable[str]:
    yield secret
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    yield repr(secret)[1:-1]
    yield html.escape(secret)
    raw = secret.encode("utf-8", "replace")  # a variable may hold bytes that are no UTF-8
    yield raw.decode()
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)
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
