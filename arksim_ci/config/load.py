"""config.yaml and everything that beats it become one frozen `RunConfig`, or one error with every problem."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arksim_ci.config.checks import check_metric_names, metrics_that_run
from arksim_ci.config.describe import is_required
from arksim_ci.config.document import Document, KeyPath, child
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.files import read_json, read_yaml
from arksim_ci.config.loaded import LoadedConfig
from arksim_ci.config.model import RunConfig
from arksim_ci.config.overrides import Overrides, parse_overrides, yaml_overrides
from arksim_ci.config.providers import PROVIDER_ALIASES
from arksim_ci.config.rules import LoadCommand
from arksim_ci.config.rules import mistakes as rule_mistakes
from arksim_ci.config.rules import warnings as rule_warnings
from arksim_ci.config.settings import Layer, Settings, file_layer, override_layer
from arksim_ci.config.validation import is_secret_name
from arksim_ci.config.validation import mistakes as type_mistakes
from arksim_ci.config.variables import short_secret_warnings

__all__ = ["LoadedConfig", "Overrides", "load_config", "parse_overrides", "yaml_overrides"]

_API: KeyPath = ("agent_config", "api_config")


def load_config(
    path: Path,
    overrides: Sequence[Overrides] = (),
    *,
    environment: Mapping[str, str],
    command: LoadCommand,
    document: Document | None = None,
) -> LoadedConfig:
    """Load and check a configuration.

    Args:
        path: config.yaml.
        overrides: settings that beat the file; each beats those before it.
        environment: the environment's variables. `LLM_PROVIDER` beats the file, and overrides beat it.
        command: what the configuration is loaded for; commands need different keys.
        document: the configuration itself, where it is at hand and `path` is no file; its relative paths start from
            `path`'s folder all the same.

    Returns:
        The settings, with absolute paths. Names of metrics are checked where no custom metric file is configured; otherwise
        the caller runs `check_metric_names` once those have loaded.

    Raises:
        ConfigError: with every problem that was found.
    """
    loaded, problems = examine(path, overrides, environment=environment, command=command, document=document)
    if problems:
        raise ConfigError(*problems)
    return loaded


def examine(
    path: Path,
    overrides: Sequence[Overrides],
    *,
    environment: Mapping[str, str],
    command: LoadCommand,
    document: Document | None = None,
) -> tuple[LoadedConfig, list[Problem]]:
    """Load a configuration as far as it goes: its problems, and the settings without those that are wrong.

    Where `document` is given, it stands for what the file at `path` would hold.

    Raises:
        ConfigError: the file itself can't be read.
    """
    warnings: list[str] = []
    problems: list[Problem] = []
    settings = _merge(path, document or read_yaml(path), overrides, environment, warnings, problems)
    problems += settings.problems
    _translate(settings, warnings)
    problems += settings.resolve_paths()
    config, bad = _validate(settings, problems)
    config = _complete(config, warnings)
    loaded = LoadedConfig(config, path, tuple(warnings), settings)
    found = [
        loaded.problem(message, *place)
        for place, message in rule_mistakes(config, Path(os.path.normpath(path.absolute())), command, environment)
    ]
    custom = settings.get(("custom_metrics_file_paths",))
    found += check_metric_names(loaded, None if custom else ())
    broken = [".".join(str(part) for part in place) for place in bad]
    if any(place[0] in ("numeric_thresholds", "qualitative_failure_labels") for place in bad):
        broken.append("min_pass_rate")  # its names can't be held to checks that were taken out
    problems += [problem for problem in found if not _follows(problem.key, broken)]
    warnings += [*rule_warnings(config), *short_secret_warnings(config, environment)]
    return LoadedConfig(config, path, tuple(warnings), settings), _in_order(problems)


def _merge(
    path: Path,
    document: Document,
    overrides: Sequence[Overrides],
    environment: Mapping[str, str],
    warnings: list[str],
    problems: list[Problem],
) -> Settings:
    values = {} if document.value is None else document.value
    if not isinstance(values, dict):
        raise ConfigError(document.problem("a mapping of config keys is needed, for example `max_turns: 5`"))
    if "scenarios" in values and "schema_version" in values:
        message = "this is a scenario file; give config.yaml, which names it as scenario_file_path"
        raise ConfigError(document.problem(message))
    main = file_layer(document, values, path.parent)
    layers = [main]
    provider = environment.get("LLM_PROVIDER", "").strip()
    if provider:
        layers.append(Layer({"provider": provider}, "the variable LLM_PROVIDER", path.parent))
    layers += [override_layer(override) for override in overrides]
    settings = Settings(main, layers)
    if provider and settings.origin(("provider",)) is layers[1] and values.get("provider") not in (None, provider):
        warnings.append("the variable LLM_PROVIDER sets the provider; it beats the one in the configuration file")
    agent_file = settings.get(("agent_config_file_path",))
    if not isinstance(agent_file, str) or not agent_file.strip():
        return settings
    if values.get("agent_config") is not None:
        warnings.append("agent_config_file_path is not read: agent_config stands in the configuration and wins")
        return settings
    base = settings.origin(("agent_config_file_path",)).base
    agent_layer = _agent_layer(base.absolute() / agent_file, settings, problems)
    if agent_layer is None:
        settings.broken.append(("agent_config",))
        return settings
    return Settings(main, [agent_layer, *layers])


def _agent_layer(path: Path, settings: Settings, problems: list[Problem]) -> Layer | None:
    """The agent's own file, as if it stood under `agent_config`; its paths are relative to it."""
    try:
        document = read_json(path)
    except ConfigError as error:
        problems += [settings.problem(str(problem), "agent_config_file_path") for problem in error.problems]
        return None
    if not isinstance(document.value, dict):
        problems.append(document.problem("a mapping with agent_type and agent_name is needed"))
        return None
    return Layer({"agent_config": document.value}, document.source, path.parent, lambda place: document.line(place[1:]))


