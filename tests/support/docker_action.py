"""The action's container, started exactly as GitHub's runner starts it, and what is left when it has ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.docker import IMAGE, Docker, run_arguments
from tests.support.fake_github import FakeGitHub
from tests.support.fake_results_service import FakeResultsService, runtime_token
from tests.support.tools import ROOT

OWNER = 1001
"""The user of GitHub's runner: the workspace is its."""
HEAD_SHA = "4f2c81d09ab37e55c1d0b6f7a8e92d3344556677"
PULL_REQUEST = 7
EVENT = {
    "action": "synchronize",
    "number": PULL_REQUEST,
    "pull_request": {
        "number": PULL_REQUEST,
        "head": {"sha": HEAD_SHA, "ref": "feature", "repo": {"full_name": "org/shop", "fork": False}},
        "base": {"sha": "0" * 40, "ref": "main", "repo": {"full_name": "org/shop"}},
        "user": {"login": "dev", "type": "User"},
    },
    "repository": {"full_name": "org/shop", "default_branch": "main", "private": False},
    "sender": {"login": "dev"},
}
TOKEN = "ghs_e2e0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Ended:
    """A step that is over."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    workspace: Path
    seconds: float

    def file(self, path: str) -> Any:
        """A JSON file of the workspace."""
        return json.loads((self.workspace / path).read_text(encoding="utf-8"))

    def new_files(self, before: set[Path]) -> dict[str, int]:
        """What the step made in the workspace, with each one's owner."""
        made = [path for path in self.workspace.rglob("*") if path not in before]
        return {str(path.relative_to(self.workspace)): path.lstat().st_uid for path in made}


