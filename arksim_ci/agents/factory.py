"""From the configuration to the way to the agent."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from arksim_ci.agents.agent import AgentConnection
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.model import AgentConfig, ApiConfig, TraceReceiverConfig

if TYPE_CHECKING:
    from arksim_ci.user_code.host import UserCodeHost

logger = logging.getLogger(__name__)


def connect(
    config: AgentConfig,
    *,
    endpoint: str,
    headers: Mapping[str, str],
    timeout_seconds: float,
    host: UserCodeHost,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    now: Callable[[], float] = time.time,
    trace_receiver: TraceReceiverConfig | None = None,
    note: Callable[[str], None] = logger.warning,
) -> AgentConnection:
    """Make the connection that a run's conversations share. Nothing is sent yet; the trace receiver's port is taken.

    Args:
        config: the agent under test.
        endpoint: `api_config.endpoint` with every `${VAR}` filled in; empty where the agent has none.
        headers: `api_config.headers` with every `${VAR}` filled in.
        timeout_seconds: for one request, from connecting to the last byte of the answer.
        host: runs the user's Python, for a custom agent.
        sleep: waits some seconds, between the tries of a request.
        now: seconds since the epoch.
        trace_receiver: where the agent's traces come in, if they do. Needs a running event loop.
        note: is told what a user should know of the traces.

    Raises:
        ConfigError: the agent can't be reached in this way, or the trace receiver's port is not free.
    """
    traced = trace_receiver is not None and trace_receiver.enabled
    connection = _connect(config, endpoint, headers, timeout_seconds, host, sleep, now, traced=traced)
    if trace_receiver is None or not traced:
        return connection
    from arksim_ci.agents.traces import TracedConnection, TraceReceiver  # noqa: PLC0415

    return TracedConnection(connection, TraceReceiver(trace_receiver, note))


def _connect(
    config: AgentConfig,
    endpoint: str,
    headers: Mapping[str, str],
    timeout_seconds: float,
    host: UserCodeHost,
    sleep: Callable[[float], Awaitable[object]],
    now: Callable[[], float],
    *,
    traced: bool,
) -> AgentConnection:
    if config.agent_type == "custom":
        from arksim_ci.agents.custom import CustomConnection  # noqa: PLC0415

        return CustomConnection(config, host)
    _check(config.api_config, endpoint)
    from arksim_ci.agents.chat_completions import ChatCompletionsConnection  # noqa: PLC0415
    from arksim_ci.agents.transport import AgentHttp  # noqa: PLC0415

    http = AgentHttp(endpoint, headers, timeout_seconds, sleep=sleep, now=now)
    if config.agent_type == "a2a":
        from arksim_ci.agents.a2a import A2AConnection  # noqa: PLC0415

        _need("a2a", "agent_type", "agents of type a2a need the package a2a-sdk: pip install 'arksim-action[a2a]'")
        return A2AConnection(http, endpoint, timeout_seconds, sleep=sleep, traced=traced)
    return ChatCompletionsConnection(http, config.api_config.body if config.api_config else None, traced=traced)


def _need(module: str, key: str, message: str) -> None:
    """See that a package of an extra is installed, without loading it."""
    if importlib.util.find_spec(module) is None:
        raise _error(key, message)


def _check(api: ApiConfig | None, endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise _error("api_config.endpoint", "the endpoint must be a URL like https://host:port/path")
    body = (api.body if api else None) or {}
    try:
        json.dumps(body)
    except (TypeError, ValueError) as error:
        raise _error("api_config.body", f"can't be sent as JSON: {error}") from None
    messages = body.get("messages")
    if messages is not None and not (isinstance(messages, list) and all(isinstance(m, dict) for m in messages)):
        raise _error("api_config.body.messages", "must be a list of messages like {role: system, content: ...}")


def _error(key: str, message: str) -> ConfigError:
    return ConfigError(Problem(message, key=f"agent_config.{key}"))
