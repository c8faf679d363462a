"""The API client against a real local server: limits, refusals, pages, redirects, certificates."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from arksim_ci.github.client import GitHubClient, GitHubRefused, PermissionMissing
from tests.support.certificate import self_signed
from tests.support.fake_github import FORBIDDEN, REPOSITORY, SECONDARY, FakeGitHub, Trouble
from tests.support.fake_time import FakeTime

TOKEN = "ghs_0123456789secret"
FILES = f"/repos/{REPOSITORY}/pulls/12/files"
COMMENTS = f"/repos/{REPOSITORY}/issues/12/comments"


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as running:
        yield running


class Patient(GitHubClient):
    """A client whose time is fake, closed at the end of the block."""

    def __init__(self, github: FakeGitHub, time: FakeTime, **settings: float) -> None:
        super().__init__(
            github.url,
            github.graphql_url,
            TOKEN,
            sleep=time.sleep,
            now=lambda: 1_000.0,
            monotonic=time.clock,
            **settings,
        )

    async def __aenter__(self) -> Patient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def test_pages_are_followed_a_hundred_at_a_time(github: FakeGitHub) -> None:
    github.files[12] = [{"filename": f"{number}.py"} for number in range(250)]
    async with Patient(github, FakeTime()) as client:
        found = [item["filename"] async for item in client.pages(FILES)]
    assert found == [f"{number}.py" for number in range(250)]
    assert [each.query["per_page"] for each in github.requests("GET")] == ["100"] * 3


async def test_a_next_page_on_another_host_gets_no_token(github: FakeGitHub) -> None:
    with FakeGitHub() as stranger:
        link = f'<{stranger.url}{FILES}>; rel="next"'
        github.troubles.append(Trouble("GET", "files", 200, headers={"Link": link}))
        async with Patient(github, FakeTime()) as client:
            with pytest.raises(GitHubRefused, match="another host"):
                [item async for item in client.pages(FILES)]
        assert stranger.asked == []


async def test_writes_are_a_second_apart(github: FakeGitHub) -> None:
    time = FakeTime()
    async with Patient(github, time) as client:
        for number in range(3):
            await client.post(COMMENTS, {"body": str(number)})
        await client.get(FILES)
    assert time.slept == [1.0, 1.0]


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_that_fails_is_asked_again(github: FakeGitHub, status: int) -> None:
    github.troubles.append(Trouble("GET", "files", status, times=2))
    async with Patient(github, FakeTime()) as client:
        assert await client.get(FILES) == []
    assert len(github.requests("GET")) == 3


async def test_a_broken_connection_is_tried_again_and_then_said(github: FakeGitHub) -> None:
    github.troubles.append(Trouble("GET", "files", drop=True, times=2))
    async with Patient(github, FakeTime()) as client:
        assert await client.get(FILES) == []
        github.troubles.append(Trouble("GET", "files", drop=True, times=9))
        with pytest.raises(GitHubRefused) as caught:
            await client.get(FILES)
    assert caught.value.status == 0
    assert FILES in str(caught.value)


async def test_the_token_is_in_no_error_and_in_no_log(github: FakeGitHub, caplog: pytest.LogCaptureFixture) -> None:
    github.troubles.append(Trouble("GET", "files", 500, f"bad token {TOKEN}\n::error::x", times=9))
    caplog.set_level(logging.INFO)
    async with Patient(github, FakeTime()) as client:
        with pytest.raises(GitHubRefused) as caught:
            await client.get(FILES)
    assert TOKEN not in str(caught.value) + caplog.text
    assert "\n" not in str(caught.value)
    assert TOKEN not in repr(caught.value.__context__)


async def test_a_download_hands_the_token_to_no_other_host(github: FakeGitHub) -> None:
    github.artifacts[7] = [({"id": 55, "name": "a"}, b"PK-bytes")]
    async with Patient(github, FakeTime()) as client:
        answer = await client.download(f"/repos/{REPOSITORY}/actions/artifacts/55/zip", 1000)
        assert answer.body == b"PK-bytes"
        with pytest.raises(GitHubRefused, match="larger than 3 bytes"):
            await client.download(f"/repos/{REPOSITORY}/actions/artifacts/55/zip", 3)
    blob = github.requests("GET", "storage")[0]
    assert "Authorization" not in blob.headers


async def test_403_without_a_limit_is_a_permission_and_not_asked_again(github: FakeGitHub) -> None:
    """Complaint 7, the second half."""
    github.may.clear()
    time = FakeTime()
    async with Patient(github, time) as client:
        with pytest.raises(PermissionMissing, match=FORBIDDEN) as caught:
            await client.post(COMMENTS, {"body": "x"})
    assert caught.value.accepted == "issues=write; pull_requests=write"
    assert len(github.requests("POST")) == 1
    assert time.slept == []


@pytest.mark.parametrize(
    ("status", "message", "headers", "waited"),
    [
        (403, SECONDARY, {"Retry-After": "7"}, 7),
        (403, SECONDARY, {}, 60),
        (429, "", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}, 31),
        (429, "", {"x-ratelimit-reset": "1030"}, 31),
    ],
)
async def test_limits_are_waited_for(
    github: FakeGitHub, status: int, message: str, headers: dict[str, str], waited: float
) -> None:
    github.troubles.append(Trouble("GET", "files", status, message, headers))
    time = FakeTime()
    async with Patient(github, time) as client:
        assert await client.get(FILES) == []
    assert time.slept == [waited]


async def test_waits_are_capped_all_together(github: FakeGitHub) -> None:
    github.troubles.append(Trouble("GET", "files", 403, SECONDARY, times=9))
    time = FakeTime()
    async with Patient(github, time) as client:
        with pytest.raises(GitHubRefused, match="too long"):
            await client.get(FILES)
    assert time.slept == [60]
    assert len(github.requests("GET")) == 2


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    return self_signed(tmp_path)


async def test_a_private_certificate_authority_is_honoured(
    certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complaint 9: Enterprise Server's own URLs, and a bundle in SSL_CERT_FILE."""
    path, context = certificate
    with FakeGitHub(tls=context, name="localhost") as github:
        async with Patient(github, FakeTime()) as client:
            with pytest.raises(GitHubRefused, match="SSL_CERT_FILE"):
                await client.get(FILES)
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        async with Patient(github, FakeTime()) as client:
            assert await client.get(FILES) == []
            assert (await client.graphql("query { viewer { login } }"))["viewer"]
    assert {each.path.split("/repos")[0] for each in github.asked} == {"/api/v3", "/api/graphql"}
