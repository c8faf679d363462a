"""Reads the JSON of an LLM's answer: whole, in a fence or in prose; never guessed, never repaired here."""

from __future__ import annotations

import json
import math
import re
from typing import Final

_THINKING: Final = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE: Final = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPENING: Final = re.compile(r"[{\[]")
_LIKE_JSON: Final = re.compile(r"[{\[]\s*[\"{\[]")
_PLACES_TRIED: Final = 50
_DEEPEST: Final = 50
_LONGEST_PROSE: Final = 200_000


class NotJson(ValueError):
    """The text holds no single whole JSON value. The message is a sentence for the LLM."""


def without_thinking(text: str) -> str:
    """The text without the thoughts that some local models put in front of their answer."""
    return _THINKING.sub("", text, count=1)


def read_json(text: str) -> object:
    """The one JSON value in a text.

    The text is the value; or one fenced block holds it; or prose stands around one object or array.

    Raises:
        NotJson: there is none or more than one, or it is not valid: broken, a key twice, NaN or an infinite number.
    """
    text = text.strip()
    try:
        return _DECODER.decode(text)
    except NotJson:
        raise
    except (ValueError, RecursionError):
        pass
    fenced = [match.group(1).strip() for match in _FENCE.finditer(text[:_LONGEST_PROSE])]
    if len(fenced) == 1:
        try:
            return _DECODER.decode(fenced[0])
        except NotJson:
            raise
        except (ValueError, RecursionError):
            pass
    return _in_prose(text)


def _in_prose(text: str) -> object:
    if len(text) > _LONGEST_PROSE:
        raise NotJson("the answer is not JSON")
    values: list[object] = []
    position = 0
    for _ in range(_PLACES_TRIED):
        match = _OPENING.search(text, position)
        if match is None:
            break
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except NotJson:
            raise
        except (ValueError, RecursionError):
            if _LIKE_JSON.match(text, match.start()):  # a part of a broken value is not the answer
                raise NotJson("the answer is not whole JSON") from None
            position = match.start() + 1
            continue
        if value:  # prose has `[]` and `{}` of its own
            values.append(value)
    objects = [value for value in values if isinstance(value, dict)] or values
    if len(objects) == 1:
        return objects[0]
    raise NotJson("the answer holds more than one JSON value" if objects else "the answer is not JSON")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise NotJson(f"the answer has the key {json.dumps(key[:100])} twice in one object")
        result[key] = value
    return result


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotJson("the answer holds a number that is too large")
    return value


def _constant(text: str) -> object:
    raise NotJson(f"the answer holds {text}, which is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)


def whole_characters(value: object, levels: int = _DEEPEST) -> object:
    """The value with half characters (lone surrogates, which JSON can spell) replaced, so that it can be written as UTF-8.

    Raises:
        NotJson: it nests deeper than `levels`: not everything that handles it could follow.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, list | dict) and levels == 0:
        raise NotJson("the answer nests too deeply")
    if isinstance(value, list):
        return [whole_characters(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {str(whole_characters(key)): whole_characters(item, levels - 1) for key, item in value.items()}
    return value
