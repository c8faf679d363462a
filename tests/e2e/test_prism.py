"""Every REST request that we send is one that GitHub's own description of its API allows."""

from __future__ import annotations

import ast
import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from arksim_ci.github.artifact_download import ArtifactUnavailable, download_run_artifacts
from arksim_ci.github.client import GitHubClient
from arksim_ci.github.comments import Marker, publish_comment
from arksim_ci.github.event import Event
from arksim_ci.github.gate_changes import find_gate_changes
from arksim_ci.github.pull_request import find_pull_request, with_fork_known
from tests.support.prism import Prism
from tests.support.tools import ROOT, npm_tools

pytestmark = pytest.mark.timeout(900)  # the first run installs the tools

SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
REPOSITORY = "octocat/Hello-World"


class Watcher:
    """Stands before Prism: hands every request on and keeps what Prism said of it. `instead` replaces the answers of some.

    GraphQL, which the description does not have, is answered here.
    """

    def __init__(self, prism: str) -> None:
        self._prism = prism
        self.allowed: set[str] = set()
        self.refused: list[str] = []
        self.instead: dict[str, Any] = {}
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Watcher:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application()
        app.router.add_post("/graphql", self._graphql)
        app.router.add_route("*", "/{path:.*}", self._hand_on)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        self._loop.run_until_complete(web.TCPSite(runner, "127.0.0.1", 0).start())
        self.port = runner.addresses[0][1]
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _graphql(self, _: web.Request) -> web.Response:
        return web.json_response({"data": {"viewer": {"login": "github-actions"}}})

    async def _hand_on(self, request: web.Request) -> web.Response:
        body = await request.read()
        # The description knows plain JSON only; the type that GitHub asks its callers to accept would get 406 from Prism.
        headers = {"Accept": request.headers["Accept"].replace("application/vnd.github+json", "application/json")}
        if body:
            headers["Content-Type"] = request.headers["Content-Type"]
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method, f"{self._prism}{request.path_qs}", data=body, headers=headers, allow_redirects=False
            ) as answer,
        ):
            content = await answer.read()
        line = f"{request.method} {request.path}"
        if answer.status >= 400:
            self.refused.append(f"{line}: {answer.status} {content.decode()[:1000]}")
            return web.Response(status=answer.status, body=content)
        self.allowed.add(line)
        if line in self.instead:
            return web.json_response(self.instead[line])
        location = {"Location": answer.headers["Location"]} if "Location" in answer.headers else {}
        kind = answer.content_type if content else None
        return web.Response(status=answer.status, body=content, headers=location, content_type=kind)


@pytest.fixture(scope="module")
def prism(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prism]:
    with Prism(npm_tools() / "node_modules", tmp_path_factory.mktemp("prism")) as prism:
        yield prism


@pytest.fixture
def github(prism: Prism) -> Iterator[Watcher]:
    with Watcher(prism.url) as watcher:
        yield watcher


@pytest.fixture
async def client(github: Watcher) -> AsyncIterator[GitHubClient]:
    async def no_time(_: float) -> None:
        """Nobody waits here."""

    client = GitHubClient(github.url, f"{github.url}/graphql", "ghs_token", sleep=no_time)
    yield client
    await client.close()


def comment(number: int, marker: Marker) -> dict[str, Any]:
    user = {"login": "github-actions[bot]", "type": "Bot"}
    return {"id": number, "html_url": f"https://github.com/x#{number}", "body": f"text {marker}", "user": user}


async def test_every_request_of_ours_is_allowed(github: Watcher, client: GitHubClient, tmp_path: Path) -> None:
    await a_comment_is_created(github, client)
    await a_comment_is_updated_and_a_double_deleted(github, client)
    await the_pull_request_is_looked_up(client)
    await the_changed_files_are_read(client)
    await artifacts_are_listed_and_downloaded(client, tmp_path)
    await the_other_run_is_looked_up(client)

    assert github.refused == []
    paths = [f"{file.name}: {path}" for file in sorted((ROOT / "arksim_ci").rglob("*.py")) for path in paths_in(file)]
    asked = [
        path for path in paths if any(re.search(f" {path.split(': ')[1]}(/\\d+)?$", line) for line in github.allowed)
    ]
    assert paths == asked, "add a step for a path that is new"
    assert paths


