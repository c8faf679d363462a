"""A real local HTTP server that plays GitHub's REST and GraphQL API: comments, pull requests, their files, runs, limits, refusals."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

REPOSITORY = "org/shop"
FORBIDDEN = "Resource not accessible by integration"
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
BOT = "github-actions[bot]"


@dataclass(frozen=True)
class Asked:
    """A request that arrived. `at` is a monotonic time in seconds."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    at: float


@dataclass
class Trouble:
    """What happens instead of an answer, `times` times, to requests of this method whose path matches."""

    method: str
    path: str
    status: int = 500
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    drop: bool = False
    """Cut the connection."""
    done: bool = False
    """Do what was asked all the same; only the answer gets lost."""


class FakeGitHub:
    """GitHub for one repository. State may be set before and looked at after a test.

    `may` holds the permissions of the token. `before_create` is called when a comment is about to be created, `after_create` when it
    was: what other jobs do meanwhile.
    """

    def __init__(self, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, name: str = "") -> None:
        self.host = host
        self.viewer = BOT
        self.may = {"pull_requests:read", "pull_requests:write", "actions:read"}
        self.comments: list[dict[str, Any]] = []
        self.pulls: list[dict[str, Any]] = []
        self.files: dict[int, list[dict[str, Any]]] = {}
        self.runs: dict[int, dict[str, Any]] = {}
        self.artifacts: dict[int, list[tuple[dict[str, Any], bytes]]] = {}
        self.troubles: list[Trouble] = []
        self.asked: list[Asked] = []
        self.before_create: Callable[[], None] = lambda: None
        self.after_create: Callable[[], None] = lambda: None
        self.port = 0
        self._tls = tls
        self._name = name or host
        self._next_id = 1000
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    # ------------------------------------------------------------------------------------------------ set up, look up

    @property
    def url(self) -> str:
        """`GITHUB_API_URL`, on a path of its own as Enterprise Server has it."""
        return f"{'https' if self._tls else 'http'}://{self._name}:{self.port}/api/v3"

    @property
    def graphql_url(self) -> str:
        """`GITHUB_GRAPHQL_URL`."""
        return f"{'https' if self._tls else 'http'}://{self._name}:{self.port}/api/graphql"

    def comment(self, number: int, body: str, login: str = BOT, kind: str = "Bot") -> dict[str, Any]:
        """Somebody comments."""
        self._next_id += 1
        comment = {
            "id": self._next_id,
            "body": body,
            "html_url": f"https://github.com/{REPOSITORY}/pull/{number}#issuecomment-{self._next_id}",
            "user": {"login": login, "type": kind},
            "issue": number,
        }
        self.comments.append(comment)
        return comment

    def pull(
        self,
        number: int,
        sha: str,
        *,
        head: str = f"{REPOSITORY}:branch",
        state: str = "open",
        deleted: bool = False,
    ) -> dict[str, Any]:
        """A pull request from `head`, written `owner/name:branch`."""
        repository, _, branch = head.partition(":")
        pull = {
            "number": number,
            "state": state,
            "head": {
                "ref": branch,
                "sha": sha,
                "repo": None if deleted else {"full_name": repository, "owner": {"login": repository.split("/")[0]}},
            },
        }
        self.pulls.append(pull)
        return pull

    def bodies(self, number: int = 12) -> list[str]:
        """The comments on a pull request, oldest first."""
        return [comment["body"] for comment in self.comments if comment["issue"] == number]

    def requests(self, method: str, path: str = "") -> list[Asked]:
        """What was asked, by method and a pattern of the path."""
        return [each for each in self.asked if each.method == method and re.search(path, each.path)]

    def __enter__(self) -> FakeGitHub:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # -------------------------------------------------------------------------------------------------------- serving

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=8 * 1024 * 1024)
        self.add_routes(app)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        self._loop.run_until_complete(web.TCPSite(runner, self.host, 0, ssl_context=self._tls).start())
        self.port = runner.addresses[0][1]
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    def add_routes(self, app: web.Application) -> None:
        """Let another server answer as this GitHub."""
        repository = f"/api/v3/repos/{REPOSITORY}"
        routes: list[tuple[str, str, Callable[[web.Request, Any], web.StreamResponse]]] = [
            ("POST", "/api/graphql", self._graphql),
            ("GET", "/api/v3/user", lambda request, body: _refusal(403, FORBIDDEN)),
            ("GET", f"{repository}/issues/{{number}}/comments", self._list_comments),
            ("POST", f"{repository}/issues/{{number}}/comments", self._create_comment),
            ("PATCH", f"{repository}/issues/comments/{{id}}", self._update_comment),
            ("DELETE", f"{repository}/issues/comments/{{id}}", self._delete_comment),
            ("GET", f"{repository}/pulls", self._list_pulls),
            ("GET", f"{repository}/pulls/{{number}}", self._get_pull),
            ("GET", f"{repository}/pulls/{{number}}/files", self._list_files),
            ("GET", f"{repository}/commits/{{sha}}/pulls", self._pulls_of_commit),
            ("GET", f"{repository}/actions/runs/{{id}}", self._get_run),
            ("GET", f"{repository}/actions/runs/{{id}}/artifacts", self._list_artifacts),
            ("GET", f"{repository}/actions/artifacts/{{id}}/zip", self._get_artifact),
            ("GET", "/storage/{id}.zip", self._get_blob),
        ]
        for method, path, answer in routes:
            app.router.add_route(method, path, self._handler(answer))

    def _handler(self, answer: Callable[[web.Request, Any], web.StreamResponse]) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            text = await request.text()
            body = json.loads(text) if text else None
            self.asked.append(
                Asked(
                    request.method,
                    request.path,
                    dict(request.query),
                    dict(request.headers),
                    body,
                    time.monotonic(),
                )
            )
            for trouble in self.troubles:
                if trouble.times and trouble.method == request.method and re.search(trouble.path, request.path):
                    trouble.times -= 1
                    if trouble.done:
                        answer(request, body)
                    if trouble.drop:
                        assert request.transport is not None
                        request.transport.abort()
                        return web.Response()
                    return _refusal(trouble.status, trouble.message, trouble.headers)
            return answer(request, body)

        return handle

    def _graphql(self, request: web.Request, body: Any) -> web.StreamResponse:
        assert "viewer" in body["query"]
        return web.json_response({"data": {"viewer": {"login": self.viewer}}})

    def _list_comments(self, request: web.Request, body: Any) -> web.StreamResponse:
        number = int(request.match_info["number"])
        return _page(request, [each for each in self.comments if each["issue"] == number])

    def _create_comment(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "pull_requests:write" not in self.may:
            return _refusal(403, FORBIDDEN, {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"})
        if _too_long(body["body"]):
            return _refusal(422, "Body is too long (maximum is 65536 characters)")
        self.before_create()
        kind = "Bot" if self.viewer.endswith("[bot]") else "User"
        comment = self.comment(int(request.match_info["number"]), body["body"], self.viewer, kind)
        self.after_create()
        return web.json_response(comment, status=201)

    def _update_comment(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "pull_requests:write" not in self.may:
            return _refusal(403, FORBIDDEN)
        for comment in self.comments:
            if comment["id"] == int(request.match_info["id"]):
                if _too_long(body["body"]):
                    return _refusal(422, "Body is too long (maximum is 65536 characters)")
                comment["body"] = body["body"]
                return web.json_response(comment)
        return _refusal(404, "Not Found")

    def _delete_comment(self, request: web.Request, body: Any) -> web.StreamResponse:
        kept = [each for each in self.comments if each["id"] != int(request.match_info["id"])]
        if len(kept) == len(self.comments):
            return _refusal(404, "Not Found")
        self.comments = kept
        return web.Response(status=204)

    def _list_pulls(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "pull_requests:read" not in self.may:
            return _refusal(403, FORBIDDEN)
        found = [each for each in self.pulls if each["state"] == request.query.get("state", "open")]
        if head := request.query.get("head"):
            owner, _, branch = head.partition(":")
            found = [
                each
                for each in found
                if each["head"]["repo"]
                and each["head"]["repo"]["owner"]["login"] == owner
                and each["head"]["ref"] == branch
            ]
        return _page(request, found)

    def _get_pull(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "pull_requests:read" not in self.may:
            return _refusal(403, FORBIDDEN)
        found = [each for each in self.pulls if each["number"] == int(request.match_info["number"])]
        return web.json_response(found[0]) if found else _refusal(404, "Not Found")

    def _list_files(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "pull_requests:read" not in self.may:
            return _refusal(403, FORBIDDEN)
        return _page(request, self.files.get(int(request.match_info["number"]), []))

    def _pulls_of_commit(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "pull_requests:read" not in self.may:
            return _refusal(403, FORBIDDEN)
        sha = request.match_info["sha"]
        return _page(request, [each for each in self.pulls if sha in (each["head"]["sha"], each.get("holds"))])

    def _get_run(self, request: web.Request, body: Any) -> web.StreamResponse:
        run = self.runs.get(int(request.match_info["id"]))
        return web.json_response(run) if run else _refusal(404, "Not Found")

    def _list_artifacts(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "actions:read" not in self.may:
            return _refusal(403, FORBIDDEN)
        listed = [described for described, _ in self.artifacts.get(int(request.match_info["id"]), [])]
        return web.json_response({"total_count": len(listed), "artifacts": listed})

    def _get_artifact(self, request: web.Request, body: Any) -> web.StreamResponse:
        location = str(request.url.origin().with_path(f"/storage/{request.match_info['id']}.zip"))
        return web.Response(status=302, headers={"Location": location})

    def _get_blob(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "Authorization" in request.headers:
            return _refusal(400, "the storage takes no Authorization header")
        for artifacts in self.artifacts.values():
            for described, data in artifacts:
                if described["id"] == int(request.match_info["id"]):
                    return web.Response(body=data, content_type="application/zip")
        return _refusal(404, "Not Found")


def _page(request: web.Request, items: list[dict[str, Any]]) -> web.Response:
    """One page of a list: 30 items unless asked for more, 100 at most, with a Link to the next one."""
    size = min(int(request.query.get("per_page", "30")), 100)
    page = int(request.query.get("page", "1"))
    headers = {}
    if page * size < len(items):
        following = request.url.update_query({"page": str(page + 1)})
        last = request.url.update_query({"page": str(-(-len(items) // size))})
        headers["Link"] = f'<{following}>; rel="next", <{last}>; rel="last"'
    return web.json_response(items[(page - 1) * size : page * size], headers=headers)


def _too_long(text: str) -> bool:
    return len(text.encode("utf-16-le")) // 2 > 65_536


def _refusal(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"message": message}, status=status, headers=headers)
