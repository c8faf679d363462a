"""Another run's artifacts over real HTTP: which are taken, who sees our token, what is unpacked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from arksim_ci.github.artifact_download import (
    ArtifactUnavailable,
    ArtifactUnsafe,
    Limits,
    RunArtifact,
    download_run_artifacts,
)
from arksim_ci.github.artifacts import ArtifactUploader
from arksim_ci.github.client import GitHubClient
from tests.support.fake_results_service import FakeResultsService, Fault, runtime_token
from tests.support.fake_time import FakeTime

TOKEN = "ghs_0123456789abcdef"


@pytest.fixture
def service() -> Iterator[FakeResultsService]:
    with FakeResultsService() as service:
        yield service


@pytest.fixture
async def client(service: FakeResultsService) -> AsyncIterator[GitHubClient]:
    time = FakeTime()
    client = GitHubClient(service.url, f"{service.url}/graphql", TOKEN, sleep=time.sleep, now=time.clock)
    yield client
    await client.close()


async def upload(service: FakeResultsService, tmp_path: Path, name: str, **files: str) -> None:
    paths = {}
    for file, text in files.items():
        path = tmp_path / f"{file}.json"
        path.write_text(text)
        paths[path.name] = path
    uploader = ArtifactUploader(
        runtime_token=runtime_token(),
        results_url=service.url,
        server_url="https://github.com",
        repository="org/shop",
        run_id="42",
    )
    await uploader.upload_zip(name, paths)


async def download(
    client: GitHubClient, tmp_path: Path, name: str = "arksim-evaluation", limits: Limits | None = None
) -> list[RunArtifact]:
    into = tmp_path / "into"
    into.mkdir()
    return await download_run_artifacts(client, "org/shop", 42, name, into, {"verdict.json", "evaluation.json"}, limits)


async def test_every_leg_is_found_and_nothing_else(
    service: FakeResultsService, client: GitHubClient, tmp_path: Path
) -> None:
    for number in range(120):
        await upload(service, tmp_path, f"other-{number}", verdict="{}")
    for name in (
        "arksim-evaluation-old",
        "arksim-focus",
        "arksim-evaluation",
        "arksim-evaluation",
        "arksim-evaluation",
    ):
        await upload(service, tmp_path, name, verdict=json.dumps(name), metrics="code")

    found = await download(client, tmp_path)

    assert [artifact.name for artifact in found] == ["arksim-evaluation", "arksim-evaluation-2", "arksim-evaluation-3"]
    assert all(artifact.files == ("verdict.json",) for artifact in found)
    assert [path.name for path in found[0].folder.iterdir()] == ["verdict.json"]
    assert len(service.asked("list")) == 2


async def test_our_token_goes_to_github_only(service: FakeResultsService, client: GitHubClient, tmp_path: Path) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    await download(client, tmp_path)
    assert [request.headers["authorization"] for request in service.asked("zip")] == [f"Bearer {TOKEN}"]
    (blob,) = service.asked("blob")
    assert "authorization" not in blob.headers


async def test_an_expired_artifact_is_none(service: FakeResultsService, client: GitHubClient, tmp_path: Path) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    service.artifacts[0].expires_at = "expired"
    assert await download(client, tmp_path) == []


@pytest.mark.parametrize("what", ["list", "zip"])
@pytest.mark.parametrize("status", [403, 404])
async def test_a_refusal_names_the_permission(
    service: FakeResultsService, client: GitHubClient, tmp_path: Path, what: str, status: int
) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    service.faults = {what: [Fault(status, '{"message": "Resource not accessible by integration"}')]}
    with pytest.raises(ArtifactUnavailable, match="`actions: read`"):
        await download(client, tmp_path)


async def test_what_expired_meanwhile_says_so(
    service: FakeResultsService, client: GitHubClient, tmp_path: Path
) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    service.faults = {"zip": [Fault(410, '{"message": "Artifact has expired"}')]}
    with pytest.raises(ArtifactUnavailable, match="run the first workflow again"):
        await download(client, tmp_path)


async def test_the_storage_is_asked_again(service: FakeResultsService, client: GitHubClient, tmp_path: Path) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    service.faults = {"blob": [Fault(503), Fault()]}
    assert len(await download(client, tmp_path)) == 1


async def test_bytes_that_changed_on_the_way_are_not_used(
    service: FakeResultsService, client: GitHubClient, tmp_path: Path
) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    service.artifacts[0].digest = "sha256:" + "0" * 64
    with pytest.raises(ArtifactUnavailable, match="digest differs"):
        await download(client, tmp_path)


async def test_a_huge_artifact_is_not_downloaded(
    service: FakeResultsService, client: GitHubClient, tmp_path: Path
) -> None:
    await upload(service, tmp_path, "arksim-evaluation", verdict="{}", evaluation="{}" * 100)
    with pytest.raises(ArtifactUnavailable, match="larger than 100 bytes"):
        await download(client, tmp_path, limits=Limits(download_bytes=100))


async def test_too_many_artifacts(service: FakeResultsService, client: GitHubClient, tmp_path: Path) -> None:
    for _ in range(65):
        await upload(service, tmp_path, "arksim-evaluation", verdict="{}")
    with pytest.raises(ArtifactUnsafe, match="has 65 artifacts"):
        await download(client, tmp_path)
    assert service.asked("zip") == []
