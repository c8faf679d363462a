"""Names, ids, places and zips of artifacts: everything that can be decided without a server."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from arksim_ci.github.addresses import place
from arksim_ci.github.artifact_download import file_name
from arksim_ci.github.artifact_http import Answer
from arksim_ci.github.artifact_service import BackendIds, backend_ids
from arksim_ci.github.artifact_zip import FileRefused, write_zip
from arksim_ci.github.artifacts import ArtifactRefused, check_artifact_name, takes_artifacts
from tests.support.fake_results_service import runtime_token


def test_the_ids_are_read_from_the_scope_of_the_runtime_token() -> None:
    token = runtime_token({"scp": "Actions.Generic:x Actions.Results:ce7f-1:ca39-2 Actions.Other"})
    assert backend_ids(token) == BackendIds("ce7f-1", "ca39-2")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "abc",
        "a.b.c",
        "a.W10.c",
        runtime_token({}),
        runtime_token({"scp": "Actions.Results"}),
        runtime_token({"scp": "Actions.Results:only-one"}),
        runtime_token({"scp": "Actions.Results::"}),
        runtime_token({"scp": "Actions.Results:a:b:c"}),
    ],
)
def test_a_token_without_ids_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ArtifactRefused, match="ACTIONS_RUNTIME_TOKEN") as refused:
        backend_ids(token)
    assert len(token) < 6 or token not in str(refused.value)


@pytest.mark.parametrize(
    ("server", "takes"),
    [
        ("https://github.com", True),
        ("https://GitHub.com/", True),
        ("https://acme.ghe.com", True),
        ("http://github.localhost", True),
        ("https://github.acme.example", False),
        ("https://notgithub.com", False),
        ("https://ghe.com.evil.example", False),
        ("http://127.0.0.1:8080", False),
        ("", False),
    ],
)
def test_which_hosts_take_artifacts(server: str, takes: bool) -> None:
    assert takes_artifacts(server) is takes


@pytest.mark.parametrize("name", ["arksim-evaluation", "日本 report", "a.b", "x" * 200])
def test_good_names(name: str) -> None:
    check_artifact_name(name)


@pytest.mark.parametrize("name", ["", *(f"a{bad}b" for bad in '":<>|*?\\/\r\n')])
def test_names_that_github_refuses_are_refused_with_the_character(name: str) -> None:
    with pytest.raises(ArtifactRefused) as refused:
        check_artifact_name(name)
    assert not name or repr(name[1]) in str(refused.value)


def zipped(files: dict[str, Path]) -> bytes:
    target = io.BytesIO()
    write_zip(target, files)
    return target.getvalue()


def test_a_zip_holds_the_files_that_were_named_in_one_order_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "focus").mkdir()
    for name in ("b.json", "a.json", "focus/error_1.json", "unnamed.json", ".hidden"):
        (tmp_path / name).write_text(name)
    names = ["focus/error_1.json", "b.json", "a.json"]
    first = zipped({name: tmp_path / name for name in names})
    os.utime(tmp_path / "a.json", (1, 1))
    second = zipped({name: tmp_path / name for name in reversed(names)})
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.namelist() == ["a.json", "b.json", "focus/error_1.json"]
        assert archive.read("focus/error_1.json") == b"focus/error_1.json"
        assert archive.testzip() is None
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}


def test_secrets_are_replaced_and_other_bytes_stay(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_bytes(b"key=topsecret-1 \xff\xfe \xe6\x97\xa5")
    target = io.BytesIO()
    write_zip(target, {"agent.log": log}, lambda text: text.replace("topsecret-1", "***"))
    with zipfile.ZipFile(target) as archive:
        assert archive.read("agent.log") == b"key=*** \xff\xfe \xe6\x97\xa5"


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up", "a/../b", ".hidden", "a/.git/config", "a//b", "", "c:x", "a\\b", "a\nb"]
)
def test_names_that_lead_elsewhere_or_are_hidden_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileRefused, match="can't be a name"):
        zipped({name: tmp_path / "file"})


def test_no_link_is_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "error_1.json").write_text("top secret")
    out = tmp_path / "out"
    out.mkdir()
    (out / "evaluation.json").symlink_to(secret / "error_1.json")
    (out / "focus").symlink_to(secret)
    with pytest.raises(FileRefused, match="is a symbolic link"):
        zipped({"evaluation.json": out / "evaluation.json"})
    with pytest.raises(FileRefused, match="behind a symbolic link"):
        zipped({"focus/error_1.json": out / "focus" / "error_1.json"})


def test_only_regular_files_go_in(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path / "pipe", "no regular file"),
        (tmp_path, "no regular file"),
        (tmp_path / "no", "No such"),
    ):
        with pytest.raises(FileRefused, match=why):
            zipped({"file": path})


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="report.html"', "report.html"),
        ("attachment; filename=report.html", "report.html"),
        ("attachment; filename=\"x\"; filename*=UTF-8''b%C3%A9.html", "bé.html"),
        ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
        ('attachment; filename="..\\..\\x.json"', "x.json"),
        ("inline", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_plain_file_is_its_base_name(header: str, name: str) -> None:
    assert file_name(header) == name


def test_a_place_and_a_reason_hold_no_signature() -> None:
    assert place("https://u:p@host.example:8443/a/b?sig=secret#x") == "https://host.example:8443/a/b"
    answer = Answer(403, {}, b'{"msg": "denied for https://blob.example/x?sig=abc\\n::error::no"}')
    assert "sig" not in answer.reason()
    assert "\n" not in answer.reason()
    assert answer.reason().startswith("HTTP 403: denied for (an address)")
    assert (
        Answer(403, {}, b"<Error><Code>AuthenticationFailed</Code></Error>").reason()
        == "HTTP 403: AuthenticationFailed"
    )
    assert Answer(502, {}, b"<html>").reason() == "HTTP 502"
