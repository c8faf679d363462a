"""Which files must exist before a run, and which must not be overwritten by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from arksim_ci.config.document import KeyPath, shown
from arksim_ci.config.files import similar_file
from arksim_ci.config.model import RunConfig

Found = tuple[KeyPath, str]


def file_mistake(path: Path, suffix: str = "") -> str | None:
    """Why there is no file at `path` (with this ending), or None."""
    kind = _kind(path)
    if kind == "folder":
        return f"{shown(path)} is a folder, a file is needed"
    if suffix and path.suffix != suffix:
        return f"{shown(path)} does not end in {suffix}"
    return None if kind else f"there is no file {shown(path)}{similar_file(path)}"


def path_mistakes(config: RunConfig, config_file: Path) -> Iterator[Found]:
    """What is wrong with the files that a run reads, besides the scenario and the simulation file, and that it writes."""
    for index, path in enumerate(config.custom_metrics_file_paths):
        if mistake := file_mistake(path, ".py"):
            yield ("custom_metrics_file_paths", index), mistake
    if config.code_file_path is not None and (mistake := file_mistake(config.code_file_path)):
        yield ("code_file_path",), mistake
    for index, path in enumerate(config.code_paths):
        if not _kind(path):
            yield ("code_paths", index), f"there is no file or folder {shown(path)}"
    for key, folder in (("output_dir", config.output_dir), ("cache_dir", config.cache_dir)):
        if folder is not None and (blocking := _file_in_the_way(folder)):
            yield (key,), f"{shown(blocking)} is a file, a folder is needed"
    yield from _output_mistakes(config, config_file)


def _output_mistakes(config: RunConfig, config_file: Path) -> Iterator[Found]:
    output = config.output_file_path
    if _kind(output) == "folder":
        yield ("output_file_path",), f"{shown(output)} is a folder; give the path of the file to write"
    elif blocking := _file_in_the_way(output.parent):
        yield ("output_file_path",), f"{shown(blocking)} is a file, a folder is needed"
    inputs = [config_file, config.scenario_file_path, config.agent_config_file_path, config.code_file_path]
    if output in (*inputs, *config.custom_metrics_file_paths, *config.code_paths):
        yield ("output_file_path",), f"would overwrite {shown(output)}, which the run reads; give another path"


def _file_in_the_way(folder: Path) -> Path | None:
    return next((path for path in (folder, *folder.parents) if _kind(path) == "file"), None)


def _kind(path: Path) -> Literal["file", "folder"] | None:
    try:
        return ("folder" if path.is_dir() else "file") if path.exists() else None
    except OSError:  # a name that is too long, a folder that may not be read
        return None
