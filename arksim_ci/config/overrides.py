"""Settings that beat the file: `--key value` of the command line, inputs of the action, and YAML given as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arksim_ci.config.describe import allowed_at, allows_null, list_item, mapping_value, members, model_of, plain
from arksim_ci.config.document import KeyPath
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.files import parse_yaml
from arksim_ci.config.model import RunConfig

COMMAND_LINE = "the command line"

_INTEGER = re.compile(r"[-+]?\d{1,300}")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True)
class Overrides:
    """Settings from one place.

    `values` are config keys, nested or dotted, with dashes or underscores. `source` names the place in messages. `base` is
    the folder that its relative paths start from. `line` gives the line of a key, where the place has lines.
    """

    values: Mapping[str, object]
    source: str
    base: Path
    line: Callable[[KeyPath], int | None] = field(default=lambda _path: None, repr=False)


def yaml_overrides(text: str, source: str, base: Path) -> Overrides:
    """Read overrides that are written as a YAML mapping of config keys.

    Raises:
        ConfigError: it is not YAML, or not a mapping.
    """
    document = parse_yaml(text, source)
    if document.value is None:
        return Overrides({}, source, base)
    if not isinstance(document.value, dict):
        raise ConfigError(Problem("a YAML mapping of config keys is needed, for example `max_turns: 3`", source))
    return Overrides(document.value, source, base, document.line)


def parse_overrides(argv: Sequence[str]) -> dict[str, object]:
    """Read `--key value`, `--key=value` and `--flag` arguments.

    Args:
        argv: the arguments that belong to no option of the command itself. Dashes and underscores in a key are the same;
            dots reach into nested keys; commas separate the items of a list; a mapping or a list may also be written as JSON.

    Returns:
        A nested mapping of config keys. Values have the type that the key declares, as far as they can be read so; unknown
        keys are kept, and `load_config` reports them.

    Raises:
        ConfigError: with every argument that is no override, and every key that lacks its value.
    """
    found: dict[str, object] = {}
    problems: list[Problem] = []
    rest = list(argv)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("--") or argument == "--":
            problems.append(Problem(f'unexpected argument "{argument}"; write --key value', COMMAND_LINE))
            continue
        name, equals, text = argument[2:].partition("=")
        path = key_path(name)
        annotation = allowed_at(path)
        value: object
        if equals:
            value = typed(text, annotation)
        elif rest and not rest[0].startswith("--"):
            value = typed(rest.pop(0), annotation)
        elif annotation is None or any(plain(member) is bool for member in members(annotation)):
            value = True
        else:
            problems.append(Problem("needs a value", COMMAND_LINE, key=f"--{name}"))
            continue
        put(found, path, value)
    if problems:
        raise ConfigError(*problems)
    return found


def key_path(dotted: str) -> KeyPath:
    """Split a dotted key. The model says which dots separate: `prices.gpt-5.1.input` is the price of `gpt-5.1`."""
    parts = dotted.split(".")
    path: list[str] = []
    annotation: Any = RunConfig
    while parts:
        model = None if annotation is None else model_of(annotation)
        value = None if annotation is None else mapping_value(annotation)
        if model is not None:
            path.append(parts.pop(0).replace("-", "_"))
            annotation = allowed_at((path[-1],), model)
        elif value is not None and value is not Any:
            tail = parts[-1:] if model_of(value) is not None and len(parts) > 1 else []
            path.append(".".join(parts[: len(parts) - len(tail)]))
            parts, annotation = tail, value
        else:
            path.extend(parts)
            break
    return tuple(path)


def nested(values: Mapping[str, object]) -> dict[str, object]:
    """Bring dotted and dashed keys to their nested form."""
    found: dict[str, object] = {}
    for key, value in values.items():
        put(found, key_path(key), value)
    return found


def put(target: dict[str, object], path: KeyPath, value: object) -> None:
    """Set a value in nested mappings; a mapping is merged into one that is there already."""
    for part in path[:-1]:
        inner = target.get(str(part))
        if not isinstance(inner, dict):
            inner = {}
            target[str(part)] = inner
        target = inner
    last = str(path[-1])
    present = target.get(last)
    if isinstance(present, dict) and isinstance(value, Mapping):
        for key, item in value.items():
            put(present, (key,), item)
    else:
        target[last] = value


def typed(text: str, annotation: Any | None) -> object:
    """Read an argument as the type that its key declares; what can't be read so stays text, for validation to report."""
    if annotation is None or (text == "null" and allows_null(annotation)):
        return text if annotation is None else None
    if annotation is Any:
        return _anything(text)
    item = list_item(annotation)
    structured = item is not None or model_of(annotation) is not None or mapping_value(annotation) is not None
    if structured and text.startswith(("{", "[")) and (value := _json(text)) is not None:
        return value
    if item is not None:
        return [typed(part.strip(), item) for part in text.split(",") if part.strip()]
    return _scalar(text, [plain(member) for member in members(annotation)])


def _scalar(text: str, kinds: list[Any]) -> object:
    if bool in kinds and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if int in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if float in kinds:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _anything(text: str) -> object:
    from arksim_ci.config.yaml_text import scalar  # noqa: PLC0415  (yaml is needed only where YAML is read)

    if text.startswith(("{", "[")) and (value := _json(text)) is not None:
        return value
    try:
        return scalar(text)
    except ValueError:
        return text


def _json(text: str) -> object | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
