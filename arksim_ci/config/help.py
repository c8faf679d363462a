"""Every config key in words, for `--help` and the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from arksim_ci.config.describe import annotation_of, mapping_value, model_of, type_text
from arksim_ci.config.model import RunConfig


class ConfigKey(NamedTuple):
    """One key: dotted, with what it may hold, its default (empty where there is none), and what it means."""

    key: str
    type: str
    default: str
    description: str


def config_keys_help() -> list[ConfigKey]:
    """Every key of the configuration, in the model's order; the keys of a mapping follow it with dots."""
    return _keys(RunConfig, "")


def _keys(model: type[BaseModel], prefix: str) -> list[ConfigKey]:
    found: list[ConfigKey] = []
    for name, info in model.model_fields.items():
        annotation = annotation_of(info)
        key = f"{prefix}{name}"
        found.append(ConfigKey(key, type_text(annotation), _default_text(info.default), info.description or ""))
        value = mapping_value(annotation)
        inner = model_of(annotation) or (model_of(value) if value is not None else None)
        if inner is not None:
            found += _keys(inner, f"{key}." if value is None else f"{key}.NAME.")
    return found


def _default_text(default: Any) -> str:
    if default is None or default is PydanticUndefined or default == ():
        return ""
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, tuple):
        return ", ".join(str(item) for item in default)
    if isinstance(default, Path):
        return f"./{default}"
    return f"{default:g}" if isinstance(default, float) else str(default)
