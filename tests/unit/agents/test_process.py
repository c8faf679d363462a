"""What the user's commands see, and what is kept of what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.agents.command_log import LARGEST_FILE, CommandLog
from arksim_ci.agents.commands import user_environment
from arksim_ci.agents.health import HealthCheck
from arksim_ci.redaction import redactor

PYTHON = Path("/opt/user/bin/python")


def environment(**job: str) -> dict[str, str]:
    return user_environment(job, PYTHON)


def test_the_users_venv_is_first_in_the_path_and_activated() -> None:
    inner = environment(PATH="/jobs/own:/usr/bin")
    assert inner["PATH"].startswith("/opt/user/bin:/jobs/own:/usr/bin:")
    assert inner["VIRTUAL_ENV"] == "/opt/user"


@pytest.mark.parametrize("path", ["", "/nowhere", "/a::/b"])
def test_a_path_without_the_standard_folders_gets_them_and_never_the_working_directory(path: str) -> None:
    folders = environment(PATH=path)["PATH"].split(":")
    assert {"/usr/local/bin", "/usr/bin", "/bin"} <= set(folders)
    assert "" not in folders


def test_pythonhome_of_the_runner_is_dropped_as_activate_does_and_pythonpath_stays() -> None:
    inner = environment(PYTHONHOME="/opt/hostedtoolcache/Python", PYTHONPATH="src")
    assert "PYTHONHOME" not in inner
    assert inner["PYTHONPATH"] == "src"


def test_tokens_and_command_files_are_out_of_reach() -> None:
    job = {
        "INPUT_API-KEY": "x",
        "ACTIONS_RUNTIME_TOKEN": "x",
        "GITHUB_TOKEN": "x",
        "GITHUB_ENV": "x",
        "GITHUB_OUTPUT": "x",
        "GITHUB_PATH": "x",
        "GITHUB_STATE": "x",
        "GITHUB_STEP_SUMMARY": "x",
        "GITHUB_SHA": "kept",
        "OPENAI_API_KEY": "kept",
    }
    assert [name for name in user_environment(job, PYTHON) if name in job] == ["GITHUB_SHA", "OPENAI_API_KEY"]


def test_the_job_decides_how_python_writes() -> None:
    assert environment()["PYTHONUNBUFFERED"] == "1"
    assert environment(PYTHONUNBUFFERED="")["PYTHONUNBUFFERED"] == ""


def test_every_line_of_the_log_is_redacted(tmp_path: Path) -> None:
    log = CommandLog(tmp_path / "agent.log", redactor(["sk-secret-123"]))
    log.line(b"key is sk-secret-123")
    log.note("with sk-secret-123")
    log.close()
    assert (tmp_path / "agent.log").read_text() == "key is ***\n[arksim] with ***\n"
    assert log.last_lines() == "  | key is ***"


def test_the_last_lines_stand_behind_a_bar_without_control_characters_or_notes_of_ours(tmp_path: Path) -> None:
    log = CommandLog(None, str)
    for number in range(30):
        log.line(f"line {number}".encode())
    log.note("ours")
    for hostile in (b"::error::forged", b"\x1b[31mred\x1b[0m", b"one\rtwo", b"\xff\xfe", b"", b"x" * 5000):
        log.line(hostile)
    lines = log.last_lines().split("\n")
    assert len(lines) == 20
    assert all(line.startswith("  | ") and len(line) <= 404 for line in lines)
    assert lines[-5:-1] == ["  | ::error::forged", "  |  red", "  | one two", "  | \ufffd\ufffd"]


def test_a_log_that_is_there_is_replaced_and_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "agent.log").symlink_to(victim)
    log = CommandLog(tmp_path / "agent.log", str)
    log.line(b"new")
    log.close()
    assert victim.read_text() == "precious"
    assert (tmp_path / "agent.log").read_text() == "new\n"


def test_an_endless_log_is_cut_and_says_so(tmp_path: Path) -> None:
    log = CommandLog(tmp_path / "agent.log", str)
    line = b"x" * 1024 * 1024
    for _ in range(LARGEST_FILE // len(line) + 5):
        log.line(line)
    log.close()
    written = (tmp_path / "agent.log").read_bytes()
    assert len(written) <= LARGEST_FILE
    assert written.endswith(b"[arksim] The log is cut here: it may have 32 MB.\n")


@pytest.mark.parametrize(
    ("health_url", "endpoint", "expected"),
    [
        (None, "http://127.0.0.1:8000/v1/chat/completions", "port 8000 of 127.0.0.1 accepts connections"),
        (None, "http://localhost/chat", "port 80 of localhost accepts connections"),
        (None, "https://[::1]/chat", "port 443 of ::1 accepts connections"),
        ("http://localhost:9/ready?token=s3cret", "http://other", "http://localhost:9/ready answers 200"),
    ],
)
def test_what_is_waited_for(health_url: str | None, endpoint: str, expected: str) -> None:
    check = HealthCheck.of(health_url, endpoint)
    assert check is not None
    assert check.expected == expected


def test_an_agent_without_endpoint_or_health_url_is_not_waited_for() -> None:
    assert HealthCheck.of(None, "") is None
