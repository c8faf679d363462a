"""A small stand-in for the parts of pydantic that our classes need, for an interpreter that has no pydantic 2.

Runs in the worker process: standard library only. It checks and converts the types that `models.py` uses, and no others.
"""

from __future__ import annotations

import copy
import enum
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

_NO_DEFAULT = object()


class ValidationError(ValueError):
    """What was given does not fit the model."""


class FieldInfo:
    """A default value, or a way to make one."""

    def __init__(self, default: Any = _NO_DEFAULT, *, default_factory: Callable[[], Any] | None = None) -> None:
        self.default = default
        self.default_factory = default_factory

    def is_required(self) -> bool:
        """Whether the model can't be made without this field."""
        return self.default is _NO_DEFAULT and self.default_factory is None

    def get_default(self) -> Any:
        """A default of its own for each model."""
        return self.default_factory() if self.default_factory else copy.deepcopy(self.default)


def Field(default: Any = _NO_DEFAULT, *, default_factory: Callable[[], Any] | None = None) -> Any:  # noqa: N802
    """Give a field a default (as `pydantic.Field`)."""
    return FieldInfo(default, default_factory=default_factory)


def ConfigDict(**settings: Any) -> dict[str, Any]:  # noqa: N802
    """Settings of a model; `extra` alone is known (as `pydantic.ConfigDict`)."""
    return settings


class BaseModel:
    """A class whose annotations are its fields; made by keywords, checked, converted where that is safe."""

    model_config: ClassVar[dict[str, Any]] = {}
    model_fields: ClassVar[dict[str, FieldInfo]] = {}

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        fields = dict(cls.model_fields)
        for name in inspect.get_annotations(cls):
            if name.startswith(("_", "model_")):
                continue
            default = cls.__dict__.get(name, _NO_DEFAULT)
            fields[name] = default if isinstance(default, FieldInfo) else FieldInfo(default)
        cls.model_fields = fields

    def __init__(self, /, **data: Any) -> None:
        known = typing.get_type_hints(type(self))
        problems = []
        for name, info in self.model_fields.items():
            if name in data:
                try:
                    self.__dict__[name] = _converted(data[name], known[name])
                except (TypeError, ValueError) as error:
                    problems.append(f"{name}: {error}")
            elif info.is_required():
                problems.append(f"{name}: field required")
            else:
                self.__dict__[name] = info.get_default()
        extra = {name: value for name, value in data.items() if name not in self.model_fields}
        keep = self.model_config.get("extra") == "allow"
        self.__dict__["__pydantic_extra__"] = extra if keep else None
        if problems:
            raise ValidationError(
                f"{len(problems)} validation error(s) for {type(self).__name__}\n" + "\n".join(problems)
            )

    def __getattr__(self, name: str) -> Any:
        extra = self.__dict__.get("__pydantic_extra__") or {}
        if name in extra:
            return extra[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.model_fields:
            self.__dict__[name] = value
        elif self.model_extra is not None:
            self.model_extra[name] = value
        else:
            raise ValueError(f"{type(self).__name__!r} object has no field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self.model_fields)})"

    @property
    def model_extra(self) -> dict[str, Any] | None:
        """What was given beyond the fields, where the model allows that."""
        return typing.cast("dict[str, Any] | None", self.__dict__["__pydantic_extra__"])

    @classmethod
    def model_validate(cls, data: Any) -> Any:
        """Make a model of a mapping."""
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            raise ValidationError(f"{cls.__name__} is made of a mapping, not of {type(data).__name__}")
        return cls(**data)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        """Copy the model; `update` is not checked, as in pydantic."""
        made = copy.deepcopy(self) if deep else copy.copy(self)
        if made.model_extra is not None:
            made.__dict__["__pydantic_extra__"] = dict(made.model_extra)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    def model_dump(self, *, exclude_none: bool = False, mode: str = "python") -> dict[str, Any]:
        """The model as a dictionary; `mode="json"` turns enumerations into their values."""
        everything = {name: self.__dict__[name] for name in self.model_fields} | (self.model_extra or {})
        return {
            name: _dumped(value, mode, exclude_none)
            for name, value in everything.items()
            if value is not None or not exclude_none
        }

    def model_dump_json(self, *, exclude_none: bool = False, indent: int | None = None) -> str:
        """The model as JSON."""
        return json.dumps(
            self.model_dump(exclude_none=exclude_none, mode="json"),
            indent=indent,
            separators=None if indent else (",", ":"),
        )


def _dumped(value: Any, mode: str, exclude_none: bool) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=exclude_none, mode=mode)
    if isinstance(value, enum.Enum) and mode == "json":
        return value.value
    if isinstance(value, dict):
        return {name: _dumped(item, mode, exclude_none) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_dumped(item, mode, exclude_none) for item in value]
    return value


def _converted(value: Any, wanted: Any) -> Any:
    """Check a value against a type, as pydantic's lax mode does for the types in use here."""
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, arguments)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{value!r} is none of {', '.join(map(repr, arguments))}")
        return value
    if origin is list or wanted is list:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"a list is needed, not {type(value).__name__}")
        return [_converted(item, arguments[0]) for item in value] if arguments else list(value)
    if origin is dict or wanted is dict:
        if not isinstance(value, Mapping):
            raise TypeError(f"a dictionary is needed, not {type(value).__name__}")
        return dict(value)
    return _simple(value, wanted)


def _simple(value: Any, wanted: Any) -> Any:
    if isinstance(value, wanted) and not (wanted in (int, float) and isinstance(value, bool)):
        return value
    if issubclass(wanted, BaseModel):
        return wanted.model_validate(value)
    if issubclass(wanted, enum.Enum):
        return wanted(value)
    if wanted is float and isinstance(value, (int, float, str)):
        return float(value)
    raise TypeError(f"{wanted.__name__} is needed, not {type(value).__name__}")


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    if value is None and type(None) in kinds:
        return None
    problems = []
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _converted(value, kind)
        except (TypeError, ValueError) as error:
            problems.append(str(error))
    raise TypeError("; ".join(problems))
