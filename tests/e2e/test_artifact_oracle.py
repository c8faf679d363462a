"""What our client uploads, GitHub's own client lists and downloads, and the other way round, over real Azure block-blob rules."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.github.artifact_download import download_run_artifacts
from arksim_ci.github.artifact_service import BLOCK_BYTES
from arksim_ci.github.artifacts import ArtifactUploader
from arksim_ci.github.client import GitHubClient
from tests.support.azurite import Azurite
from tests.support.fake_results_service import FakeResultsService, runtime_token
from tests.support.tools import ORACLES, npm_tools

pytestmark = pytest.mark.timeout(900)  # the first run installs the tools


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with Azurite(npm_tools() / "node_modules", tmp_path_factory.mktemp("azurite")) as storage:
        yield storage


@pytest.fixture
def service(azurite: Azurite) -> Iterator[FakeResultsService]:
    with FakeResultsService(azurite) as service:
        yield service


def github_client(service: FakeResultsService, *args: str) -> Any:
    """Run a command of GitHub's own client in a job of this run."""
    environment = {
        "PATH": os.environ["PATH"],
        "ORACLES": str(npm_tools()),
        "ACTIONS_RUNTIME_TOKEN": runtime_token(),
        "ACTIONS_RESULTS_URL": service.url,
        "GITHUB_SERVER_URL": "https://github.com",
    }
    command = ["node", str(ORACLES / "artifact.mjs"), *args]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    results = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert results, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(results[0])


def uploader(service: FakeResultsService) -> ArtifactUploader:
    return ArtifactUploader(
        runtime_token=runtime_token(),
        results_url=service.url,
        server_url="https://github.com",
        repository="org/shop",
        run_id="42",
    )


async def test_githubs_client_lists_and_downloads_our_zip(service: FakeResultsService, tmp_path: Path) -> None:
    focus = tmp_path / "focus"
    focus.mkdir()
    contents = {"evaluation.json": os.urandom(2 * BLOCK_BYTES + 17), "focus/error_1.json": '{"é": "日本"}'.encode()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)

    ours = await uploader(service).upload_zip("arksim-evaluation", {name: tmp_path / name for name in contents})

    (listed,) = github_client(service, "list")["artifacts"]
    assert (listed["name"], listed["id"], listed["size"]) == ("arksim-evaluation", ours.id, ours.size)
    target = tmp_path / "downloaded"
    assert not github_client(service, "download", str(ours.id), str(target), ours.digest)["digestMismatch"]
    assert {
        path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()
    } == contents


async def test_githubs_client_downloads_our_single_page_as_it_is(service: FakeResultsService, tmp_path: Path) -> None:
    page = tmp_path / "final_report.html"
    page.write_text('<!doctype html><meta charset="utf-8"><title>Bericht – 報告</title>', encoding="utf-8")

    ours = await uploader(service).upload_file(page, "text/html", name="arksim-report.html")

    assert ours is not None
    target = tmp_path / "downloaded"
    assert not github_client(service, "download", str(ours.id), str(target), ours.digest)["digestMismatch"]
    assert [path.name for path in target.iterdir()] == ["arksim-report.html"]
    assert (target / "arksim-report.html").read_bytes() == page.read_bytes()


async def test_we_list_and_download_what_githubs_client_uploads(service: FakeResultsService, tmp_path: Path) -> None:
    evaluation, other = tmp_path / "evaluation.json", tmp_path / "other.txt"
    evaluation.write_bytes(b'{"text": "' + b"words and words " * 100_000 + b'"}')
    other.write_text("not ours")
    page = tmp_path / "verdict.json"
    page.write_text('{"passed": true}')
    theirs = github_client(service, "upload", "arksim-evaluation", str(tmp_path), str(evaluation), str(other))
    github_client(service, "upload-file", str(page))

    into = tmp_path / "into"
    into.mkdir()
    wanted = {"evaluation.json", "verdict.json"}
    client = GitHubClient(service.url, "", "token")
    try:
        (zipped,) = await download_run_artifacts(client, "org/shop", 42, "arksim-evaluation", into, wanted)
        (plain,) = await download_run_artifacts(client, "org/shop", 42, "verdict.json", into, wanted)
    finally:
        await client.close()

    assert (zipped.id, zipped.files) == (theirs["id"], ("evaluation.json",))
    assert (zipped.folder / "evaluation.json").read_bytes() == evaluation.read_bytes()
    assert [path.name for path in zipped.folder.iterdir()] == ["evaluation.json"]
    assert (plain.folder / "verdict.json").read_text() == '{"passed": true}'


async def test_our_name_is_taken_by_githubs_client(service: FakeResultsService, tmp_path: Path) -> None:
    verdict = tmp_path / "verdict.json"
    verdict.write_text("{}")
    github_client(service, "upload", "arksim-evaluation", str(tmp_path), str(verdict))

    ours = await uploader(service).upload_zip("arksim-evaluation", {"verdict.json": verdict})

    assert ours.name == "arksim-evaluation-2"
    assert {each["name"] for each in github_client(service, "list")["artifacts"]} == {
        "arksim-evaluation",
        "arksim-evaluation-2",
    }
