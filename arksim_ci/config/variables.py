"""`${VAR}` in the agent's endpoint and headers, and every secret that must not be written anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from arksim_ci.config.document import KeyPath
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.model import AgentConfig, ApiConfig, RunConfig
from arksim_ci.config.providers import ProviderSettings, key_values, provider_settings
from arksim_ci.config.validation import is_secret_name
from arksim_ci.config.variable_names import refusal

__all__ = [
    "ProviderSettings",
    "provider_settings",
    "resolve_agent",
    "secrets",
    "short_secret_warnings",
    "variable_mistakes",
]

MIN_SECRET_CHARACTERS = 8
"""A shorter secret is not replaced in what is written: it would tear holes into ordinary text."""

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_SCHEME = re.compile(r"[A-Za-z][\w-]*\s+(\S.*)")
_API = ("agent_config", "api_config")


def resolve_agent(config: RunConfig, environment: Mapping[str, str]) -> AgentConfig:
    """The agent's configuration with every `${VAR}` filled in.

    Raises:
        ConfigError: there is no agent, or a variable is unset or refused.
    """
    agent = config.agent_config
    if agent is None:
        raise ConfigError(Problem("is missing", key="agent_config"))
    if agent.api_config is None:
        return agent
    wrong = variable_mistakes(agent.api_config, environment)
    if wrong:
        raise ConfigError(*(Problem(message, key=".".join(map(str, path))) for path, message in wrong))
    filled = {
        "endpoint": fill(agent.api_config.endpoint, environment),
        "headers": {name: fill(value, environment) for name, value in agent.api_config.headers.items()},
    }
    return agent.model_copy(update={"api_config": agent.api_config.model_copy(update=filled)})


def fill(text: str, environment: Mapping[str, str]) -> str:
    """Fill in `${VAR}`; outer spaces and line breaks of a value, as secrets often have them, are dropped."""
    return _VARIABLE.sub(lambda match: environment.get(match.group(1), "").strip(), text)


def variable_mistakes(api: ApiConfig, environment: Mapping[str, str]) -> list[tuple[KeyPath, str]]:
    """What is wrong with the variables in the endpoint and the headers: unset, refused, or no variable at all."""
    found: list[tuple[KeyPath, str]] = []
    for path, text in _texts(api):
        for name in dict.fromkeys(_VARIABLE.findall(text)):
            reason = refusal(name)
            if reason is None and not environment.get(name, "").strip():
                reason = (
                    f"the variable {name} is not set, or empty (in a workflow: set it under `env:` of the step, for a "
                    "secret from `secrets`)"
                )
            if reason is not None:
                found.append((path, reason))
        if "${" in _VARIABLE.sub("", text):
            found.append((path, "`${` is not closed; write ${NAME}"))
    return found


def secrets(config: RunConfig, environment: Mapping[str, str]) -> list[str]:
    """Every value that must be replaced before anything is written or sent, longest first.

    These are the values of `${VAR}`, the values of headers whose name speaks of a secret (with and without their scheme
    word), secrets inside URLs, and the keys of the providers; 8 characters or more.
    """
    values = {value for _, value in _secrets(config, environment) if len(value) >= MIN_SECRET_CHARACTERS}
    return sorted(values, key=lambda value: (-len(value), value))


def short_secret_warnings(config: RunConfig, environment: Mapping[str, str]) -> list[str]:
    """A warning for each place whose secret is too short to be replaced."""
    places: dict[str, int] = {}
    for place, value in _secrets(config, environment):
        places[place] = max(places.get(place, 0), len(value))
    return [
        f"{place} is shorter than {MIN_SECRET_CHARACTERS} characters, so it is not hidden in what is written"
        for place, length in places.items()
        if 0 < length < MIN_SECRET_CHARACTERS
    ]


def _secrets(config: RunConfig, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Secrets with the place that they come from."""
    for value in key_values(config, environment):
        yield "a provider's key", value
    if config.base_url:
        yield from (("a secret in base_url", value) for value in _in_url(config.base_url))
    api = config.agent_config.api_config if config.agent_config else None
    if api is None:
        return
    for _, text in _texts(api):
        for name in _VARIABLE.findall(text):
            if refusal(name) is None:
                yield f"the value of ${{{name}}}", environment.get(name, "").strip()
    yield from (("a secret in the endpoint", value) for value in _in_url(fill(api.endpoint, environment)))
    for name, text in api.headers.items():
        if is_secret_name(name):
            yield from ((f"the value of the header {name}", value) for value in _in_header(fill(text, environment)))


def _in_header(value: str) -> Iterator[str]:
    value = value.strip()
    yield value
    scheme = _SCHEME.fullmatch(value)
    if scheme:
        yield scheme.group(1)
    for pair in value.split(";"):
        _, equals, part = pair.partition("=")
        if equals and part.strip():
            yield part.strip().strip('"')


def _in_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        found = [parts.password or ""]
    except ValueError:
        return
    found += [value for name, value in parse_qsl(parts.query) if is_secret_name(name) or name.casefold() == "sig"]
    for value in found:
        if value:
            yield value
            yield unquote(value)


def _texts(api: ApiConfig) -> Iterator[tuple[KeyPath, str]]:
    yield (*_API, "endpoint"), api.endpoint
    for name, value in api.headers.items():
        yield (*_API, "headers", name), value
