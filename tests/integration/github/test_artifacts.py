"""Uploading over real HTTP: the protocol, its failures, and what must never be seen."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from arksim_ci.github import artifact_service
from arksim_ci.github.artifacts import ArtifactRefused, ArtifactUploader, UploadedArtifact
from tests.support.fake_results_service import FakeResultsService, Fault, runtime_token
from tests.support.fake_time import FakeTime


@pytest.fixture
def service() -> Iterator[FakeResultsService]:
    with FakeResultsService() as service:
        yield service


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "final_report.html"
    path.write_text("<!doctype html><title>Report</title>")
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    for name in ("evaluation.json", "verdict.json"):
        (tmp_path / name).write_text(json.dumps({"file": name}))
    return {name: tmp_path / name for name in ("evaluation.json", "verdict.json")}


def uploader(service: FakeResultsService, time: FakeTime | None = None, **settings: Any) -> ArtifactUploader:
    time = time or FakeTime()
    defaults: dict[str, Any] = {
        "runtime_token": runtime_token(),
        "results_url": f"{service.url}/some/path/",
        "server_url": "https://github.com",
        "repository": "org/shop",
        "run_id": "42",
        "sleep": time.sleep,
        "now": time.clock,
    }
    return ArtifactUploader(**defaults | settings)


def zip_of(service: FakeResultsService, artifact: UploadedArtifact) -> zipfile.ZipFile:
    key = next(each.key for each in service.artifacts if each.id == artifact.id)
    return zipfile.ZipFile(io.BytesIO(service.memory.blobs[key][0]))


async def test_a_zip_arrives_whole_with_size_digest_and_type(
    service: FakeResultsService, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact_service, "BLOCK_BYTES", 50)
    uploaded = await uploader(service).upload_zip("arksim-evaluation", files)

    (artifact,) = service.finished()
    content, content_type = service.memory.blobs[artifact.key]
    assert content_type == "application/zip"
    assert (artifact.size, artifact.digest) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
    assert len(service.asked("block")) == -(-len(content) // 50) > 3
    assert uploaded.url == f"https://github.com/org/shop/actions/runs/42/artifacts/{artifact.id}"
    assert (uploaded.id, uploaded.name, uploaded.size) == (artifact.id, "arksim-evaluation", artifact.size)
    with zip_of(service, uploaded) as archive:
        assert archive.namelist() == ["evaluation.json", "verdict.json"]
        assert json.loads(archive.read("verdict.json")) == {"file": "verdict.json"}
    (created,) = service.asked("CreateArtifact")
    assert json.loads(created.body) == {
        "workflow_run_backend_id": "run-1",
        "workflow_job_run_backend_id": "job-1",
        "name": "arksim-evaluation",
        "version": 4,
    }


async def test_a_page_is_uploaded_as_it_is(service: FakeResultsService, report: Path) -> None:
    uploaded = await uploader(service).upload_file(report, "text/html", name="arksim-report.html")
    assert uploaded is not None
    (artifact,) = service.finished()
    assert service.memory.blobs[artifact.key] == (report.read_bytes(), "text/html")
    assert (artifact.name, artifact.version, artifact.mime_type) == ("arksim-report.html", 7, "text/html")


async def test_an_act_server_gets_the_zip_and_refuses_the_page_at_once(files: dict[str, Path], report: Path) -> None:
    time = FakeTime()
    with FakeResultsService(camel_case=True, strict=True) as act:
        assert await uploader(act, time).upload_file(report, "text/html") is None
        assert time.slept == []
        assert len(act.asked("CreateArtifact")) == 1
        uploaded = await uploader(act, time).upload_zip("arksim-evaluation", files)
        assert [artifact.id for artifact in act.finished()] == [uploaded.id]


async def test_a_failing_service_is_not_taken_for_one_that_knows_no_pages(
    service: FakeResultsService, report: Path
) -> None:
    service.faults = {"CreateArtifact": [Fault(500, '{"code": "internal", "msg": "no"}')]}
    assert await uploader(service).upload_file(report, "text/html") is not None


@pytest.mark.parametrize("what", ["CreateArtifact", "block", "blocklist", "FinalizeArtifact"])
@pytest.mark.parametrize("fault", [Fault(429), Fault(500, "x"), Fault(502), Fault(503), Fault(504), Fault()])
async def test_what_may_pass_is_tried_again(
    service: FakeResultsService, files: dict[str, Path], what: str, fault: Fault
) -> None:
    service.faults = {what: [fault] * 4}
    uploaded = await uploader(service).upload_zip("arksim-evaluation", files)
    assert len(service.asked(what)) == 5
    with zip_of(service, uploaded) as archive:
        assert archive.testzip() is None


@pytest.mark.parametrize("what", ["CreateArtifact", "block", "blocklist", "FinalizeArtifact"])
async def test_after_five_tries_it_is_refused(service: FakeResultsService, files: dict[str, Path], what: str) -> None:
    service.faults = {what: [Fault(503, '{"msg": "down for repair"}')] * 9}
    with pytest.raises(ArtifactRefused, match="HTTP 503: down for repair"):
        await uploader(service).upload_zip("arksim-evaluation", files)
    assert len(service.asked(what)) == 5


async def test_retry_after_is_obeyed(service: FakeResultsService, files: dict[str, Path]) -> None:
    time = FakeTime()
    service.faults = {"CreateArtifact": [Fault(429, headers={"Retry-After": "7"})]}
    await uploader(service, time).upload_zip("arksim-evaluation", files)
    assert time.slept == [7.0]


async def test_a_refusal_is_not_tried_again(service: FakeResultsService, files: dict[str, Path]) -> None:
    service.faults = {"CreateArtifact": [Fault(403, '{"msg": "Artifact storage quota has been hit"}')]}
    with pytest.raises(ArtifactRefused, match="Artifact storage quota has been hit"):
        await uploader(service).upload_zip("arksim-evaluation", files)
    assert len(service.asked("CreateArtifact")) == 1


async def test_a_server_that_is_not_there_is_one_sentence(files: dict[str, Path]) -> None:
    with FakeResultsService() as gone:
        url = gone.url
    time = FakeTime()
    with pytest.raises(ArtifactRefused, match=re.escape(f"no answer from {url}/twirp")):
        await uploader(gone, time, results_url=url).upload_zip("arksim-evaluation", files)
    assert len(time.slept) == 4


async def test_a_taken_name_gets_a_suffix(service: FakeResultsService, files: dict[str, Path], report: Path) -> None:
    names = [(await uploader(service).upload_zip("arksim-evaluation", files)).name for _ in range(3)]
    assert names == ["arksim-evaluation", "arksim-evaluation-2", "arksim-evaluation-3"]
    pages = [await uploader(service).upload_file(report, "text/html", name="arksim-report.html") for _ in range(2)]
    assert [page.name for page in pages if page] == ["arksim-report.html", "arksim-report-2.html"]


async def test_a_lost_answer_to_create_leaves_one_finished_artifact(
    service: FakeResultsService, files: dict[str, Path]
) -> None:
    service.faults = {"CreateArtifact": [Fault(after=True)]}
    uploaded = await uploader(service).upload_zip("arksim-evaluation", files)
    assert [artifact.id for artifact in service.finished()] == [uploaded.id]
    assert uploaded.name == "arksim-evaluation-2"


@pytest.mark.parametrize("fault", [Fault(after=True), Fault(502, after=True)])
async def test_a_lost_answer_to_finalize_still_finds_our_own_artifact(
    service: FakeResultsService, files: dict[str, Path], fault: Fault
) -> None:
    service.faults = {"FinalizeArtifact": [fault]}
    uploaded = await uploader(service).upload_zip("arksim-evaluation", files)
    assert [(artifact.id, artifact.name) for artifact in service.finished()] == [(uploaded.id, "arksim-evaluation")]


@pytest.mark.parametrize(
    ("wanted", "most", "expires"),
    [
        (None, 90, None),
        (5, 90, "2026-08-06T12:00:00Z"),
        (400, 90, "2026-10-30T12:00:00Z"),
        (5, None, "2026-08-06T12:00:00Z"),
    ],
)
async def test_retention_is_capped_by_the_repositorys(
    service: FakeResultsService,
    files: dict[str, Path],
    caplog: pytest.LogCaptureFixture,
    wanted: int | None,
    most: int | None,
    expires: str | None,
) -> None:
    now = 1_785_585_600.0  # 2026-08-01T12:00:00Z
    sender = uploader(service, now=lambda: now, max_retention_days=most)
    await sender.upload_zip("arksim-evaluation", files, wanted)
    (artifact,) = service.finished()
    assert artifact.expires_at == expires
    assert ("kept for 90 days" in caplog.text) == (wanted == 400)


async def test_signatures_and_tokens_are_masked_and_never_said(
    service: FakeResultsService, files: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    masked: list[str] = []
    service.faults = {"block": [Fault(), Fault(500), Fault(403, "<Error><Code>AuthenticationFailed</Code></Error>")]}
    with pytest.raises(ArtifactRefused, match="HTTP 403: AuthenticationFailed") as refused:
        await uploader(service, mask=masked.append).upload_zip("arksim-evaluation", files)
    (block, *_) = service.asked("block")
    signature = re.search(r"sig=([^&]+)", block.path)
    assert signature is not None
    assert {signature[1], unquote(signature[1])} <= set(masked)
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("arksim_ci"))
    assert "trying again" in ours
    for text in (str(refused.value), ours, repr(uploader(service))):
        assert "sig" not in text
        assert all(secret not in text for secret in (*masked, runtime_token()))
    assert "authorization" not in block.headers


async def test_secrets_are_replaced_in_everything_that_goes_out(service: FakeResultsService, tmp_path: Path) -> None:
    for name in ("agent.log", "page.html"):
        (tmp_path / name).write_text("the key is sk-1234567890")
    sender = uploader(service, redact=lambda text: text.replace("sk-1234567890", "***"))
    zipped = await sender.upload_zip("arksim-evaluation", {"agent.log": tmp_path / "agent.log"})
    await sender.upload_file(tmp_path / "page.html", "text/html")
    with zip_of(service, zipped) as archive:
        assert archive.read("agent.log") == b"the key is ***"
    assert service.memory.blobs[service.finished()[1].key][0] == b"the key is ***"


async def test_nothing_is_asked_where_nothing_can_be_uploaded(
    service: FakeResultsService, files: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "empty.html").touch()
    (tmp_path / "link.html").symlink_to("/etc/passwd")
    refused: list[tuple[str, Any]] = [
        ("Enterprise Server", uploader(service, server_url="https://git.acme.example").upload_zip("a", files)),
        ("ACTIONS_RUNTIME_TOKEN", uploader(service, runtime_token="").upload_zip("a", files)),
        ("ACTIONS_RESULTS_URL", uploader(service, results_url="").upload_zip("a", files)),
        ("names no run and job", uploader(service, runtime_token="a.b.c").upload_zip("a", files)),
        ("no file to upload", uploader(service).upload_zip("a", {})),
        ("':' is not allowed", uploader(service).upload_zip("a:b", files)),
        ("No such file", uploader(service).upload_zip("a", {"x.json": tmp_path / "x.json"})),
        ("symbolic link", uploader(service).upload_file(tmp_path / "link.html", "text/html")),
        ("is empty", uploader(service).upload_file(tmp_path / "empty.html", "text/html")),
    ]
    for why, upload in refused:
        with pytest.raises(ArtifactRefused, match=why):
            await upload
    assert service.seen == []


@pytest.mark.parametrize(
    "answer", ["{}", '{"ok": false}', "[]", "<html>", '{"ok": true}', '{"ok": true, "signed_upload_url": "file:///x"}']
)
async def test_an_answer_without_success_is_a_refusal(
    service: FakeResultsService, files: dict[str, Path], answer: str
) -> None:
    service.faults = {"CreateArtifact": [Fault(200, answer)]}
    with pytest.raises(ArtifactRefused, match="CreateArtifact"):
        await uploader(service).upload_zip("arksim-evaluation", files)
