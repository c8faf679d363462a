"""From the inputs to the configuration: what beats what, what is missing, what lies outside of the workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
_STAND_IN = "0"
_STAND_IN_URL = "http://stands-in-for-a-secret.invalid"
_RESERVED = (".git", ".github/workflows")


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
    problems += outside_problems(loaded, context)
    problems += _requirements_problems(inputs)
    if problems:
        raise ConfigError(*problems)
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
        stand_ins = _stand_ins(loaded.config, names) | {key: value for key, value in environment.items() if value}
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
    cache = [(("cache_dir",), config.cache_dir)] if config.cache_dir else []
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
    for place, path in [*writes, *cache]:
        if behind_link(path, workspace):
            found.append(
                loaded.problem(f"{path} stands behind a symbolic link; results are never written through one", *place)
            )
        elif reserved := _reserved(path, workspace):
            found.append(loaded.problem(f"{path} is in {reserved}, where no results belong", *place))
    return found


def behind_link(path: Path, workspace: Path) -> bool:
    """Whether the path, or a folder on its way from the workspace, is a symbolic link."""
    return any(
        each != workspace and each.is_relative_to(workspace) and each.is_symlink() for each in (path, *path.parents)
    )


def _reserved(path: Path, workspace: Path) -> str | None:
    """The folder of git or GitHub in which the path is."""
    if not path.is_relative_to(workspace):
        return None
    inside = f"/{path.relative_to(workspace).as_posix().casefold()}/"
    return next((folder for folder in _RESERVED if f"/{folder}/" in inside), None)


def _requirements_problems(inputs: Inputs) -> list[Problem]:
    path = inputs.requirements
    if path is None or path.is_file():
        return []
    return [Problem(f"there is no file {path}", "input requirements")]


def checkout_problems(workspace: Path) -> list[Problem]:
    """The usual reason for a configuration that is not there."""
    try:
        empty = not any(workspace.iterdir())
    except OSError:
        empty = False
    sentence = "the workspace is empty: a step with actions/checkout must come before this one"
    return [Problem(sentence, "input config")] if empty else []


def _unset(config: RunConfig, environment: Mapping[str, str], api_key: str) -> tuple[str, ...]:
    """The variables that hold secrets, are needed, and are not set; the provider's key is the first."""
    names: list[str] = []
    preset = PRESETS[config.provider]
    keys = (config.api_key_env,) if config.api_key_env else preset.key_variables
    needs_key = config.provider != "offline" and (preset.needs_key or bool(config.api_key_env))
    if needs_key and not api_key and not any(_is_set(environment, key) for key in keys):
        names.append(keys[0] or "")
    names += [name for text in _texts(config) for name in _VARIABLE.findall(text) if not _is_set(environment, name)]
    if names and not config.base_url and not preset.base_url:  # an endpoint that is a secret, too
        addresses = preset.base_url_variables
        names += addresses[:1] if not any(_is_set(environment, name) for name in addresses) else ()
    return tuple(dict.fromkeys(name for name in names if name and refusal(name) is None))


def _stand_ins(config: RunConfig, names: Sequence[str]) -> dict[str, str]:
    """Values with which the rest of a configuration can be checked."""
    addresses = {name for text in _texts(config) if (found := _VARIABLE.match(text)) for name in found.groups()}
    addresses |= set(PRESETS[config.provider].base_url_variables)
    return {name: _STAND_IN_URL if name in addresses else _STAND_IN for name in names}


def _texts(config: RunConfig) -> list[str]:
    """The texts in which `${VAR}` is filled in."""
    api = config.agent_config.api_config if config.agent_config else None
    return [api.endpoint, *api.headers.values()] if api else []


def _is_set(environment: Mapping[str, str], name: str | None) -> bool:
    return bool(environment.get(name or "", "").strip())
