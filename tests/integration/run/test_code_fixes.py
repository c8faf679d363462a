"""Code fixes through the command line: the agent's source goes out without its secrets, and only changes that apply come in."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Finished, Project, judgement, llm
from tests.support.scripted_server import Reply, Request, ScriptedServer

AGENT = '''\
"""The shop's agent."""

import os

DAYS = 45


def answer(message):
    return f"Within {DAYS} days."


# Connections
API_KEY = "sk-0123456789abcdefghijkl"
PASSWORD = "correct horse"
URL = "postgres://shop:battery@db/shop"
TOKEN_OF_THE_RUN = os.environ.get("X", "staple-of-the-run")
'''
SECRETS = ("sk-0123456789abcdefghijkl", "correct horse", "battery", "staple-of-the-run")
FIX = {"module": "Memory", "fix": "Correct DAYS."}


def change(old: str = "DAYS = 45", new: str = "DAYS = 30", file: str = "src/agent.py", line: int = 5) -> dict[str, Any]:
    return {"module": "Memory", "file": file, "replacements": [{"start_line": line, "old": old, "new": new}]}


class Analyst:
    """Answers with these changes, and to the repair with those."""

    def __init__(self, *changes: dict[str, Any], repaired: list[dict[str, Any]] | None = None) -> None:
        self.changes = list(changes)
        self.repaired = repaired or []

    def __call__(self, request: Request) -> Reply:
        if request.question == "recommend":
            answer: dict[str, Any] = {"module_fixes": [FIX], "reasoning": "It is wrong.", "best": 0}
            return Reply(content=json.dumps({**answer, "changes": self.changes, "best_change": 0}))
        if request.question == "repair_changes":
            return Reply(content=json.dumps({"changes": self.repaired}))
        refs = [f"F{number}" for number in range(1, 9) if f'"F{number}"' in request.text]
        return Reply(
            content=json.dumps({"groups": [{"description": "Tells a wrong number of days.", "members": refs}]})
        )


def false_days(request: Request) -> Reply:
    return Reply(content=json.dumps(judgement(request, agent_behavior_failure="false information")))


@pytest.fixture
def project(tmp_path: Path, server: ScriptedServer) -> Project:
    made = Project(tmp_path, server)
    made.config |= {
        "num_conversations_per_scenario": 1,
        "max_turns": 1,
        "code_paths": ["./src"],
        "api_key_env": "JUDGE_KEY",
    }
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "agent.py").write_text(AGENT, encoding="utf-8")
    return made


def run(project: Project, server: ScriptedServer, analyst: Analyst) -> tuple[Finished, dict[str, Any]]:
    server.llm = llm(false_days, analysis=analyst)
    finished = project.run(environment={"JUDGE_KEY": "staple-of-the-run"})
    assert finished.code in (0, 1), finished.err
    (found,) = finished.file("recommendations.json")["recommendations"]
    return finished, found


def questions(server: ScriptedServer) -> list[str]:
    return [each.question for each in server.requests["llm"] if each.question.startswith(("recommend", "repair"))]


def test_an_accepted_fix_is_in_every_file_and_applies(project: Project, server: ScriptedServer) -> None:
    finished, found = run(project, server, Analyst(change()))
    (fix,) = found["code_fixes"]
    assert (fix["file"], fix["start_line"], fix["end_line"]) == ("src/agent.py", 5, 5)
    assert found["best_code_fix_location"] == "src/agent.py:5"
    assert found["best_code_fix"] == fix["diff"]
    assert found["dropped"] == []
    assert questions(server) == ["recommend"]
    for name in ("final_report.md", "final_report.html", "unique_errors.csv"):
        assert "DAYS = 30" in (finished.output_dir / name).read_text(encoding="utf-8"), name
    located = finished.file("results.sarif")["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert located["artifactLocation"]["uri"] == "src/agent.py"
    assert (located["region"]["startLine"], located["region"]["endLine"]) == (5, 5)
    source = project.folder / "src" / "agent.py"
    assert source.read_text(encoding="utf-8") == AGENT
    subprocess.run(["git", "apply", "-"], cwd=project.folder, input=fix["diff"].encode(), check=True)
    assert source.read_text(encoding="utf-8") == AGENT.replace("DAYS = 45", "DAYS = 30")


def test_a_refused_fix_is_repaired_or_dropped_with_the_reason(project: Project, server: ScriptedServer) -> None:
    stale, outside, secret = (
        change("DAYS = 60"),
        change(file="../config.yaml"),
        change('PASSWORD = "***"', "PASSWORD = ''", line=14),
    )
    analyst = Analyst(stale, outside, secret, repaired=[{"number": 0, **change()}])
    finished, found = run(project, server, analyst)
    assert questions(server) == ["recommend", "repair_changes"]
    assert [fix["start_line"] for fix in found["code_fixes"]] == [5]
    assert found["dropped"] == [
        "Change to Memory refused: ../config.yaml: leads out of the given paths; name a file as its excerpt does.",
        "Change to Memory refused: src/agent.py: line 14 holds a secret that was not shown, so it can't be part of a change.",
    ]
    assert found["best_module_fix"] == "Memory: Correct DAYS."
    assert "line 14 holds a secret" in (finished.output_dir / "final_report.md").read_text(encoding="utf-8")


def test_where_all_is_refused_the_module_fix_is_left(project: Project, server: ScriptedServer) -> None:
    _, found = run(project, server, Analyst(change("def answer(message):", "def answer(message", line=8)))
    assert (found["code_fixes"], found["best_code_fix"], found["best_code_fix_location"]) == ([], None, None)
    assert "the file no longer parses with it" in found["dropped"][0]
    assert found["best_module_fix"] == "Memory: Correct DAYS."


def test_no_secret_of_the_source_is_in_a_request_or_in_a_file(project: Project, server: ScriptedServer) -> None:
    near = change("# Connections", "# Our connections", line=12)
    finished, found = run(project, server, Analyst(near, change("DAYS = 60"), repaired=[{"number": 0, **change()}]))
    assert len(found["code_fixes"]) == 2
    asked = [json.dumps(each.body, ensure_ascii=False) for each in server.requests["llm"]]
    assert sum("The shop's agent." in body for body in asked) == 2
    assert sum("***" in body for body in asked) == 2
    written = [path.read_text(encoding="utf-8") for path in finished.output_dir.rglob("*") if path.is_file()]
    for secret in SECRETS:
        assert not any(secret in text for text in [*asked, *written, finished.out, finished.err]), secret


def test_the_test_s_own_files_and_hidden_ones_are_never_sent(project: Project, server: ScriptedServer) -> None:
    (project.folder / ".env").write_text("SHOP=hidden-value-of-the-shop", encoding="utf-8")
    (project.folder / "old").mkdir()
    project.config |= {"code_paths": ["."], "output_file_path": "./old/simulation.json"}
    finished, _ = run(project, server, Analyst(change()))
    run(project, server, Analyst(change()))
    asked = [each.text for each in server.requests["llm"] if each.question == "recommend"]
    assert [text.count('{"file": ') for text in asked] == [1, 1]
    assert not any("hidden-value" in text for text in asked)
    assert not any("Not read" in warning for warning in finished.verdict.warnings)


def test_what_was_not_read_stands_in_the_report(project: Project, server: ScriptedServer, tmp_path: Path) -> None:
    text = "".join(
        f"def topic_{number}(order):\n    return 'About subject {number} of many'\n\n" for number in range(1_500)
    )
    (tmp_path / "src" / "topics.py").write_text(text, encoding="utf-8")
    (tmp_path / "src" / "secret.py").symlink_to("/etc/hostname")
    project.config |= {"code_file_path": "./src/agent.py", "entry_function": "answer"}
    finished, found = run(project, server, Analyst(change()))
    assert len(found["code_fixes"]) == 1
    assert found["code_fix_entry_function"] == "answer"
    (request,) = [each for each in server.requests["llm"] if each.question == "recommend"]
    assert "The shop's agent." in request.text
    assert 'the agent starts at "answer"' in request.text
    assert len(request.text) < 56_000
    warnings = finished.verdict.warnings
    assert any("src/secret.py (a link out of the repository)" in each for each in warnings)
    assert any("does not fit into one request" in each and "lines in 2 of 2 files" in each for each in warnings)
    assert "does not fit into one request" in (finished.output_dir / "final_report.md").read_text(encoding="utf-8")


def test_without_source_no_code_is_asked_for(project: Project, server: ScriptedServer) -> None:
    del project.config["code_paths"]
    _, found = run(project, server, Analyst())
    (request,) = [each for each in server.requests["llm"] if each.question == "recommend"]
    assert "changes" not in json.dumps(request.body["response_format"])
    assert found["code_fixes"] == []
