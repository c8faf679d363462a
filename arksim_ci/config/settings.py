"""The merged settings before they are checked: what each key holds, and where that was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from arksim_ci.config.describe import annotation_of, list_item, members, model_of, plain
from arksim_ci.config.document import ABSENT, Document, KeyPath, child, dotted
from arksim_ci.config.errors import Problem
from arksim_ci.config.model import RunConfig
from arksim_ci.config.overrides import Overrides, nested


@dataclass(frozen=True)
class Layer:
    """Settings from one place: nested values, its name in messages, the base of its paths, and its lines."""

    values: Mapping[str, object]
    source: str
    base: Path
    line: Callable[[KeyPath], int | None] = field(default=lambda _path: None, repr=False)


def file_layer(document: Document, values: Mapping[str, object], base: Path) -> Layer:
    """The layer of a file."""
    return Layer(values, document.source, base, document.line)


def override_layer(overrides: Overrides) -> Layer:
    """The layer of overrides, with its dotted keys brought to their nested form."""
    return Layer(nested(overrides.values), overrides.source, overrides.base, overrides.line)


class Settings:
    """Nested values, and for each the layer that it comes from.

    Args:
        main: the layer of config.yaml; what is set nowhere belongs to it too.
        layers: all layers, `main` included; each beats those before it.
    """

    def __init__(self, main: Layer, layers: Sequence[Layer]) -> None:
        self.main = main
        self._layers = list(layers)
        self.values: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.broken: list[KeyPath] = []
        self._owners: dict[KeyPath, Layer] = {}
        for layer in layers:
            self._merge(self.values, layer.values, layer, ())
        _drop_nulls(self.values, RunConfig)

    def origin(self, path: KeyPath) -> Layer:
        """The layer that set `path`, or the nearest part around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._owners:
                return self._owners[path[:length]]
        return self.main

    def get(self, path: KeyPath) -> object | None:
        """The value at `path`; None where there is none."""
        value: object = self.values
        for part in path:
            value = child(value, part)
        return None if value is ABSENT else value

    def problem(self, message: str, *path: str | int) -> Problem:
        """A problem at `path`, with its place."""
        layer = self.origin(path)
        return Problem(message=message, source=layer.source, line=layer.line(path), key=dotted(path))

    def resolve_paths(self) -> list[Problem]:
        """Make every path absolute, each from the base of the layer that set it, the default ones from config.yaml's."""
        problems: list[Problem] = []
        for name, info in RunConfig.model_fields.items():
            annotation = annotation_of(info)
            if any(plain(member) is Path for member in members(annotation)):
                if name not in self.values and isinstance(info.default, Path):
                    self.values[name] = str(info.default)
                self._resolve(self.values, name, (name,), problems)
            elif plain(list_item(annotation)) is Path and isinstance(self.values.get(name), list):
                for index in range(len(self.values[name])):
                    self._resolve(self.values[name], index, (name, index), problems)
        custom = self.get(("agent_config", "custom_config"))
        if isinstance(custom, dict):
            self._resolve(custom, "module_path", ("agent_config", "custom_config", "module_path"), problems)
        self._keep_together()
        return problems

    def _keep_together(self) -> None:
        """Let simulation.json follow an `output_dir` that was overridden alone: a rerun leaves the files of the first run as they are."""
        folder = self.get(("output_dir",))
        if not isinstance(folder, str) or ("output_dir",) in self.broken:
            return
        ranks = {id(layer): rank for rank, layer in enumerate(self._layers)}
        of_folder, of_file = (ranks[id(self.origin((key,)))] for key in ("output_dir", "output_file_path"))
        if of_folder > max(of_file, ranks[id(self.main)]):
            self.values["output_file_path"] = str(Path(folder) / RunConfig.model_fields["output_file_path"].default)

    def _resolve(self, holder: Any, key: str | int, path: KeyPath, problems: list[Problem]) -> None:
        value = holder.get(key) if isinstance(holder, dict) else holder[key]
        if not isinstance(value, str):
            return
        if not value.strip() or "\x00" in value:
            problems.append(self.problem("the path is empty", *path))
            self.broken.append(path)
            return
        # Not Path.resolve(): links stay as the user wrote them.
        holder[key] = os.path.normpath(self.origin(path).base.absolute() / value)

    def _merge(self, target: dict[str, Any], values: Mapping[str, object], layer: Layer, path: KeyPath) -> None:
        for key, value in values.items():
            here = (*path, key)
            present = target.get(key)
            if isinstance(value, Mapping) and isinstance(present, list):
                self.problems.append(
                    Problem(
                        "is a list; give the whole list, not one item", layer.source, layer.line(here), dotted(here)
                    )
                )
            elif isinstance(value, Mapping):
                if not isinstance(present, dict):
                    target[key] = {}
                    self._own(here, layer)
                self._merge(target[key], value, layer, here)
            else:
                target[key] = list(value) if isinstance(value, list | tuple) else value
                self._own(here, layer)

    def _own(self, path: KeyPath, layer: Layer) -> None:
        for known in [known for known in self._owners if known[: len(path)] == path]:
            del self._owners[known]
        self._owners[path] = layer


def _drop_nulls(values: dict[str, Any], model: type[BaseModel]) -> None:
    """Take `null` for "not set" wherever a declared key holds it. In a mapping with free keys it stays, and is refused."""
    for name, info in model.model_fields.items():
        if name in values and values[name] is None:
            del values[name]
        inner = model_of(annotation_of(info))
        if inner is not None and isinstance(values.get(name), dict):
            _drop_nulls(values[name], inner)
