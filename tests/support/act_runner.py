"""Workflows run by `act`, with its artifact server, on this machine as the runner: the network is GitHub's."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import tools
from tests.support.docker import Docker
from tests.support.fake_github import FakeGitHub
from tests.support.fake_results_service import FakeResultsService, runtime_token

_OF_THE_ACTION = (
    "Dockerfile",
    ".dockerignore",
    "action.yml",
    "entrypoint.py",
    "composite",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "requirements",
    "arksim_ci",
    "examples",
)


@dataclass(frozen=True)
class Workflow:
    """A workflow that is over. `lines` are act's messages."""

    code: int
    lines: list[dict[str, Any]]
    artifacts: Path

    @property
    def log(self) -> str:
        return "\n".join(str(line.get("msg", "")).rstrip() for line in self.lines)

    def outputs(self, job: str) -> dict[str, str]:
        """What the steps of a job put out."""
        return {
            str(line["name"]): str(line["arg"])
            for line in self.lines
            if line.get("command") == "set-output" and line.get("jobID") == job
        }

    def summary(self, job: str) -> str:
        """The summaries of a job's steps."""
        return "\n".join(
            str(line["content"]) for line in self.lines if line.get("command") == "summary" and line.get("jobID") == job
        )

    def results(self) -> dict[str, str]:
        """How each job ended."""
        return {str(line["jobID"]): str(line["jobResult"]) for line in self.lines if "jobResult" in line}

    def artifact(self, name: str) -> Path:
        """An uploaded zip."""
        return self.artifacts / "1" / name / f"{name}.zip"


class Act:
    """A repository that has the action, and act to run workflows in it."""

    def __init__(
        self,
        containers: Docker | None,
        folder: Path,
        gateway: str,
        github: FakeGitHub,
        results: FakeResultsService | None = None,
    ) -> None:
        """Make the repository.

        Args:
            containers: for workflows that use the Docker action.
            folder: an empty one.
            gateway: this machine's address, as jobs see it.
            github: answers the API.
            results: takes artifacts; None: act's own server. With it, `actions/upload-artifact` is ours, over GitHub's own client.
        """
        self._containers = containers
        self._results = results
        self._folder = folder
        self._gateway = gateway
        self._github = github
        self.repository = folder / "repository"
        for name in _OF_THE_ACTION:
            _copy(tools.ROOT / name, self.repository / name)
        self._git("init", "--quiet", "--initial-branch", "main")
        self._git("remote", "add", "origin", "https://github.com/org/shop.git")

    def run(self, workflow: str, text: str, event_name: str, event: dict[str, Any]) -> Workflow:
        """Run a workflow file for an event."""
        file = self.repository / ".github" / "workflows" / workflow
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        (self._folder / "event.json").write_text(json.dumps(event), encoding="utf-8")
        self._git("add", "--all")
        self._git("-c", "user.name=dev", "-c", "user.email=dev@example.com", "commit", "--quiet", "--message", workflow)
        artifacts, cache = self._folder / "artifacts", self._folder / "cache"
        home = self._folder / "home"
        for path in (artifacts, cache, home):
            path.mkdir(exist_ok=True)
        with socket.socket() as probe:
            probe.bind((self._gateway, 0))
            port = probe.getsockname()[1]
        command = [str(tools.act()), event_name, "-W", str(file), "-e", str(self._folder / "event.json"), "--json"]
        command += [
            "-P",
            "ubuntu-latest=-self-hosted",
            "--pull=false",
            "--no-cache-server",
            "-s",
            "GITHUB_TOKEN=ghs_act0123456789",
        ]
        if self._results:
            command += self._with_our_results(self._results)
            _keep_tool_cache(cache)
        else:
            command += ["--artifact-server-path", str(artifacts)]
            command += ["--artifact-server-addr", self._gateway, "--artifact-server-port", str(port)]
        command += [
            "--env",
            f"GITHUB_API_URL={self._github.url}",
            "--env",
            f"GITHUB_GRAPHQL_URL={self._github.graphql_url}",
        ]
        command += [
            "--container-options",
            f"-v {cache}/act:{cache}/act",
        ]  # workspace, event and command files lie there
        daemon = self._containers.environment if self._containers else {}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CACHE_HOME": str(cache),
            **{name: value for name, value in daemon.items() if name == "DOCKER_HOST"},
        }
        done = subprocess.run(
            command, cwd=self.repository, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        lines = [json.loads(line) for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.startswith("{")]
        return Workflow(done.returncode, lines, artifacts)

    def _with_our_results(self, results: FakeResultsService) -> list[str]:
        upload = re.search(r"actions/upload-artifact@\w+", (tools.ROOT / "composite" / "action.yml").read_text())
        assert upload
        options = ["--local-repository", f"{upload[0]}={tools.ORACLES / 'upload-artifact'}"]
        variables = {
            "ACTIONS_RESULTS_URL": results.url,
            "ACTIONS_RUNTIME_TOKEN": runtime_token(),
            "ORACLES": str(tools.npm_tools()),
        }
        for name, value in variables.items():
            options += ["--env", f"{name}={value}"]
        return options

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.repository, check=True, capture_output=True)


def _keep_tool_cache(cache: Path) -> None:
    """Let act's jobs find the tool cache of earlier ones, as on a runner of one's own."""
    kept, link = tools.CACHE / "tool-cache", cache / "act" / "tool_cache"
    kept.mkdir(parents=True, exist_ok=True)
    link.parent.mkdir(exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(kept)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "results"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
