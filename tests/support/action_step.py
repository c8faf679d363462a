"""One step of a job, in this process: the action with a workspace, an event, a fake GitHub and a scripted LLM and agent."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arksim_ci.action import run
from arksim_ci.action.world import World
from arksim_ci.agents.reach import Accepts, accepts_connections
from arksim_ci.github.inputs import variable
from tests.support.fake_github import REPOSITORY, FakeGitHub
from tests.support.fake_results_service import FakeResultsService, runtime_token
from tests.support.fake_time import FakeTime
from tests.support.project import Project
from tests.support.scripted_server import ScriptedServer

SHA = "4f2c81d09ab37e55c1d0b6f7a8e92d3344556677"
TOKEN = "ghs_0123456789abcdef"
NUMBER = 12


@dataclass
class Ended:
    """A step that is over. `log` is what GitHub would read."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    workspace: Path

    def annotations(self, level: str) -> list[str]:
        """The annotations of a level, decoded."""
        found = re.findall(rf"^::{level}(?: [^:]*)?::(.*)$", self.log, re.MULTILINE)
        return [text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%") for text in found]

    def file(self, name: str) -> Any:
        """A JSON file of the output folder."""
        return json.loads((self.workspace / "results" / "evaluation" / name).read_text(encoding="utf-8"))


@dataclass
class Step:
    """What a step is given; change it before `run`.

    The workspace has config.yaml and scenarios.json as `project` says. Without `results`, artifacts have no place to go.
    """

    folder: Path
    server: ScriptedServer
    github: FakeGitHub
    results: FakeResultsService | None = None
    event: str = "pull_request"
    payload: dict[str, Any] = field(default_factory=lambda: pull_request())
    inputs: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    run_number: int = 5
    attempt: int = 1
    in_container: bool = False
    routes: str = ""
    accepts: Accepts = accepts_connections
    time: FakeTime = field(default_factory=FakeTime)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.project = Project(self.workspace, self.server)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def variables(self) -> dict[str, str]:
        """The process's environment, as the runner sets it."""
        given = {
            "config": "config.yaml",
            "github-token": TOKEN,
            "comment-key": "Gate/test/0",
            "upload-artifacts": "true" if self.results else "false",
            **self.inputs,
        }
        runner = {
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_SHA": "d" * 40,
            "GITHUB_REF": f"refs/pull/{NUMBER}/merge",
            "GITHUB_ACTOR": "ada",
            "GITHUB_RUN_ID": "77",
            "GITHUB_RUN_NUMBER": str(self.run_number),
            "GITHUB_RUN_ATTEMPT": str(self.attempt),
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/gate.yml@refs/heads/main",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_GRAPHQL_URL": self.github.graphql_url,
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "PATH": "/usr/bin:/bin",
        }
        if self.results:
            runner |= {"ACTIONS_RUNTIME_TOKEN": runtime_token(), "ACTIONS_RESULTS_URL": self.results.url}
        return {**runner, **self.environment, **{variable(name): value for name, value in given.items()}}

    async def run(self) -> Ended:
        """Run the action."""
        self.project.write()
        (self.folder / "event.json").write_text(json.dumps(self.payload), encoding="utf-8")
        stream = io.StringIO()
        world = World(
            self.variables(),
            stream,
            self.stop,
            self.in_container,
            self.routes,
            user_venv=self.folder / "user",
            accepts=self.accepts,
            monotonic=self.time.clock,
            sleep=self.time.sleep,
        )
        code = await run(world)
        return Ended(
            code, stream.getvalue(), _outputs(self.folder / "output"), _text(self.folder / "summary"), self.workspace
        )


def pull_request(head: str | None = f"{REPOSITORY}:fix", sha: str = SHA, number: int = NUMBER) -> dict[str, Any]:
    """The payload of a pull request's event; `head` is `owner/name:branch`, None where its repository was deleted."""
    name, _, branch = (head or "gone/gone:fix").partition(":")
    repository = {"full_name": name, "owner": {"login": name.split("/")[0]}} if head else None
    return {
        "action": "synchronize",
        "number": number,
        "pull_request": {"number": number, "head": {"sha": sha, "ref": branch, "repo": repository}},
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _outputs(path: Path) -> dict[str, str]:
    """The outputs as the runner reads them."""
    found: dict[str, str] = {}
    lines = iter(_text(path).splitlines())
    for line in lines:
        name, delimiter = re.split("<<|=", line, maxsplit=1)
        if f"{name}<<" in line:
            value: list[str] = []
            while (part := next(lines)) != delimiter:
                value.append(part)
            found[name] = "\n".join(value)
        else:
            found[name] = delimiter
    return found


def failing(outputs: Mapping[str, str]) -> bool:
    """Whether the outputs speak of a failed gate."""
    return (outputs["exit-code"], outputs["conclusion"], outputs["passed"]) == ("1", "failed", "false")