def _translate(settings: Settings, warnings: list[str]) -> None:
    """Bring what ArkSim's files may hold to our keys."""
    values = settings.values
    provider = values.get("provider")
    if isinstance(provider, str) and provider in PROVIDER_ALIASES:
        values["provider"] = PROVIDER_ALIASES[provider]
        warnings.append(f'the provider name "{provider}" is deprecated; it is now "{values["provider"]}"')
    api = settings.get(_API)
    if isinstance(api, dict) and "azure_config" in api:
        del api["azure_config"]
        warnings.append(
            "agent_config.api_config.azure_config is not used, as in ArkSim; put the deployment and api-version into the endpoint"
        )


def _validate(settings: Settings, problems: list[Problem]) -> tuple[RunConfig, list[KeyPath]]:
    """Check types and bounds. What is wrong is taken out, so that everything else can be checked too."""
    values = copy.deepcopy(settings.values)
    bad = list(settings.broken)
    while True:
        try:
            return RunConfig.model_validate(values), bad
        except ValidationError as error:
            before = copy.deepcopy(values)
            for mistake in type_mistakes(error, values, RunConfig, _hidden):
                problems.append(settings.problem(mistake.message, *mistake.path))
                bad.append(_take_out(values, mistake.path))
            if values == before:  # nothing can be taken out: better fewer problems than an endless loop
                raise ConfigError(*problems) from error


def _take_out(values: dict[str, Any], path: KeyPath) -> KeyPath:
    """Remove a wrong value, with the parts around it that can't do without it. Returns what was removed."""
    if path == ("agent_config", "agent_name") and isinstance(values.get("agent_config"), dict):
        values["agent_config"]["agent_name"] = "(unnamed)"
        return path
    lists = [position for position, part in enumerate(path) if isinstance(part, int)]
    path = path[: lists[0]] if lists else path
    while len(path) > 1 and is_required(path):
        path = path[:-1]
    holder: Any = values
    for part in path[:-1]:
        holder = child(holder, part)
    if isinstance(holder, dict):  # else a part around it was taken out already
        holder.pop(path[-1], None)
    return path


def _complete(config: RunConfig, warnings: list[str]) -> RunConfig:
    """Fill in what settings mean: the metrics that run, and the threshold behind the deprecated `score_threshold`."""
    changes: dict[str, object] = {"metrics_to_run": metrics_that_run(config.metrics_to_run)}
    if config.score_threshold is not None:
        thresholds = dict(config.numeric_thresholds or {})
        used = "overall_score" not in thresholds
        thresholds.setdefault("overall_score", config.score_threshold)
        changes |= {"numeric_thresholds": thresholds, "score_threshold": None}
        effect = "is used as" if used else "is not used, as there is"
        warnings.append(f"score_threshold is deprecated; it {effect} numeric_thresholds.overall_score")
    return config.model_copy(update=changes)


def _hidden(path: KeyPath) -> bool:
    return (
        path[:2] == _API
        or path[-1:] in (("base_url",), ("api_key_env",))
        or any(isinstance(part, str) and is_secret_name(part) for part in path[-1:])
    )


def _follows(key: str, broken: list[str]) -> bool:
    """Whether a rule speaks of something that was taken out, and so says nothing new."""
    return any(f"{key}.".startswith(f"{place}.") or f"{place}.".startswith(f"{key}.") for place in broken)


def _in_order(problems: list[Problem]) -> list[Problem]:
    """By file, in the order in which the files come up, then by line."""
    unique = list(dict.fromkeys(problems))
    sources = list(dict.fromkeys(problem.source for problem in unique))
    return sorted(unique, key=lambda problem: (sources.index(problem.source), problem.line or 0))
