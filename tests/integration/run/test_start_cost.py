"""A configuration error is told at once: it costs little CPU, and nothing that only a run needs is imported."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Project, clean_environment, command_line, scenario

HEAVY = {"openai", "httpx2", "aiohttp", "jinja2", "rich", "markdown_it", "a2a"}
MOST_SECONDS = 0.35


def seconds_of(arguments: list[str], code: int) -> float:
    """The CPU seconds of a command, user and system: the best of three, or of up to six on a busy machine."""
    found: list[float] = []
    while len(found) < 3 or (min(found) > MOST_SECONDS and len(found) < 6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command_line(*arguments), capture_output=True, text=True, check=False, env=clean_environment({})
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == code, done.stderr
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def imported(arguments: list[str]) -> set[str]:
    """The top packages that a command imports, by `-X importtime`."""
    python, *rest = command_line(*arguments)
    done = subprocess.run(
        [python, "-X", "importtime", *rest], capture_output=True, text=True, check=False, env=clean_environment({})
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert len(lines) > 100
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "keys",
    [
        {"numeric_threshold": {"faithfulness": 3}},
        {"numeric_thresholds": {"faithfullness": 3}, "max_turns": 0},
        {"provider": "openai", "base_url": None},
        {"scenario_file_path": "./nowhere.json"},
    ],
    ids=["unknown key", "unknown metric", "no key", "no file"],
)
@pytest.mark.parametrize("command", ["validate", "simulate-evaluate"])
def test_a_config_error_is_cheap(project: Project, keys: dict[str, Any], command: str) -> None:
    project.config |= keys
    arguments = [command, str(project.write())]
    assert imported(arguments) & HEAVY == set()
    seconds = seconds_of(arguments, 2)
    assert seconds <= MOST_SECONDS, f"{seconds:.2f} s"


def test_a_mistake_in_a_large_scenario_file_is_cheap_too(project: Project) -> None:
    project.scenarios = [scenario(f"s{number}") for number in range(200)]
    project.scenarios[150]["gaol"] = "typing mistake"
    arguments = ["simulate-evaluate", str(project.write())]
    assert imported(arguments) & HEAVY == set()
    assert seconds_of(arguments, 2) <= MOST_SECONDS


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["validate", "--help"], 0), (["nope"], 2), ([], 2)]
)
def test_help_and_version_are_cheap(arguments: list[str], code: int) -> None:
    assert imported(arguments) & HEAVY == set()
    assert seconds_of(arguments, code) <= MOST_SECONDS


def test_the_list_of_commands_needs_no_settings() -> None:
    assert imported(["--help"]) & {*HEAVY, "pydantic", "yaml"} == set()


def test_importing_the_package_imports_nothing_of_it(tmp_path: Path) -> None:
    script = "import sys, json, arksim_ci; print(json.dumps([name for name in sys.modules if name.startswith(('arksim_ci.', 'pydantic'))]))"  # fmt: skip
    python = command_line()[0]
    done = subprocess.run(
        [python, "-c", script], capture_output=True, text=True, check=True, env=clean_environment({}), cwd=tmp_path
    )
    assert json.loads(done.stdout) == []
