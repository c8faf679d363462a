"""Prism, which mocks an API by its description and refuses what the description does not allow."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

PATHS = (
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/commits/{commit_sha}/pulls",
    "/repos/{owner}/{repo}/pulls",
    "/repos/{owner}/{repo}/pulls/{pull_number}",
    "/repos/{owner}/{repo}/pulls/{pull_number}/files",
    "/repos/{owner}/{repo}/actions/runs/{run_id}",
    "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts",
    "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}",
)
"""The whole description takes half a minute to load; these are what a client of ours may need."""


def description(node_modules: Path) -> dict[str, Any]:
    """GitHub's own description of its REST API, cut to `PATHS`."""
    file = node_modules / "@octokit" / "openapi" / "generated" / "api.github.com.deref.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    paths = {path: whole["paths"][path] for path in PATHS}
    return {"openapi": whole["openapi"], "info": whole["info"], "servers": [{"url": "/"}], "paths": paths}


class Prism:
    """The mock on a free local port: `with Prism(node_modules, folder) as prism`."""

    def __init__(self, node_modules: Path, folder: Path) -> None:
        self._node_modules = node_modules
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Prism:
        spec = self._folder / "github.json"
        spec.write_text(json.dumps(description(self._node_modules)), encoding="utf-8")
        main = self._node_modules / "@stoplight" / "prism-cli" / "dist" / "index.js"
        log = self._folder / "prism.log"
        command = ["node", str(main), "mock", str(spec), "--port", str(self.port)]
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while time.monotonic() < until and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.2)
        raise RuntimeError(f"Prism did not start: {log.read_text()[-500:]}")

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(20)
