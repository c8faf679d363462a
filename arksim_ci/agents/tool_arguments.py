"""The arguments of a tool call, as our files can hold them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

DEEPEST: Final = 50
"""How deep arguments may nest. Deeper ones are kept as text: writing them would fail."""
LARGEST_CHARACTERS: Final = 1_000_000
"""How long arguments may be as JSON. Of longer ones the beginning is kept."""
LARGEST_INTEGER: Final = 10**299
"""Files with larger ones could not be read again."""
UNREADABLE: Final = "_raw"
"""The key under which arguments are kept as text that can't be kept as they are."""
_BEGINNING: Final = 1_000


def storable_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, or a note in their place where they nest too deeply, are too long, or hold a number that JSON does not know.

    The note is `{"_raw": ...}`: their text, or of a long one the beginning and how long it was. An assertion on such a call fails,
    and shows it.
    """
    if not fits(arguments):
        return {UNREADABLE: _shortened(_text(arguments))}
    text = _text(arguments)
    return dict(arguments) if len(text) <= LARGEST_CHARACTERS else {UNREADABLE: _shortened(text)}


def fits(value: object, levels: int = DEEPEST) -> bool:
    """Whether a value nests no deeper than `levels` and holds only numbers that can be read again."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < LARGEST_INTEGER
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return levels > 0 and all(fits(item, levels - 1) for item in inner)


def _text(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False, default=str)
    except RecursionError:
        return "(arguments that nest too deeply to be shown)"


def _shortened(text: str) -> str:
    if len(text) <= LARGEST_CHARACTERS:
        return text
    return f"{text[:_BEGINNING]}… ({len(text):,} characters in all, cut)"
