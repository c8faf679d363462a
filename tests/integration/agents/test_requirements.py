"""The user's packages, installed by a real pip from an index on this machine."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arksim_ci.agents.requirements import install_requirements, is_in_venv, pip_cache


def wheel(version: str) -> bytes:
    """A package `shopkit` whose `VERSION` is this."""
    info, file = f"shopkit-{version}.dist-info", io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("shopkit.py", f"VERSION = {version!r}\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: shopkit\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", f"shopkit.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return file.getvalue()


class Index:
    """A package index with `shopkit`. `downloads` are the files that were fetched."""

    def __init__(self) -> None:
        self.versions = {"1.0": wheel("1.0")}
        self.downloads: list[str] = []
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rsplit("/", 1)[-1]
                if name.endswith(".whl"):
                    index.downloads.append(name)
                    self._answer(index.versions[name.split("-")[1]], "application/zip", "max-age=31536000, immutable")
                else:
                    self._answer(index.page(), "text/html", "no-store")

            def _answer(self, body: bytes, kind: str, caching: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", caching)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silence."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def page(self) -> bytes:
        links = (
            f'<a href="/files/shopkit-{version}-py3-none-any.whl#sha256={hashlib.sha256(body).hexdigest()}">x</a>'
            for version, body in self.versions.items()
        )
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()

    def __enter__(self) -> Index:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as running:
        yield running


async def installed(
    folder: Path, index: Index, name: str, job_python: Path | None = None, **environment: str
) -> tuple[Path, list[str]]:
    """Install `shopkit` into a new venv; its Python, and what was said."""
    (folder / "requirements.txt").write_text("shopkit\n", encoding="utf-8")
    said: list[str] = []
    job = {"PIP_INDEX_URL": index.url, "PIP_TRUSTED_HOST": "127.0.0.1", "PATH": "/usr/bin:/bin", **environment}
    python = await install_requirements(
        folder / "requirements.txt",
        folder / name,
        workspace=folder,
        environment=job,
        redact=str,
        log=said.append,
        job_python=job_python,
    )
    return python, said


def ask(python: Path, expression: str, *modules: str) -> str:
    """The value of an expression in a Python."""
    code = "".join(f"import {module}\n" for module in modules) + f"print({expression})"
    return subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


async def test_the_tool_cache_keeps_downloads_and_newer_versions_are_still_found(tmp_path: Path, index: Index) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("first", "second"):
        python, said = await installed(tmp_path, index, name, RUNNER_TOOL_CACHE=str(tools))
        assert ask(python, "shopkit.VERSION", "shopkit") == "1.0"
        assert said == [f"Installing requirements.txt for the user's Python (cache: {tools}/arksim-action/pip)"]
    assert index.downloads == ["shopkit-1.0-py3-none-any.whl"], "the second time it came from the cache"

    index.versions["1.1"] = wheel("1.1")
    python, _ = await installed(tmp_path, index, "third", RUNNER_TOOL_CACHE=str(tools))
    assert ask(python, "shopkit.VERSION", "shopkit") == "1.1"


async def test_without_a_tool_cache_nothing_is_kept(tmp_path: Path, index: Index) -> None:
    for name in ("first", "second"):
        _, said = await installed(tmp_path, index, name, RUNNER_TOOL_CACHE=str(tmp_path / "gone"), HOME=str(tmp_path))
        assert said == ["Installing requirements.txt for the user's Python"]
    assert len(index.downloads) == 2
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("given", [{}, {"RUNNER_TOOL_CACHE": ""}, {"RUNNER_TOOL_CACHE": "relative"}])
def test_a_tool_cache_is_a_folder_that_is_there(given: dict[str, str]) -> None:
    assert pip_cache(given) is None


async def test_the_job_s_packages_stay_visible_behind_those_of_the_file(tmp_path: Path, index: Index) -> None:
    job = tmp_path / "job"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(job)], check=True)
    (packages,) = job.glob("lib/python*/site-packages")
    (packages / "of_the_job.py").write_text("HERE = True\n", encoding="utf-8")
    (packages / "shopkit.py").write_text("VERSION = 'of the job'\n", encoding="utf-8")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "editable.py").write_text("HERE = True\n", encoding="utf-8")
    (packages / "editable.pth").write_text(f"{tmp_path / 'source'}\n", encoding="utf-8")

    python, _ = await installed(tmp_path, index, "user", job_python=job / "bin" / "python")
    assert ask(python, "(shopkit.VERSION, of_the_job.HERE, editable.HERE)", "shopkit", "of_the_job", "editable") == (
        "('1.0', True, True)"
    )
    assert (packages / "shopkit.py").read_text() == "VERSION = 'of the job'\n"
    assert is_in_venv(python)
    assert not is_in_venv(Path("/usr/bin/python3"))
