"""Everything that a run starts from, checked in one go: configuration, scenarios, simulation file, provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from arksim_ci.config.document import Document
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.load import examine
from arksim_ci.config.loaded import LoadedConfig
from arksim_ci.config.overrides import Overrides
from arksim_ci.config.path_rules import file_mistake
from arksim_ci.config.providers import ProviderSettings, provider_settings
from arksim_ci.config.rules import LoadCommand, command_for
from arksim_ci.config.scenarios import load_scenarios, load_simulation, match_scenarios
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Simulation

T = TypeVar("T")


@dataclass(frozen=True)
class RunInputs:
    """What a run starts from. `simulation` is there for `evaluate` alone. `warnings` are plain sentences."""

    loaded: LoadedConfig
    scenarios: Scenarios
    simulation: Simulation | None
    provider: ProviderSettings
    warnings: tuple[str, ...] = field(default=())


def load_run_inputs(
    path: Path,
    overrides: Sequence[Overrides] = (),
    *,
    environment: Mapping[str, str],
    command: LoadCommand,
    api_key: str = "",
    document: Document | None = None,
) -> RunInputs:
    """Load and check everything that a run starts from.

    Args:
        path: config.yaml.
        overrides: settings that beat the file; each beats those before it.
        environment: the environment's variables.
        command: what is to be run.
        api_key: a key that was given directly; it beats the variables.
        document: the configuration itself, where it is at hand and `path` is no file.

    Raises:
        ConfigError: with every problem of all files. Names of custom metrics are checked once their files have loaded,
            with `check_metric_names`.
    """
    loaded, problems = examine(path, overrides, environment=environment, command=command, document=document)
    config = loaded.config
    scenarios = simulation = provider = None
    if config.scenario_file_path is not None and not file_mistake(config.scenario_file_path):
        scenarios = _try(load_scenarios, config.scenario_file_path, problems)
    judged = command_for(config, command) == "evaluate" and config.simulation_file_path is not None
    if judged and config.simulation_file_path and not file_mistake(config.simulation_file_path):
        simulation = _try(load_simulation, config.simulation_file_path, problems)
    warnings = list(loaded.warnings)
    if scenarios is not None and simulation is not None and config.simulation_file_path is not None:
        file = config.simulation_file_path
        warnings += _try(lambda _: match_scenarios(simulation, scenarios, file), file, problems) or []
    told = {problem.key for problem in problems}
    if not told & {"provider", "base_url", "api_key_env"}:
        provider = _try(lambda _: provider_settings(config, environment, api_key), path, problems)
    if problems or scenarios is None or provider is None:
        raise ConfigError(*problems)
    return RunInputs(loaded, scenarios, simulation, provider, tuple(warnings))


def _try(read: Callable[[Path], T], path: Path, problems: list[Problem]) -> T | None:
    try:
        return read(path)
    except ConfigError as error:
        problems += error.problems
        return None