async def a_comment_is_created(github: Watcher, client: GitHubClient) -> None:
    marker = Marker("CI/test/0", 7, 1)
    github.instead = {f"POST /repos/{REPOSITORY}/issues/5/comments": comment(3, marker)}
    outcome = await publish_comment(client, REPOSITORY, 5, marker, f"**body** {marker}", "always", failed=True)
    assert outcome.done == "created", github.refused


async def a_comment_is_updated_and_a_double_deleted(github: Watcher, client: GitHubClient) -> None:
    marker = Marker("CI/test/0", 7, 1)
    github.instead = {f"GET /repos/{REPOSITORY}/issues/5/comments": [comment(3, marker), comment(4, marker)]}
    outcome = await publish_comment(client, REPOSITORY, 5, marker, f"**body** {marker}", "always", failed=False)
    assert outcome.done == "updated", github.refused
    assert {
        f"PATCH /repos/{REPOSITORY}/issues/comments/3",
        f"DELETE /repos/{REPOSITORY}/issues/comments/4",
    } <= github.allowed


async def the_pull_request_is_looked_up(client: GitHubClient) -> None:
    by_commit = Event("push", "by_commit", head_sha=SHA)
    assert await find_pull_request(client, REPOSITORY, by_commit) == 1347
    by_head = Event("workflow_run", "by_head", head_sha=SHA, head_owner="octocat", head_branch="new-topic")
    assert await find_pull_request(client, REPOSITORY, by_head) == 1347
    known = await with_fork_known(client, REPOSITORY, Event("issue_comment", "known", 1347, is_fork=None))
    assert known.head_sha == SHA


async def the_changed_files_are_read(client: GitHubClient) -> None:
    changes = await find_gate_changes(client, REPOSITORY, 1347, ["file1.txt", "other"])
    assert (changes.files, changes.warning) == (("file1.txt",), "")


async def the_other_run_is_looked_up(client: GitHubClient) -> None:
    run = await client.get(f"/repos/{REPOSITORY}/actions/runs/42")  # as arksim_ci/action/other_run.py asks
    assert {
        "event",
        "head_sha",
        "head_branch",
        "head_repository",
        "run_number",
        "run_attempt",
        "run_started_at",
    } <= set(run)


async def artifacts_are_listed_and_downloaded(client: GitHubClient, tmp_path: Path) -> None:
    # The description's own example names an artifact "Rails"; its address of the bytes leads nowhere.
    with pytest.raises(ArtifactUnavailable, match="artifact Rails can't be downloaded"):
        await download_run_artifacts(client, REPOSITORY, 42, "Rails", tmp_path, {"verdict.json"})


async def test_a_request_that_github_does_not_know_is_refused_here(github: Watcher, client: GitHubClient) -> None:
    """So that the tests above mean something."""
    for request in (
        client.post(f"/repos/{REPOSITORY}/issues/5/comments", {"text": "no body"}),
        client.get(f"/repos/{REPOSITORY}/issue/5/comments"),
        client.get(f"/repos/{REPOSITORY}/pulls", {"state": "broken"}),
    ):
        with pytest.raises(Exception, match=r"HTTP 4(04|22)"):
            await request
    assert len(github.refused) == 3


def paths_in(source: Path) -> list[str]:
    """The REST paths in a file, as patterns: each f-string that starts with `/repos/`."""
    found = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(str(part.value))
                if isinstance(part, ast.Constant)
                else "[^/]+/[^/]+"
                if "repository" in ast.unparse(part)
                else "[^/]+"
                for part in node.values
            ]
            if parts and parts[0].startswith("/repos/"):
                found.append("".join(parts))
    return found
