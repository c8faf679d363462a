"""The rules that tie settings to one another and to the command. Each yields a place and what is wrong there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from arksim_ci.config.agent_rules import agent_mistakes, agent_warnings, url_mistake
from arksim_ci.config.document import KeyPath
from arksim_ci.config.model import RunConfig
from arksim_ci.config.path_rules import file_mistake, path_mistakes
from arksim_ci.config.variable_names import refusal

if TYPE_CHECKING:
    from arksim_ci.schema.verdict import Command

LoadCommand: TypeAlias = "Command | Literal['validate']"
"""The command that a configuration is loaded for. `validate` checks what the configuration is made for."""

Found = tuple[KeyPath, str]


def mistakes(
    config: RunConfig, config_file: Path, command: LoadCommand, environment: Mapping[str, str]
) -> Iterator[Found]:
    """Everything that is wrong with settings of the right types, apart from metric names (`config.checks`)."""
    yield from _command_mistakes(config, command)
    if config.agent_config is not None and command_for(config, command) != "evaluate":
        yield from agent_mistakes(config.agent_config, environment)
    yield from _llm_mistakes(config)
    yield from path_mistakes(config, config_file)
    if config.simulated_user_prompt_template is not None:
        yield from _template_mistakes(config.simulated_user_prompt_template)


def warnings(config: RunConfig) -> Iterator[str]:
    """What a reader should know of settings that are allowed but do nothing."""
    if config.agent_config is not None:
        yield from agent_warnings(config.agent_config)
    if config.entry_function is not None and config.code_file_path is None and not config.code_paths:
        yield "entry_function is not used: neither code_file_path nor code_paths is set"


def command_for(config: RunConfig, command: LoadCommand) -> Command:
    """The command that `validate` stands for: what the configuration's agent or simulation file is there for."""
    if command != "validate":
        return command
    judges_only = config.agent_config is None and config.simulation_file_path is not None
    return "evaluate" if judges_only else "simulate-evaluate"


def _command_mistakes(config: RunConfig, command: LoadCommand) -> Iterator[Found]:
    actual = command_for(config, command)
    if config.scenario_file_path is None:
        yield ("scenario_file_path",), f"is missing; {actual} needs the path to scenarios.json"
    elif mistake := file_mistake(config.scenario_file_path):
        yield ("scenario_file_path",), mistake
    if actual == "evaluate":
        if config.simulation_file_path is None:
            yield ("simulation_file_path",), "is missing; evaluate needs the path to simulation.json"
        elif mistake := file_mistake(config.simulation_file_path):
            yield ("simulation_file_path",), mistake
    elif config.agent_config is None:
        yield ("agent_config",), f"is missing; {actual} needs it, or agent_config_file_path"


def _llm_mistakes(config: RunConfig) -> Iterator[Found]:
    if config.provider == "openai_compatible" and not config.base_url:
        yield ("base_url",), "is missing; the provider openai_compatible needs it"
    if config.base_url is not None:
        if "${" in config.base_url:
            yield ("base_url",), "can't hold ${VAR}; that works in the agent's endpoint and headers"
        elif mistake := url_mistake(config.base_url):
            yield ("base_url",), mistake
    if config.api_key_env is not None and (reason := refusal(config.api_key_env)):
        yield ("api_key_env",), reason
    priced = config.provider == "offline" or config.model in (config.prices or {})
    if config.max_cost_usd is not None and not priced:
        yield ("max_cost_usd",), f'needs the price of the model "{config.model}"; add it to prices'


def _template_mistakes(template: str) -> Iterator[Found]:
    import jinja2  # noqa: PLC0415  (needed only where a template is set)

    path = ("simulated_user_prompt_template",)
    try:
        jinja2.Environment().parse(template)  # noqa: S701  (nothing is rendered here)
    except jinja2.TemplateSyntaxError as error:
        yield path, f"is not a valid Jinja2 template, in its line {error.lineno}: {error.message}"
    except RecursionError:
        yield path, "is not a usable Jinja2 template: it is nested too deeply"
