"""What an agent's configuration needs besides the types of its keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from arksim_ci.config.document import KeyPath
from arksim_ci.config.model import AgentConfig, ApiConfig
from arksim_ci.config.path_rules import file_mistake
from arksim_ci.config.variables import fill, variable_mistakes

_AGENT: KeyPath = ("agent_config",)
_API: KeyPath = ("agent_config", "api_config")
_CUSTOM: KeyPath = ("agent_config", "custom_config")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

Found = tuple[KeyPath, str]
"""A place and what is wrong there."""


def agent_mistakes(agent: AgentConfig, environment: Mapping[str, str]) -> Iterator[Found]:
    """What is wrong with the agent's configuration."""
    if agent.agent_type == "custom":
        yield from _custom_mistakes(agent)
    elif agent.api_config is None:
        yield _API, f"is missing; {agent.agent_type} needs it, with the endpoint"
    else:
        yield from _api_mistakes(agent.agent_type, agent.api_config, environment)


def agent_warnings(agent: AgentConfig) -> Iterator[str]:
    """What a reader should know of the agent's configuration."""
    if agent.agent_type == "custom" and agent.api_config is not None:
        yield "agent_config.api_config is not used: agent_type is custom"
    if agent.agent_type != "custom" and agent.custom_config is not None:
        yield f"agent_config.custom_config is not used: agent_type is {agent.agent_type}"


def url_mistake(url: str) -> str | None:
    """Why this is no http(s) URL, or None. The URL itself is not repeated: it may hold a secret."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if usable and not re.search(r"\s", url):
        return None
    return "must be a URL that begins with http:// or https:// and names a host, without spaces"


def _custom_mistakes(agent: AgentConfig) -> Iterator[Found]:
    if agent.custom_config is None:
        yield _CUSTOM, "is missing; custom needs it, with module_path"
        return
    path = agent.custom_config.module_path
    mistake = file_mistake(path, ".py")
    if mistake:
        dotted = "; a dotted module name is not supported, give the path of its file" if path.suffix != ".py" else ""
        yield (*_CUSTOM, "module_path"), f"{mistake}{dotted}"
    name = agent.custom_config.class_name
    if name is not None and not name.isidentifier():
        yield (*_CUSTOM, "class_name"), "is not the name of a Python class"


def _api_mistakes(agent_type: str, api: ApiConfig, environment: Mapping[str, str]) -> Iterator[Found]:
    wrong = variable_mistakes(api, environment)
    yield from wrong
    unresolved = {path for path, _ in wrong}
    if (*_API, "endpoint") not in unresolved:
        mistake = url_mistake(fill(api.endpoint, environment))
        if mistake:
            yield (*_API, "endpoint"), mistake
    if agent_type == "chat_completions" and not api.body:
        yield (*_API, "body"), "is missing; chat_completions needs it, for example `body: {messages: []}`"
    if agent_type == "a2a" and api.body is not None:
        yield (*_API, "body"), "belongs to chat_completions; an a2a agent has no body"
    messages = (api.body or {}).get("messages", [])
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield (*_API, "body", "messages"), "must be a list of mappings with role and content"
    yield from _header_mistakes(api, environment, unresolved)


def _header_mistakes(api: ApiConfig, environment: Mapping[str, str], unresolved: set[KeyPath]) -> Iterator[Found]:
    seen: dict[str, str] = {}
    for name, text in api.headers.items():
        path = (*_API, "headers", name)
        if not _HEADER_NAME.fullmatch(name):
            yield path, "is not a name that an HTTP header can have"
        if name.casefold() in seen:
            yield path, f"stands twice, the other time as {seen[name.casefold()]}; headers match without regard to case"
        seen.setdefault(name.casefold(), name)
        value = fill(text, environment)
        if path not in unresolved and not all(c == "\t" or (c.isprintable() and ord(c) < 256) for c in value):
            yield (
                path,
                "holds characters that no HTTP header can carry (line breaks, control characters, or beyond Latin-1)",
            )
