"""A configuration that was loaded, with what is needed to say later where one of its settings was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from arksim_ci.config.errors import Problem
from arksim_ci.config.model import RunConfig
from arksim_ci.config.settings import Settings


@dataclass(frozen=True)
class LoadedConfig:
    """The settings of a run, where they come from, and what a reader should know of them.

    `config` holds absolute paths. `path` is config.yaml. `warnings` are plain sentences.
    """

    config: RunConfig
    path: Path
    warnings: tuple[str, ...]
    settings: Settings = field(repr=False)

    def problem(self, message: str, *path: str | int) -> Problem:
        """A problem with the setting at `path`, with its file and line."""
        return self.settings.problem(message, *path)
