"""Turns what pydantic finds wrong into problems that a person can act on: what was found, what is allowed, the nearest name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from arksim_ci.config.describe import allowed_at, members, model_of, nearest, plain, type_text, unknown_name
from arksim_ci.config.document import ABSENT, KeyPath, child

Model = TypeVar("Model", bound=BaseModel)

SECRET_WORDS = ("authorization", "cookie", "key", "token", "secret", "password")
"""Words in a name that say that its value must not be shown."""

_SHOWN_CHARACTERS = 60
_MANY = 20
_ALL_KEYS = "https://github.com/org/arksim-action/blob/main/docs/configuration.md"
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*%?")


class Mistake:
    """One thing that is wrong with a value: where, and in words. `missing` and `unknown` tell its kind."""

    def __init__(self, path: KeyPath, message: str, kind: str) -> None:
        self.path = path
        self.message = message
        self.missing = kind == "missing"
        self.unknown = kind == "extra_forbidden"


def mistakes(
    error: ValidationError, values: object, model: type[BaseModel], hide: Callable[[KeyPath], bool]
) -> list[Mistake]:
    """List what is wrong, one mistake a place, in the order of the model.

    Args:
        error: what pydantic raised.
        values: what was validated.
        model: the model that it was validated against.
        hide: tells at which places a value must not be shown.
    """
    found: dict[KeyPath, Mistake] = {}
    for detail in error.errors(include_url=False):
        path = _real_path(detail["loc"], values, detail["type"])
        if path not in found:
            found[path] = Mistake(path, _message(detail, path, model, hide(path)), detail["type"])
    paths = list(found)
    return [mistake for path, mistake in found.items() if not any(_below(other, path) for other in paths)]


def show(value: object) -> str:
    """A found value in a message: short, on one line, without what is inside of a mapping or list."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    text = "".join(character if character.isprintable() else " " for character in text)
    return f'"{text}"' if isinstance(value, str) else text


def is_secret_name(name: str) -> bool:
    """Whether a header or key of this name holds a secret."""
    return any(word in name.casefold() for word in SECRET_WORDS)


def _below(path: KeyPath, above: KeyPath) -> bool:
    return len(path) > len(above) and path[: len(above)] == above


def _real_path(loc: tuple[int | str, ...], values: object, kind: str) -> KeyPath:
    """Take pydantic's own names of union members out of a location."""
    path: list[int | str] = []
    value = values
    for position, part in enumerate(loc):
        inner = child(value, part)
        if inner is not ABSENT:
            value = inner
            path.append(part)
        elif kind == "missing" and position == len(loc) - 1:
            path.append(part)
    return tuple(path)


def _message(detail: Mapping[str, Any], path: KeyPath, model: type[BaseModel], hidden: bool) -> str:
    annotation = allowed_at(path, model)
    if detail["type"] == "extra_forbidden":
        holder = model_of(allowed_at(path[:-1], model))
        known = list(holder.model_fields) if holder else []
        if len(known) > _MANY:
            return f"unknown key{nearest(str(path[-1]), known) or f'; all keys: {_ALL_KEYS}'}"
        return f"unknown key{unknown_name(str(path[-1]), known)}"
    if annotation is None:
        return str(detail["msg"])
    if detail["type"] == "missing":
        return f"is missing; needed: {type_text(annotation)}"
    return _wrong_value(detail["input"], annotation, hidden)


def _wrong_value(found: object, annotation: Any, hidden: bool) -> str:
    kinds = [plain(member) for member in members(annotation)]
    if found == "" and str in kinds:
        return "is empty"
    allowed = f"allowed: {type_text(annotation)}"
    if str in kinds and isinstance(found, bool | int | float):
        allowed += "; put it in quotes"
    if hidden:
        return f"found {_kind(found)}; {allowed}"
    allowed += _hint(found, allowed)
    if isinstance(found, str):
        near = nearest(found, [choice for kind in kinds for choice in _choices(kind)])
        return f"found {show(found)}{near} A{allowed[1:]}" if near else f"found {show(found)}; {allowed}"
    return f"found {show(found)}; {allowed}"


def _hint(found: object, allowed: str) -> str:
    """How a value that was probably meant is written: a percentage as a share, one text as a list."""
    percent = None if isinstance(found, bool) else _PERCENT.fullmatch(str(found).strip())
    if "from 0 to 1" in allowed and percent and 1 < float(percent[1]) <= 100:
        return f"; {float(percent[1]):g} % is {float(percent[1]) / 100:g}"
    if "list of texts" in allowed and isinstance(found, str):
        return f"; write [{show(found)}]"
    return ""


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else show(value)


def _choices(base: Any) -> tuple[str, ...]:
    return tuple(str(value) for value in get_args(base)) if get_origin(base) is Literal else ()
