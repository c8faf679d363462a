"""Everything that is checked before the first call: the configuration, the files it names, the user's own Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from arksim_ci.config.checks import check_metric_names
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.load import examine
from arksim_ci.config.loaded import LoadedConfig
from arksim_ci.config.model import AgentConfig, RunConfig
from arksim_ci.config.rules import LoadCommand, command_for
from arksim_ci.config.run_inputs import RunInputs, load_run_inputs
from arksim_ci.config.variables import resolve_agent, secrets
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Simulation

if TYPE_CHECKING:
    from arksim_ci.config.document import Document
    from arksim_ci.config.overrides import Overrides
    from arksim_ci.config.providers import ProviderSettings
    from arksim_ci.schema.verdict import Command


class LoadsUserCode(Protocol):
    """Whoever loads the user's Python."""

    async def start(self) -> None:
        """Start the process that it runs in.

        Raises:
            ConfigError: the interpreter can't be used.
        """
        ...

    async def load_metrics(self, paths: Sequence[Path]) -> list[CustomMetric]:
        """Load metric files.

        Raises:
            ConfigError: a file or a class in it can't be loaded.
        """
        ...

    async def load_agent(self, module_path: Path, class_name: str | None = None) -> str:
        """Load a custom agent's file and name its class.

        Raises:
            ConfigError: the file or the class can't be loaded.
        """
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that can begin: everything was read and checked.

    `agent` (with every `${VAR}` filled in) is None for `evaluate`.
    """

    inputs: RunInputs
    command: Command
    agent: AgentConfig | None
    custom_metrics: tuple[CustomMetric, ...]
    secrets: tuple[str, ...]

    @property
    def config(self) -> RunConfig:
        """The settings."""
        return self.inputs.loaded.config

    @property
    def scenarios(self) -> Scenarios:
        """The scenario file."""
        return self.inputs.scenarios

    @property
    def simulation(self) -> Simulation | None:
        """The simulation file, for `evaluate`."""
        return self.inputs.simulation

    @property
    def provider(self) -> ProviderSettings:
        """Who judges."""
        return self.inputs.provider


async def prepare(
    path: Path,
    overrides: Sequence[Overrides],
    command: LoadCommand,
    environment: Mapping[str, str],
    user_code: Callable[[RunConfig], LoadsUserCode],
    api_key: str = "",
    document: Document | None = None,
) -> Plan:
    """Read and check everything that a run needs.

    Args:
        path: config.yaml.
        overrides: settings that beat the file; each beats those before it.
        command: what is to be run; `validate` stands for what the configuration is made for.
        environment: the environment's variables.
        user_code: gives whoever loads the user's Python; asked only where there is some.
        api_key: the provider's key, where it was given directly.
        document: the configuration itself, where it is at hand and `path` is no file.

    Raises:
        ConfigError: with every problem that was found.
    """
    problems: list[Problem] = []
    inputs = None
    try:
        inputs = load_run_inputs(
            path, overrides, environment=environment, command=command, api_key=api_key, document=document
        )
        loaded = inputs.loaded
    except ConfigError as error:
        problems += error.problems
        loaded, _ = examine(path, overrides, environment=environment, command=command, document=document)
    custom_metrics = await _load_user_code(loaded, command_for(loaded.config, command), user_code, problems)
    if inputs and not problems:
        problems += _template_problems(inputs)
    if problems or inputs is None:
        raise ConfigError(*dict.fromkeys(problems))

    config, actual = loaded.config, command_for(loaded.config, command)
    return Plan(
        inputs=inputs,
        command=actual,
        agent=None if actual == "evaluate" else resolve_agent(config, environment),
        custom_metrics=custom_metrics,
        secrets=tuple({*secrets(config, environment), *([api_key] if api_key else [])}),
    )


def _template_problems(inputs: RunInputs) -> tuple[Problem, ...]:
    """What is wrong with the user's own template for the simulated user, found by rendering it for every scenario."""
    template = inputs.loaded.config.simulated_user_prompt_template
    if template is None:
        return ()
    from arksim_ci.simulation.prompts import scenario_prompts  # noqa: PLC0415  (brings Jinja2)

    try:
        scenario_prompts(template, inputs.scenarios.scenarios)
    except ConfigError as error:
        return error.problems
    return ()


async def _load_user_code(
    loaded: LoadedConfig,
    command: Command,
    user_code: Callable[[RunConfig], LoadsUserCode],
    problems: list[Problem],
) -> tuple[CustomMetric, ...]:
    """Load the user's Python, and hold every name in the gates to the metrics that are there.

    A file that is missing is reported by the configuration's rules.
    """
    config = loaded.config
    paths = () if command == "simulate" else config.custom_metrics_file_paths
    agent = config.agent_config.custom_config if config.agent_config and command != "evaluate" else None
    metrics: tuple[CustomMetric, ...] = ()
    try:
        if agent and agent.module_path.is_file():
            loader = user_code(config)
            await loader.start()
            await loader.load_agent(agent.module_path, agent.class_name)
        if paths and all(path.is_file() for path in paths):
            loader = user_code(config)
            await loader.start()
            metrics = tuple(await loader.load_metrics(paths))
            problems += check_metric_names(loaded, metrics)
    except ConfigError as error:
        problems += error.problems
    return metrics
