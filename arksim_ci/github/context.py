"""What GitHub's runner tells an action about where it runs: the documented `GITHUB_*`, `RUNNER_*` and `ACTIONS_*` variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOUNTED = (
    "the action's container sees only the workspace (/github/workspace), /github/home, /github/runner_temp, and the files that "
    "GitHub itself puts under /github"
)
"""What of the runner's disk is there inside of the container, in words."""
ON_THE_RUNNER = "the action reads its inputs from the workspace and writes its results there, wherever it runs"
"""Why the workspace is the limit where there is no container, in words."""


@dataclass(frozen=True)
class GitHubContext:
    """The job as GitHub describes it. Texts are empty, numbers are 0, paths are None where a variable is unset.

    `retention_days` is the most that the repository allows for artifacts. `limits` says in words why paths lie in the workspace.
    """

    workspace: Path
    repository: str = ""
    event_name: str = ""
    event_path: Path | None = None
    sha: str = ""
    ref: str = ""
    actor: str = ""
    workflow: str = ""
    workflow_ref: str = ""
    job: str = ""
    run_id: int = 0
    run_number: int = 0
    run_attempt: int = 0
    server_url: str = "https://github.com"
    api_url: str = "https://api.github.com"
    graphql_url: str = "https://api.github.com/graphql"
    output_file: Path | None = None
    summary_file: Path | None = None
    runner_temp: Path | None = None
    retention_days: int | None = None
    results_url: str = ""
    runtime_token: str = field(default="", repr=False)
    limits: str = MOUNTED

    @property
    def run_url(self) -> str | None:
        """The page of this run."""
        return self.url_of_run(self.run_id) if self.run_id else None

    @property
    def summary_url(self) -> str | None:
        """Where the step summary of this attempt is shown."""
        return f"{self.run_url}/attempts/{self.run_attempt}#summary" if self.run_url and self.run_attempt else None

    def url_of_run(self, run_id: int) -> str:
        """The page of a run of this repository."""
        return f"{self.server_url}/{self.repository}/actions/runs/{run_id}"

    def url_of_commit(self, sha: str) -> str | None:
        """The page of a commit of this repository."""
        return f"{self.server_url}/{self.repository}/commit/{sha}" if sha and self.repository else None

    @property
    def workflow_file(self) -> str:
        """The workflow's file in the repository, for example `.github/workflows/gate.yml`; empty where it is of another one."""
        path, _, _ = self.workflow_ref.partition("@")
        prefix = f"{self.repository}/"
        return path.removeprefix(prefix) if self.repository and path.startswith(prefix) else ""


def read_context(environment: Mapping[str, str], limits: str = MOUNTED) -> GitHubContext:
    """Read the runner's variables.

    Args:
        environment: the process's variables.
        limits: why paths lie in the workspace, in words.
    """

    def text(name: str, default: str = "") -> str:
        return environment.get(name, "").strip() or default

    def number(name: str) -> int:
        value = text(name)
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else 0

    def path(name: str) -> Path | None:
        value = text(name)
        return Path(value) if value else None

    api_url = text("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    return GitHubContext(
        workspace=(path("GITHUB_WORKSPACE") or Path("/github/workspace")).absolute(),
        repository=text("GITHUB_REPOSITORY"),
        event_name=text("GITHUB_EVENT_NAME"),
        event_path=path("GITHUB_EVENT_PATH"),
        sha=text("GITHUB_SHA"),
        ref=text("GITHUB_REF"),
        actor=text("GITHUB_ACTOR"),
        workflow=text("GITHUB_WORKFLOW"),
        workflow_ref=text("GITHUB_WORKFLOW_REF"),
        job=text("GITHUB_JOB"),
        run_id=number("GITHUB_RUN_ID"),
        run_number=number("GITHUB_RUN_NUMBER"),
        run_attempt=number("GITHUB_RUN_ATTEMPT"),
        server_url=text("GITHUB_SERVER_URL", "https://github.com").rstrip("/"),
        api_url=api_url,
        graphql_url=text("GITHUB_GRAPHQL_URL", f"{api_url}/graphql"),
        output_file=path("GITHUB_OUTPUT"),
        summary_file=path("GITHUB_STEP_SUMMARY"),
        runner_temp=path("RUNNER_TEMP"),
        retention_days=number("GITHUB_RETENTION_DAYS") or None,
        results_url=text("ACTIONS_RESULTS_URL"),
        runtime_token=text("ACTIONS_RUNTIME_TOKEN"),
        limits=limits,
    )
