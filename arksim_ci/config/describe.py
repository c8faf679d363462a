"""What a key of the configuration may hold, read off the model: in words for people, and as structure for overrides."""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from arksim_ci.config.document import KeyPath
from arksim_ci.config.model import RunConfig

_PLAIN = {str: "text", bool: "true or false", int: "whole number", float: "number", Path: "path", Any: "anything"}
_FEW = 12
_PLURAL = {str: "texts", Path: "paths"}


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean "X"?` with the known name that is nearest, or nothing where none is near."""
    choices = {choice.casefold(): choice for choice in known}
    folded = name.casefold()
    near = difflib.get_close_matches(folded, choices, n=1, cutoff=0.6)
    if not near and len(folded) >= 3:
        near = [choice for choice in choices if choice.startswith(folded)]
    return f'; did you mean "{choices[near[0]]}"?' if near else ""


def unknown_name(name: str, known: Iterable[str], allowed: str = "allowed") -> str:
    """The second half of a message about an unknown name: the nearest known name, and all of them unless they are many."""
    names = list(known)
    near = nearest(name, names)
    if near and len(names) > _FEW:
        return near
    return f"{near} {allowed.capitalize()}: {', '.join(names)}" if near else f"; {allowed}: {', '.join(names)}"


def annotation_of(info: FieldInfo) -> Any:
    """A field's type with its bounds."""
    metadata = tuple(info.metadata)
    return Annotated[(info.annotation, *metadata)] if metadata else info.annotation


def members(annotation: Any) -> list[Any]:
    """The types that a value may have: a union's members, without `None`, each with its bounds."""
    base, bounds = _split(annotation)
    if get_origin(base) not in (Union, types.UnionType):
        return [] if base is type(None) else [annotation]
    found = [member for part in get_args(base) for member in members(part)]
    return [Annotated[(member, *bounds)] for member in found] if bounds else found


def allows_null(annotation: Any) -> bool:
    """Whether `None` is one of the values."""
    base, _ = _split(annotation)
    if get_origin(base) in (Union, types.UnionType):
        return any(allows_null(part) for part in get_args(base))
    return base is type(None) or base is Any


def plain(annotation: Any) -> Any:
    """The type without its bounds."""
    return _split(annotation)[0]


def model_of(annotation: Any) -> type[BaseModel] | None:
    """The model among the types of a value, where there is one."""
    for member in members(annotation):
        base = plain(member)
        if isinstance(base, type) and issubclass(base, BaseModel):
            return base
    return None


def mapping_value(annotation: Any) -> Any | None:
    """The type of a mapping's values, where a mapping with free keys is among the types of a value."""
    for member in members(annotation):
        if get_origin(plain(member)) is dict:
            return get_args(plain(member))[1]
    return None


def list_item(annotation: Any) -> Any | None:
    """The type of a list's items, where a list is among the types of a value."""
    for member in members(annotation):
        if get_origin(plain(member)) in (tuple, list):
            return get_args(plain(member))[0]
    return None


@functools.cache
def type_text(annotation: Any) -> str:
    """A type in words: `whole number, at least 1, or "auto"`."""
    texts = list(dict.fromkeys(_member_text(member) for member in members(annotation)))
    return ", or ".join(texts) if any("," in text for text in texts) else " or ".join(texts)


def allowed_at(path: KeyPath, model: type[BaseModel] = RunConfig) -> Any | None:
    """The type of what stands at `path` below `model`; None where the model says nothing of it."""
    annotation: Any = model
    for part in path:
        found = None
        inner = model_of(annotation)
        if inner is not None and part in inner.model_fields:
            found = annotation_of(inner.model_fields[str(part)])
        elif isinstance(part, int):
            found = list_item(annotation)
        else:
            found = mapping_value(annotation)
        if found is None:
            return None
        annotation = found
    return annotation


def is_required(path: KeyPath, model: type[BaseModel] = RunConfig) -> bool:
    """Whether the mapping around `path` can't do without it."""
    holder = model_of(allowed_at(path[:-1], model))
    return holder is not None and path[-1] in holder.model_fields and holder.model_fields[str(path[-1])].is_required()


def _split(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(annotation) is Annotated:
        base, *bounds = get_args(annotation)
        return base, tuple(bounds)
    return annotation, ()


def _member_text(member: Any) -> str:
    base, bounds = _split(member)
    if get_origin(base) is Literal:
        values = get_args(base)
        quoted = [f'"{value}"' for value in values]
        return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"
    if get_origin(base) in (tuple, list):
        item = get_args(base)[0]
        return f"list of {_PLURAL.get(plain(item), type_text(item))}"
    if get_origin(base) is dict:
        value = get_args(base)[1]
        return "mapping" if value is Any else f"mapping of name to {type_text(value)}"
    if isinstance(base, type) and issubclass(base, BaseModel):
        return "mapping"
    return _PLAIN[base] + _bounds_text(bounds)


def _bounds_text(bounds: Iterable[Any]) -> str:
    low = high = above = None
    for bound in bounds:
        for item in bound.metadata if isinstance(bound, FieldInfo) else (bound,):
            if isinstance(item, annotated_types.Ge):
                low = item.ge
            elif isinstance(item, annotated_types.Le):
                high = item.le
            elif isinstance(item, annotated_types.Gt):
                above = item.gt
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f", at least {low}"
    return f" above {above}" if above is not None else ""