class Step:
    """One step of a job: its folders, its event, its variables."""

    def __init__(self, docker: Docker, folder: Path, github: FakeGitHub, results: FakeResultsService) -> None:
        self._docker = docker
        self.name = f"arksim-{uuid.uuid4().hex[:12]}"
        self.workspace = folder / "workspace"
        self._folders = {
            self.workspace: "/github/workspace",
            folder / "home": "/github/home",
            folder / "workflow": "/github/workflow",
            folder / "commands": "/github/file_commands",
            folder / "temp": "/github/runner_temp",
        }
        for path in self._folders:
            path.mkdir()
            os.chown(path, OWNER, OWNER)
        self._id = uuid.uuid4()
        self._output = self._command_file("set_output")
        self._summary = self._command_file("step_summary")
        self.event: dict[str, Any] = EVENT
        self.job = {**self._of_the_runner(results.url), **_of_the_job(github)}

    def write(self, path: str, text: str) -> None:
        """Put a file into the workspace, as a checkout does."""
        target = self.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        for each in (target, *target.relative_to(self.workspace).parents):
            os.chown(self.workspace / each, OWNER, OWNER)

    def files(self) -> set[Path]:
        """What is in the workspace now."""
        return set(self.workspace.rglob("*"))

    def run(self, inputs: Mapping[str, str], **job: str) -> Ended:
        """Run the step to its end. `inputs` are those of the workflow; `job` are variables that the job has besides."""
        with self.start(inputs, **job) as running:
            return running.end()

    def start(self, inputs: Mapping[str, str], **job: str) -> Running:
        """Start the step."""
        (self.workspace.parent / "workflow" / "event.json").write_text(json.dumps(self.event), encoding="utf-8")
        variables = {**self.job, **job, **passed_inputs(inputs)}
        process = subprocess.Popen(
            ["docker", *run_arguments(IMAGE, self._folders, variables, self.name)],
            env={**variables, **self._docker.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return Running(process, lambda: self._docker("rm", "--force", self.name), self._ended)

    def _ended(self, code: int, log: str, seconds: float) -> Ended:
        outputs = _read_outputs(self._output.read_text(encoding="utf-8"))
        return Ended(code, log, outputs, self._summary.read_text(encoding="utf-8"), self.workspace, seconds)

    def _command_file(self, kind: str) -> Path:
        path = self.workspace.parent / "commands" / f"{kind}_{self._id}"
        path.touch()
        os.chown(path, OWNER, OWNER)
        return path

    def _of_the_runner(self, results_url: str) -> dict[str, str]:
        commands = f"/github/file_commands/{{}}_{self._id}"
        return {
            "HOME": "/github/home",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": "/github/workspace",
            "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_OUTPUT": commands.format("set_output"),
            "GITHUB_STEP_SUMMARY": commands.format("step_summary"),
            "GITHUB_ENV": commands.format("set_env"),
            "GITHUB_PATH": commands.format("add_path"),
            "GITHUB_STATE": commands.format("save_state"),
            "RUNNER_TEMP": "/github/runner_temp",
            "RUNNER_TOOL_CACHE": "/opt/hostedtoolcache",
            "RUNNER_WORKSPACE": "/actions-runner/_work/shop",
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_NAME": "GitHub Actions 1",
            "RUNNER_ENVIRONMENT": "github-hosted",
            "ACTIONS_RUNTIME_TOKEN": runtime_token(),
            "ACTIONS_RUNTIME_URL": f"{results_url}/",
            "ACTIONS_RESULTS_URL": f"{results_url}/",
            "ACTIONS_CACHE_URL": f"{results_url}/",
        }


class Running:
    """A step that runs. `signal` reaches the docker command line, as when a job is cancelled."""

    def __init__(
        self, process: subprocess.Popen[bytes], remove: Callable[[], object], ended: Callable[[int, str, float], Ended]
    ) -> None:
        self._process = process
        self._remove = remove
        self._ended = ended
        self._began = time.monotonic()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays behind, whatever a test found."""
        if self._process.poll() is None:
            self._remove()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, timeout: float = 120) -> Ended:
        """Wait for the end."""
        try:
            output, _ = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._remove()
            output, _ = self._process.communicate()
            raise AssertionError(f"the step did not end:\n{output.decode(errors='replace')}") from None
        return self._ended(self._process.returncode, output.decode("utf-8"), time.monotonic() - self._began)


def passed_inputs(given: Mapping[str, str]) -> dict[str, str]:
    """The variables that carry inputs: every one that action.yml knows, with its default where the workflow sets none."""
    known = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert set(given) <= set(known), "the workflow sets an input that the action does not have"
    values = {name: _evaluate(str(spec.get("default", ""))) for name, spec in known.items()} | dict(given)
    return {f"INPUT_{name.upper()}": value for name, value in values.items()}


def _evaluate(default: str) -> str:
    contexts = {
        "github.token": TOKEN,
        "github.workflow": "Agent gate",
        "github.job": "gate",
        "strategy.job-index": "0",
        "github.event.workflow_run.id": "",
    }
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: contexts[found[1]], default)


def _of_the_job(github: FakeGitHub) -> dict[str, str]:
    return {
        "GITHUB_ACTION": "__org_arksim-action",
        "GITHUB_ACTION_REF": "v1",
        "GITHUB_ACTION_REPOSITORY": "org/arksim-action",
        "GITHUB_ACTOR": "dev",
        "GITHUB_ACTOR_ID": "1",
        "GITHUB_API_URL": github.url,
        "GITHUB_BASE_REF": "main",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_GRAPHQL_URL": github.graphql_url,
        "GITHUB_HEAD_REF": "feature",
        "GITHUB_JOB": "gate",
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_REF_NAME": "7/merge",
        "GITHUB_REF_PROTECTED": "false",
        "GITHUB_REF_TYPE": "branch",
        "GITHUB_REPOSITORY": "org/shop",
        "GITHUB_REPOSITORY_ID": "1",
        "GITHUB_REPOSITORY_OWNER": "org",
        "GITHUB_REPOSITORY_OWNER_ID": "1",
        "GITHUB_RETENTION_DAYS": "90",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": "4711",
        "GITHUB_RUN_NUMBER": "12",
        # A real host's name: others don't take artifacts.
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_SHA": "9" * 40,
        "GITHUB_TRIGGERING_ACTOR": "dev",
        "GITHUB_WORKFLOW": "Agent gate",
        "GITHUB_WORKFLOW_REF": "org/shop/.github/workflows/gate.yml@refs/pull/7/merge",
        "GITHUB_WORKFLOW_SHA": "9" * 40,
    }


def _read_outputs(text: str) -> dict[str, str]:
    """The outputs file as the runner reads it: `name=value`, or `name<<delimiter` and lines up to the delimiter."""
    outputs: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, multiline, delimiter = line.partition("<<")
        if not multiline or "=" in name:
            name, _, outputs[name] = line.partition("=")
            continue
        value = []
        for inner in lines:
            if inner == delimiter:
                break
            value.append(inner)
        outputs[name] = "\n".join(value)
    return outputs
