"""Which configurations an agent can't be reached with."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.agents.factory import connect
from arksim_ci.config.errors import ConfigError
from arksim_ci.config.model import AgentConfig, ApiConfig
from arksim_ci.user_code.host import UserCodeHost


async def _no_llm(*_: object) -> object:
    raise AssertionError("nobody asks")


HOST = UserCodeHost(Path(sys.executable), {}, ask_llm=_no_llm, call_timeout_seconds=1, log=print)


def _agent(**api: Any) -> AgentConfig:
    return AgentConfig(agent_type="chat_completions", agent_name="a", api_config=ApiConfig(endpoint="x", **api))


@pytest.mark.parametrize(
    "endpoint", ["", "localhost:8000/chat", "ftp://host/x", "http://", "http://[bad", "https://host:99999/"]
)
def test_an_endpoint_that_is_no_url_is_a_config_error(endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"agent_config\.api_config\.endpoint: the endpoint must be a URL"):
        connect(_agent(), endpoint=endpoint, headers={}, timeout_seconds=1, host=HOST)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": "hello"}, "must be a list of messages"),
        ({"messages": ["hello"]}, "must be a list of messages"),
        ({"since": datetime.date(2026, 1, 1)}, "can't be sent as JSON"),
    ],
)
def test_a_body_that_cannot_be_sent_is_a_config_error(body: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        connect(_agent(body=body), endpoint="http://localhost/", headers={}, timeout_seconds=1, host=HOST)


def test_an_a2a_agent_without_the_sdk_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AgentConfig(agent_type="a2a", agent_name="a", api_config=ApiConfig(endpoint="http://localhost/"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"agent_config\.agent_type: .*pip install 'arksim-action\[a2a\]'"):
        connect(config, endpoint="http://localhost/", headers={}, timeout_seconds=1, host=HOST)
