"""A small fake of GitHub's results service and of the REST calls that read artifacts, as a real local HTTP server.

It keeps GitHub's rules for names and versions. The bytes go to a storage of their own: `MemoryStorage`, which keeps the
few rules of Azure's block blobs that matter and is quick, or Azurite.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from aiohttp import web

SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService"
TOKEN_CLAIMS = {"scp": "Actions.Example Actions.Results:run-1:job-1"}


def runtime_token(claims: dict[str, Any] = TOKEN_CLAIMS) -> str:
    """A JWT as the runner gives it; nobody here looks at the signature."""
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), "signature"])


class Storage(Protocol):
    """Where the bytes are."""

    def upload_url(self, key: str) -> str: ...

    def download_url(self, key: str, file_name: str, content_type: str) -> str: ...


@dataclass
class Artifact:
    """An artifact as the service knows it."""

    id: int
    name: str
    version: int
    mime_type: str
    expires_at: str | None = None
    run: str = "run-1"
    size: int | None = None
    digest: str = ""
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def file_name(self) -> str:
        return f"{self.name}.zip" if self.mime_type == "application/zip" else self.name


@dataclass
class Fault:
    """Answer something else instead: a status with a body, or cut the connection; `after` doing what was asked, or not."""

    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False


@dataclass(frozen=True)
class Seen:
    """A request: its last path part or `comp`, its headers, its body."""

    what: str
    headers: dict[str, str]
    body: bytes
    path: str


class FakeResultsService:
    """`with FakeResultsService() as service`: `url` is ACTIONS_RESULTS_URL and GITHUB_API_URL at once.

    `faults` maps a request's name (`CreateArtifact`, `block`, `blocklist`, `list`, `zip`, `blob`, ...) to what goes wrong, one
    after the other. `camel_case` and `strict` make it act's server.
    """

    def __init__(
        self,
        storage: Storage | None = None,
        *,
        camel_case: bool = False,
        strict: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        self.host = host
        self.memory = MemoryStorage(lambda: self.url)
        self.storage: Storage = storage or self.memory
        self.camel_case = camel_case
        self.strict = strict
        self.artifacts: list[Artifact] = []
        self.seen: list[Seen] = []
        self.faults: dict[str, list[Fault]] = {}
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def __enter__(self) -> FakeResultsService:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def asked(self, what: str) -> list[Seen]:
        return [request for request in self.seen if request.what == what]

    def finished(self) -> list[Artifact]:
        return [artifact for artifact in self.artifacts if artifact.size is not None]

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post(SERVICE + "/{method}", self._twirp)
        app.router.add_get("/repos/{owner}/{repo}/actions/runs/{run}/artifacts", self._list)
        app.router.add_get("/repos/{owner}/{repo}/actions/artifacts/{id}/zip", self._zip)
        app.router.add_put("/storage/{key:.+}", self._storage)
        app.router.add_get("/storage/{key:.+}", self._storage)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, self.host, 0)
        self._loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _answer(
        self, request: web.Request, what: str, answer: Callable[[bytes], web.Response]
    ) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(
            Seen(what, {name.lower(): value for name, value in request.headers.items()}, body, request.path_qs)
        )
        queue = self.faults.get(what, [])
        fault = queue.pop(0) if queue else None
        response = answer(body) if fault is None or fault.after else None
        if fault is None:
            assert response is not None
            return response
        if fault.status:
            return web.Response(status=fault.status, text=fault.body, headers=fault.headers)
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async def _twirp(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]

        def answer(body: bytes) -> web.Response:
            if request.headers.get("Authorization") != f"Bearer {runtime_token()}":
                return _error(401, "unauthenticated", "bad token")
            asked = json.loads(body)
            if self.strict and "mime_type" in asked:
                return web.Response(status=500)
            if asked.get("workflow_run_backend_id") != "run-1" or asked.get("workflow_job_run_backend_id") != "job-1":
                return _error(403, "permission_denied", "not your run")
            said = getattr(self, f"_{method}")(asked)
            if isinstance(said, web.Response):
                return said
            return web.json_response(_camel(said) if self.camel_case else said)

        return await self._answer(request, method, answer)

    def _CreateArtifact(self, asked: dict[str, Any]) -> dict[str, Any] | web.Response:
        allowed = {
            "workflow_run_backend_id",
            "workflow_job_run_backend_id",
            "name",
            "expires_at",
            "version",
            "mime_type",
        }
        if unknown := set(asked) - allowed:
            return _error(400, "malformed", f"unknown fields {sorted(unknown)}")
        if re.search(r'[":<>|*?\\/\r\n]', asked["name"]) or asked["version"] not in (4, 7):
            return _error(400, "invalid_argument", "name or version")
        if any(artifact.name == asked["name"] for artifact in self.artifacts):
            return _error(409, "already_exists", "an artifact with this name already exists on the workflow run")
        mime_type = str(asked.get("mime_type") or "application/zip")
        artifact = Artifact(
            len(self.artifacts) + 1001, asked["name"], asked["version"], mime_type, asked.get("expires_at")
        )
        self.artifacts.append(artifact)
        return {"ok": True, "signed_upload_url": self.storage.upload_url(artifact.key)}

    def _FinalizeArtifact(self, asked: dict[str, Any]) -> dict[str, Any] | web.Response:
        artifact = next((each for each in self.artifacts if each.name == asked["name"]), None)
        if artifact is None or artifact.size is not None:
            return _error(404, "not_found", "no artifact waits for its end")
        if not isinstance(asked["size"], str) or not asked["hash"].startswith("sha256:"):
            return _error(400, "malformed", "size or hash")
        artifact.size, artifact.digest = int(asked["size"]), asked["hash"]
        return {"ok": True, "artifact_id": str(artifact.id)}

    def _ListArtifacts(self, asked: dict[str, Any]) -> dict[str, Any]:
        wanted_id, wanted_name = asked.get("id_filter"), asked.get("name_filter")
        return {
            "artifacts": [
                {
                    "workflow_run_backend_id": artifact.run,
                    "workflow_job_run_backend_id": "job-1",
                    "database_id": str(artifact.id),
                    "name": artifact.name,
                    "size": str(artifact.size),
                    "created_at": "2026-08-01T12:00:00Z",
                    "digest": artifact.digest,
                }
                for artifact in self.finished()
                if wanted_id in (None, str(artifact.id)) and wanted_name in (None, artifact.name)
            ]
        }

    def _GetSignedArtifactURL(self, asked: dict[str, Any]) -> dict[str, Any]:
        artifact = next(each for each in self.finished() if each.name == asked["name"])
        return {"name": artifact.name, "signed_url": self._download_url(artifact)}

    def _download_url(self, artifact: Artifact) -> str:
        return self.storage.download_url(artifact.key, artifact.file_name, artifact.mime_type)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        def answer(_: bytes) -> web.Response:
            page, per_page = (
                int(request.query.get(name, default)) for name, default in (("page", 1), ("per_page", 30))
            )
            listed = [
                {
                    "id": artifact.id,
                    "name": artifact.name,
                    "size_in_bytes": artifact.size,
                    "expired": artifact.expires_at == "expired",
                    "created_at": f"2026-08-01T12:{artifact.id % 60:02d}:00Z",
                    "digest": artifact.digest,
                }
                for artifact in reversed(self.finished())
            ]
            shown = listed[(page - 1) * per_page : page * per_page]
            following = request.url.update_query(page=page + 1) if page * per_page < len(listed) else None
            headers = {"Link": f'<{following}>; rel="next"'} if following else {}
            return web.json_response({"total_count": len(listed), "artifacts": shown}, headers=headers)

        return await self._answer(request, "list", answer)

    async def _zip(self, request: web.Request) -> web.StreamResponse:
        def answer(_: bytes) -> web.Response:
            artifact = next(each for each in self.finished() if each.id == int(request.match_info["id"]))
            return web.Response(status=302, headers={"Location": self._download_url(artifact)})

        return await self._answer(request, "zip", answer)

    async def _storage(self, request: web.Request) -> web.StreamResponse:
        what = request.query.get("comp", "blob")
        return await self._answer(request, what, lambda body: self.memory.serve(request, body))


class MemoryStorage:
    """Block blobs: blocks of equally long ids, a list that makes the blob, no Authorization beside a signature."""

    def __init__(self, base: Callable[[], str]) -> None:
        self._base = base
        self._blocks: dict[str, dict[str, bytes]] = {}
        self.blobs: dict[str, tuple[bytes, str]] = {}

    def upload_url(self, key: str) -> str:
        return f"{self._base()}/storage/{key}?{urlencode({'sig': _signature(key)})}"

    def download_url(self, key: str, file_name: str, content_type: str) -> str:
        query = {"sig": _signature(key), "rscd": f'attachment; filename="{file_name}"', "rsct": content_type}
        return f"{self._base()}/storage/{key}?{urlencode(query)}"

    def serve(self, request: web.Request, body: bytes) -> web.Response:
        key, query = request.match_info["key"], request.query
        if "Authorization" in request.headers or query.get("sig") != _signature(key):
            return _azure_error("AuthenticationFailed", 403)
        if request.method == "GET":
            if key not in self.blobs:
                return _azure_error("BlobNotFound", 404)
            content, _ = self.blobs[key]
            headers = {"Content-Disposition": query["rscd"], "Content-Type": query["rsct"]}
            return web.Response(body=content, headers=headers)
        blocks = self._blocks.setdefault(key, {})
        if query["comp"] == "block":
            if any(len(other) != len(query["blockid"]) for other in blocks):
                return _azure_error("InvalidBlobOrBlock", 400)
            blocks[query["blockid"]] = body
            return web.Response(status=201)
        ids = re.findall(r"<Latest>(.*?)</Latest>", body.decode())
        if any(block_id not in blocks for block_id in ids):
            return _azure_error("InvalidBlockList", 400)
        content_type = request.headers.get("x-ms-blob-content-type", "application/octet-stream")
        self.blobs[key] = (b"".join(blocks[block_id] for block_id in ids), content_type)
        return web.Response(status=201)


def _signature(key: str) -> str:
    return base64.b64encode(hashlib.sha256(key.encode()).digest()).decode()


def _error(status: int, code: str, words: str) -> web.Response:
    return web.json_response({"code": code, "msg": words}, status=status)


def _azure_error(code: str, status: int) -> web.Response:
    xml = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>no</Message></Error>'
    return web.Response(status=status, text=xml, content_type="application/xml")


def _camel(said: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"_([a-z])", lambda found: found[1].upper(), name): value for name, value in said.items()}
