"""From the inputs to the configuration: what beats what, what is missing, what lies outside of the workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.load import LoadedConfig, Overrides, examine, yaml_overrides
from arksim_ci.config.model import RunConfig
from arksim_ci.config.providers import PRESETS
from arksim_ci.config.run_inputs import RunInputs, load_run_inputs
from arksim_ci.config.variable_names import refusal
from arksim_ci.github.context import GitHubContext
from arksim_ci.github.inputs import Inputs
from arksim_ci.schema.verdict import Command

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_STAND_IN = "stands-in-for-a-secret"


def overrides_of(inputs: Inputs, workspace: Path) -> list[Overrides]:
    """What beats the file: `overrides`, and the single inputs above them. Paths are relative to the workspace.

    Raises:
        ConfigError: `overrides` is no YAML mapping.
    """
    found = [yaml_overrides(inputs.overrides, "input overrides", workspace)] if inputs.overrides else []
    single = {
        "scenarios": ("scenario_file_path", str(inputs.scenarios or "")),
        "provider": ("provider", inputs.provider),
        "model": ("model", inputs.model),
        "base-url": ("base_url", inputs.base_url),
    }
    found += [Overrides({key: value}, f"input {name}", workspace) for name, (key, value) in single.items() if value]
    return found


def load(
    inputs: Inputs,
    overrides: list[Overrides],
    command: Command,
    environment: Mapping[str, str],
    context: GitHubContext,
) -> RunInputs:
    """Load and check everything but the user's Python.

    Raises:
        ConfigError: with every problem; for paths outside of the workspace, it says why they must not be.
    """
    problems: list[Problem] = []
    try:
        found = load_run_inputs(
            inputs.config, overrides, environment=environment, command=command, api_key=inputs.api_key
        )
        loaded = found.loaded
    except ConfigError as error:
        problems += error.problems
        loaded, _ = examine(inputs.config, overrides, environment=environment, command=command)
    outside = outside_problems(loaded, context)
    if problems or outside:
        raise ConfigError(*problems, *outside)
    return found


def missing_secrets(
    inputs: Inputs, overrides: list[Overrides], command: Command, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The variables with secrets that the configuration needs and that are not set.

    Raises:
        ConfigError: the configuration can't be used whatever the secrets are.
    """
    loaded, _ = examine(inputs.config, overrides, environment=environment, command=command)
    names = _unset(loaded.config, environment, inputs.api_key)
    if names:
        stand_ins = {**dict.fromkeys(names, _STAND_IN), **{key: value for key, value in environment.items() if value}}
        load_run_inputs(
            inputs.config, overrides, environment=stand_ins, command=command, api_key=inputs.api_key or _STAND_IN
        )
    return names


def outside_problems(loaded: LoadedConfig, context: GitHubContext) -> list[Problem]:
    """Paths of the configuration that the action can't see, or whose files would be lost."""
    config, workspace = loaded.config, context.workspace
    reads: list[tuple[tuple[str | int, ...], Path | None]] = [
        (("scenario_file_path",), config.scenario_file_path),
        (("simulation_file_path",), config.simulation_file_path),
        (("agent_config_file_path",), config.agent_config_file_path),
        (("code_file_path",), config.code_file_path),
        *((("custom_metrics_file_paths", index), path) for index, path in enumerate(config.custom_metrics_file_paths)),
        *((("code_paths", index), path) for index, path in enumerate(config.code_paths)),
    ]
    writes = [(("output_dir",), config.output_dir), (("output_file_path",), config.output_file_path)]
    found = []
    for place, path in reads:
        if path is not None and not path.is_relative_to(workspace) and not path.exists():
            found.append(loaded.problem(f"{path} is outside of the workspace; {context.limits}", *place))
    for place, path in writes:
        if not path.is_relative_to(workspace):
            found.append(
                loaded.problem(
                    f"{path} is outside of the workspace, so its files would be lost; {context.limits}", *place
                )
            )
        elif not path.resolve().is_relative_to(workspace.resolve()):
            found.append(loaded.problem(f"{path} leads out of the workspace through a symbolic link", *place))
    return found


def _unset(config: RunConfig, environment: Mapping[str, str], api_key: str) -> tuple[str, ...]:
    names: list[str] = []
    preset = PRESETS[config.provider]
    keys = (config.api_key_env,) if config.api_key_env else preset.key_variables
    needs_key = config.provider != "offline" and (preset.needs_key or bool(config.api_key_env))
    if needs_key and not api_key and not any(environment.get(key or "", "").strip() for key in keys):
        names.append(keys[0] or "")
    api = config.agent_config.api_config if config.agent_config else None
    texts = [api.endpoint, *api.headers.values()] if api else []
    names += [name for text in texts for name in _VARIABLE.findall(text) if not environment.get(name, "").strip()]
    return tuple(dict.fromkeys(name for name in names if name and refusal(name) is None))
