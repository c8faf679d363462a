"""Whatever the user's Python gives, as plain JSON data. Runs in the worker process: standard library only."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 40
"""Deeper nesting is cut: the reader of the JSON could not follow it."""
LARGEST_INTEGER = 10**299
"""Files with larger ones could not be read again."""


def plain(value: Any, depth: int = 0) -> Any:  # noqa: PLR0911 - one a kind
    """Turn a value into JSON data: models become dictionaries, what JSON can't hold becomes text.

    Lone surrogates, which no file can hold, become `?`; numbers that are not finite become text, and so do
    integers from `LARGEST_INTEGER` on: hexadecimal, as Python writes no more than 4,300 digits.
    """
    if depth > MAX_DEPTH:
        return "..."
    if isinstance(value, enum.Enum):
        return plain(value.value, depth + 1)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < LARGEST_INTEGER else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(), depth + 1)
    return clean(str(value))


def clean(text: str) -> str:
    """The text without lone surrogates."""
    return str.encode(text, "utf-8", "replace").decode("utf-8")
