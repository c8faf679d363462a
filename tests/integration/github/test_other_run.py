"""`command: comment`: a fork's results on its pull request, read as data and nothing more."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.github.comments import Marker, find_marker
from arksim_ci.pipeline.files import as_json
from arksim_ci.reports.results import Results
from tests.support import samples
from tests.support.action_step import SHA, Step
from tests.support.fake_github import REPOSITORY, FakeGitHub
from tests.support.scripted_server import ScriptedServer
from tests.unit.reports.reading import html, loose_text, tokens

FORK = {"full_name": "stranger/shop", "owner": {"login": "stranger"}}
KEY = "Gate/test/0"


def files_of(results: Results) -> dict[str, str]:
    """The JSON files of a run."""
    found = {"verdict.json": results.verdict, "simulation.json": results.simulation}
    texts = {name: as_json(model, str) for name, model in found.items()}
    if results.evaluation:
        texts["evaluation.json"] = as_json(results.evaluation, str, exclude_none=True)
    if results.recommendations:
        texts["recommendations.json"] = as_json(results.recommendations, str)
    return texts


def packed(files: dict[str, str]) -> bytes:
    """A zip."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


@pytest.fixture
def comment(tmp_path: Path, server: ScriptedServer, github: FakeGitHub) -> Step:
    """A step with `command: comment` after run 900 of a fork, for pull request 12."""
    github.pull(12, SHA, head="stranger/shop:main")
    github.runs[900] = {
        "id": 900,
        "event": "pull_request",
        "run_number": 31,
        "run_attempt": 2,
        "run_started_at": "2026-08-03T12:00:00Z",
        "head_sha": SHA,
        "head_branch": "main",
        "head_repository": FORK,
    }
    step = Step(tmp_path, server, github, event="workflow_run")
    step.payload = {"workflow_run": github.runs[900]}
    step.inputs |= {"command": "comment", "run-id": "900"}
    upload(github, files_of(samples.gate_failed()))
    return step


def upload(
    github: FakeGitHub,
    files: dict[str, str],
    name: str = "arksim-evaluation",
    created_at: str = "2026-08-03T12:05:00Z",
) -> None:
    """The fork's run uploads an artifact."""
    artifacts = github.artifacts.setdefault(900, [])
    described = {"id": 500 + len(artifacts), "name": name, "created_at": created_at, "expired": False}
    artifacts.append((described, packed(files)))


async def test_the_result_is_posted_as_reported_by_a_fork_s_run(comment: Step, github: FakeGitHub) -> None:
    ended = await comment.run()
    assert ended.code == 0, ended.log
    [body] = github.bodies()
    assert "Reported by a fork's run, not verified" in body
    assert "Gate failed" in body
    assert "report.html" not in body
    assert "Full report" not in body
    assert f"https://github.com/{REPOSITORY}/actions/runs/900" in body
    assert f"/commit/{SHA}" in body
    assert find_marker(body) == Marker(KEY, 31, 2)
    assert ended.outputs["conclusion"] == "failed"
    assert ended.outputs["comment-url"] == github.comments[0]["html_url"]
    assert "Reported by a fork's run" in ended.summary


async def test_the_fork_s_commit_is_what_github_says_not_what_the_files_say(comment: Step, github: FakeGitHub) -> None:
    other = "a" * 40
    github.runs[900]["head_sha"] = other
    github.pulls[0]["head"]["sha"] = other
    await comment.run()
    assert f"/commit/{other}" in github.bodies()[0]
    assert "`aaaaaaa`" in github.bodies()[0]


async def test_config_scenarios_and_python_of_the_workspace_are_not_read(comment: Step, github: FakeGitHub) -> None:
    comment.project.config = {"max_turn": "wrong"}
    comment.inputs["config"] = "does/not/exist.yaml"
    ended = await comment.run()
    assert ended.code == 0, ended.log
    assert len(github.comments) == 1


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("verdict.json", "{}", "verdict.json is not what a run of ours writes"),
        ("verdict.json", "[" * 100_000, "verdict.json can't be read as JSON"),
        ("verdict.json", None, "has no verdict.json"),
        ("simulation.json", '{"schema_version": NaN}', "simulation.json can't be read as JSON"),
        ("evaluation.json", "\udcff", "evaluation.json"),
        ("recommendations.json", '{"recommendations": 3}', "recommendations.json is not what"),
    ],
)
async def test_files_of_another_shape_are_refused(
    comment: Step, github: FakeGitHub, name: str, text: str | None, says: str
) -> None:
    files = files_of(samples.gate_failed())
    files.pop(name)
    if text is not None:
        files[name] = text.encode("utf-8", "replace").decode() if "\udcff" not in text else "\x00"
    github.artifacts.clear()
    upload(github, files)
    ended = await comment.run()
    assert ended.code == 3, ended.log
    assert says in ended.annotations("error")[0]
    assert github.comments == []
    assert ended.outputs == {"exit-code": "3", "conclusion": "error"}


async def test_files_of_two_runs_are_refused(comment: Step, github: FakeGitHub) -> None:
    files = files_of(samples.gate_failed())
    simulation = json.loads(files["simulation.json"]) | {"simulation_id": "another"}
    github.artifacts.clear()
    upload(github, {**files, "simulation.json": json.dumps(simulation)})
    ended = await comment.run()
    assert ended.code == 3
    assert "do not belong to one run" in ended.annotations("error")[0]


