"""Where a provider is reached and with which key. The presets stand in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.model import Provider, RunConfig
from arksim_ci.config.variable_names import refusal

DEFAULT_AZURE_API_VERSION = "2024-10-21"
"""The first stable version of Azure OpenAI's API that has structured output."""


@dataclass(frozen=True, slots=True)
class Preset:
    """What is known of a provider. The first variable that is set counts."""

    base_url: str | None
    base_url_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True


PRESETS: Mapping[Provider, Preset] = {
    "openai": Preset("https://api.openai.com/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",)),
    "azure": Preset(None, ("AZURE_OPENAI_ENDPOINT",), ("AZURE_OPENAI_API_KEY",)),
    "anthropic": Preset("https://api.anthropic.com/v1/", (), ("ANTHROPIC_API_KEY",)),
    "google": Preset(
        "https://generativelanguage.googleapis.com/v1beta/openai/", (), ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
    "ollama": Preset("http://localhost:11434/v1", needs_key=False),
    "openai_compatible": Preset(None, needs_key=False),
    "offline": Preset(None, needs_key=False),
}

PROVIDER_ALIASES: Mapping[str, Provider] = {"claude": "anthropic", "gemini": "google"}
"""ArkSim's older names."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How the LLM is reached.

    `base_url` is None for `offline` alone. `api_key` is None where the provider needs none. `api_key_variable` names where
    the key comes from, for messages. The Azure fields are None for every other provider. `account_headers` name the
    organization and project of an OpenAI account; no other provider is told.
    """

    provider: Provider
    model: str
    base_url: str | None
    api_key: str | None = field(repr=False)
    api_key_variable: str | None
    azure_deployment: str | None = None
    azure_api_version: str | None = None
    account_headers: Mapping[str, str] = field(default_factory=dict)


_ACCOUNT_VARIABLES: Mapping[str, str] = {
    "OPENAI_ORG_ID": "OpenAI-Organization",
    "OPENAI_PROJECT_ID": "OpenAI-Project",
}


def provider_settings(config: RunConfig, environment: Mapping[str, str], api_key: str = "") -> ProviderSettings:
    """Find the provider's endpoint and key.

    Args:
        config: the run's settings.
        environment: the environment's variables.
        api_key: a key that was given directly, for example by the action's input `api-key`; it beats every variable.

    Raises:
        ConfigError: a key or an endpoint is missing; it says which variable to set.
    """
    preset = PRESETS[config.provider]
    base_url = config.base_url or _first(environment, preset.base_url_variables)[1] or preset.base_url
    problems: list[Problem] = []
    if config.provider == "azure" and not base_url:
        problems.append(Problem("the provider azure needs the variable AZURE_OPENAI_ENDPOINT, or the key base_url"))
    if config.provider == "openai_compatible" and not base_url:
        problems.append(Problem("the provider openai_compatible needs base_url"))
    variable, key = _key(config, environment, preset, api_key.strip(), problems)
    if problems:
        raise ConfigError(*problems)
    azure = config.provider == "azure"
    deployments = ("AZURE_OPENAI_DEPLOYMENT_NAME", "AZURE_OPENAI_DEPLOYMENT")
    versions = ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")
    return ProviderSettings(
        provider=config.provider,
        model=config.model,
        base_url=base_url,
        api_key=key,
        api_key_variable=variable,
        azure_deployment=_first(environment, deployments)[1] or config.model if azure else None,
        azure_api_version=_first(environment, versions)[1] or DEFAULT_AZURE_API_VERSION if azure else None,
        account_headers=_account_headers(environment) if config.provider == "openai" else {},
    )


def key_values(config: RunConfig, environment: Mapping[str, str]) -> list[str]:
    """Every provider's key that the environment holds, whichever is used: all of them must stay out of what is written."""
    names = {name for preset in PRESETS.values() for name in preset.key_variables}
    if config.api_key_env and refusal(config.api_key_env) is None:
        names.add(config.api_key_env)
    return [value for name in sorted(names) if (value := environment.get(name, "").strip())]


def _key(
    config: RunConfig, environment: Mapping[str, str], preset: Preset, given: str, problems: list[Problem]
) -> tuple[str | None, str | None]:
    if config.provider == "offline":
        return None, None
    names = (config.api_key_env,) if config.api_key_env else preset.key_variables
    if given:
        name, key = "the input `api-key`", given
    elif config.api_key_env and refusal(config.api_key_env):
        return None, None  # reported by the check of api_key_env
    else:
        name, key = _first(environment, names)
    if key and not (key.isascii() and key.isprintable()):
        problems.append(Problem(f"the key in {name} holds characters that no HTTP header can carry"))
    if key:
        return name, key
    if preset.needs_key or config.api_key_env:
        wanted = " or ".join(names)
        problems.append(
            Problem(
                f"there is no key for the provider {config.provider}: set the variable {wanted} "
                "(in a workflow: the input `api-key`, from a secret), or try it without a key: provider offline"
            )
        )
    return (names[0] if names else None), None


def _account_headers(environment: Mapping[str, str]) -> Mapping[str, str]:
    values = {header: environment.get(name, "").strip() for name, header in _ACCOUNT_VARIABLES.items()}
    return {header: value for header, value in values.items() if value.isascii() and value.isprintable() and value}


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    """The first variable that is set, with its value; an empty value counts as unset."""
    for name in names:
        if value := environment.get(name, "").strip():
            return name, value
    return "", ""
