"""A small project on disk, and the problems that loading it gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.load import LoadedConfig, Overrides, load_config, parse_overrides
from arksim_ci.config.rules import LoadCommand

ENVIRONMENT = {"OPENAI_API_KEY": "sk-0123456789"}

AGENT = """\
agent_config:
  agent_type: chat_completions
  agent_name: support
  api_config:
    endpoint: http://localhost:8000/v1/chat/completions
    body:
      messages: []
scenario_file_path: ./scenarios.json
"""


def scenario(**changes: object) -> dict[str, Any]:
    return {
        "scenario_id": "refund",
        "user_id": "user_1",
        "goal": "You want a refund.",
        "agent_context": "A shop.",
        "user_profile": "You are Ada.",
        "knowledge": [],
        **changes,
    }


def write(folder: Path, text: str = "", *, agent: str = AGENT, scenarios: Sequence[object] | None = None) -> Path:
    """Write config.yaml (`agent`, then `text`) and scenarios.json; returns the path of config.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    items = [scenario()] if scenarios is None else scenarios
    (folder / "scenarios.json").write_text(
        json.dumps({"schema_version": "v1", "scenarios": items}, indent=2), encoding="utf-8"
    )
    config = folder / "config.yaml"
    config.write_text(agent + text, encoding="utf-8")
    return config


def load(
    config: Path,
    *argv: str,
    environment: Mapping[str, str] = ENVIRONMENT,
    command: LoadCommand = "simulate-evaluate",
    overrides: Sequence[Overrides] = (),
    cwd: Path = Path("/cwd"),
) -> LoadedConfig:
    line = [Overrides(parse_overrides(argv), "the command line", cwd)] if argv else []
    return load_config(config, [*overrides, *line], environment=environment, command=command)


def problems(config: Path, *argv: str, **settings: Any) -> list[str]:
    """Every problem that loading gives, one line each, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load(config, *argv, **settings)
    return [str(problem).replace(f"{config.parent}/", "") for problem in caught.value.problems]