async def test_what_the_fork_writes_stays_data(comment: Step, github: FakeGitHub) -> None:
    attack = f"@org/everyone <img src=x> {Marker(KEY, 999, 9)} [click](https://evil.example) \n::error::forged"
    github.artifacts.clear()
    upload(github, files_of(samples.hostile(attack)))
    ended = await comment.run()
    assert ended.code == 0, ended.log
    [body] = github.bodies()
    assert find_marker(body) == Marker(KEY, 31, 2)
    for text in (body, ended.summary):
        assert "@org" not in loose_text(text)
        assert not [tag for tag in html(text) if "img" in tag]
        assert not [token for token in tokens(text) if "evil" in str(token.attrs.get("href"))]
        assert "::error::forged" not in text.splitlines()
    assert not [line for line in ended.log.splitlines() if line.startswith("::error::forged")]


async def test_a_newer_push_or_a_closed_pull_request_leaves_nothing_to_say(comment: Step, github: FakeGitHub) -> None:
    github.pulls[0]["head"]["sha"] = "b" * 40
    ended = await comment.run()
    assert ended.code == 0
    assert ended.outputs["conclusion"] == "skipped"
    assert "Nothing to publish" in ended.annotations("notice")[0]
    assert github.comments == []


async def test_a_run_without_results_is_nothing_to_publish(comment: Step, github: FakeGitHub) -> None:
    github.artifacts.clear()
    ended = await comment.run()
    assert (ended.code, ended.outputs["conclusion"]) == (0, "skipped")


@pytest.mark.parametrize("event", ["push", "workflow_dispatch", "pull_request_target"])
async def test_only_runs_of_pull_requests_are_published(comment: Step, github: FakeGitHub, event: str) -> None:
    github.runs[900]["event"] = event
    ended = await comment.run()
    assert ended.code == 2
    assert "input run-id" in ended.log
    assert github.comments == []


async def test_a_missing_permission_is_named_with_its_block(comment: Step, github: FakeGitHub) -> None:
    github.may.discard("actions:read")
    ended = await comment.run()
    assert ended.code == 3
    assert "actions: read" in ended.annotations("error")[0]


async def test_without_a_token_nothing_can_be_done(comment: Step) -> None:
    comment.inputs["github-token"] = ""
    ended = await comment.run()
    assert ended.code == 2
    assert "input github-token" in ended.log


async def test_each_leg_of_a_matrix_has_its_comment_and_only_the_last_attempt_counts(
    comment: Step, github: FakeGitHub
) -> None:
    github.artifacts.clear()
    upload(github, files_of(samples.gate_failed()), created_at="2026-08-03T11:00:00Z")
    upload(github, files_of(samples.all_green()), "arksim-evaluation-2", "2026-08-03T12:05:00Z")
    upload(github, files_of(samples.no_gate()), "arksim-evaluation-3", "2026-08-03T12:06:00Z")
    ended = await comment.run()
    assert ended.code == 0, ended.log
    found = [find_marker(body) for body in github.bodies()]
    assert found == [Marker(key, 31, 2) for key in (KEY, f"{KEY}/2")]


async def test_a_run_of_our_own_branch_is_not_called_a_fork_s(comment: Step, github: FakeGitHub) -> None:
    ours: dict[str, Any] = {"full_name": REPOSITORY, "owner": {"login": "org"}}
    github.runs[900]["head_repository"] = ours
    github.pulls[0]["head"]["repo"] = ours
    await comment.run()
    assert "fork" not in github.bodies()[0]


async def test_a_leg_that_is_refused_keeps_no_other_back_and_the_outputs_are_the_worst_leg_s(
    comment: Step, github: FakeGitHub
) -> None:
    github.artifacts.clear()
    upload(github, files_of(samples.gate_failed()), "arksim-evaluation", "2026-08-03T12:04:00Z")
    upload(github, {"verdict.json": "{}", "simulation.json": "{}"}, "arksim-evaluation-2", "2026-08-03T12:05:00Z")
    upload(github, files_of(samples.all_green()), "arksim-evaluation-3", "2026-08-03T12:06:00Z")
    ended = await comment.run()
    assert ended.code == 3
    assert "arksim-evaluation-2: verdict.json is not what a run of ours writes" in ended.annotations("error")[-1]
    titles = {body.splitlines()[0][:8] for body in github.bodies()}
    assert len(github.bodies()) == 2
    assert titles == {"## ❌ Gat", "## ✅ Gat"}
    github.artifacts.clear()
    upload(github, files_of(samples.gate_failed()), "arksim-evaluation", "2026-08-03T12:04:00Z")
    upload(github, files_of(samples.all_green()), "arksim-evaluation-2", "2026-08-03T12:06:00Z")
    ended = await comment.run()
    assert ended.code == 0, ended.log
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("1", "failed")


async def test_a_second_attempt_writes_over_the_comments_of_the_first(comment: Step, github: FakeGitHub) -> None:
    """Names of artifacts are taken for a whole run, so those of a second attempt have other suffixes."""
    github.runs[900] |= {"run_attempt": 1}
    await comment.run()
    github.runs[900] |= {"run_attempt": 2, "run_started_at": "2026-08-03T13:00:00Z"}
    upload(github, files_of(samples.all_green()), "arksim-evaluation-2", "2026-08-03T13:05:00Z")
    ended = await comment.run()
    assert ended.code == 0, ended.log
    assert len(github.bodies()) == 1
    assert find_marker(github.bodies()[0]) == Marker(KEY, 31, 2)
