"""What the gate of the composite action leaves for its later steps, and what these make of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from arksim_ci.action.composite import environment_of
from arksim_ci.action.hand_over import HandedOver, read_state, stage, with_urls, write_state
from arksim_ci.github.artifact_zip import FileRefused
from arksim_ci.github.comments import Marker
from arksim_ci.github.event import Event
from arksim_ci.github.publish import Publication
from arksim_ci.redaction import redactor
from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.results import Results
from tests.support import samples

EVENT = Event("pull_request", "known", 7, "a" * 40, "org", "fix", is_fork=True, is_dependabot=True)
SECRET = "sk-0123456789abcdef"


def publication(folder: Path) -> Publication:
    """A run with every kind of file, one of the user's among them."""
    output = folder / "results"
    (output / "focus").mkdir(parents=True)
    names = ("verdict.json", "final_report.html", "agent.log", "mine.txt", "focus/error_1.json", "journal.jsonl")
    for name in names:
        (output / name).write_text(f"{name} {SECRET}", encoding="utf-8")
    return Publication(
        results=samples.gate_failed(),
        context=CommentContext(run_id="77", gate_changes=("arksim/config.yaml",)),
        marker=Marker("Gate/test/0", 5, 1),
        exit_code=1,
        files=tuple(output / name for name in names),
        folder=output,
        workspace=folder,
        scenario_lines={"returns": 12},
        comment="on-failure",
        artifact_name="shop",
        retention_days=3,
    )


@pytest.mark.parametrize(
    "results", [samples.gate_failed(), samples.no_gate(), samples.not_measured(), samples.non_latin()]
)
def test_a_run_comes_out_as_it_went_in(results: Results, tmp_path: Path) -> None:
    made = publication(tmp_path)
    made = replace(made, results=results)
    write_state(HandedOver(made, EVENT), tmp_path)
    handed = read_state(tmp_path)
    assert handed == HandedOver(made, EVENT)
    assert render_comment(handed.publication.results, handed.publication.context) == render_comment(
        made.results, made.context
    )


def test_halves_of_characters_survive(tmp_path: Path) -> None:
    made = publication(tmp_path)
    made = replace(made, artifact_name="half \ud83d of a character")
    write_state(HandedOver(made, EVENT), tmp_path)
    assert json.loads((tmp_path / "state.json").read_text())["publication"]["artifact_name"] == made.artifact_name


def test_only_files_of_ours_are_uploaded_without_secrets_and_under_two_names_each(tmp_path: Path) -> None:
    outputs = stage(publication(tmp_path), redactor([SECRET]), tmp_path, "-4")
    staged = {
        path.relative_to(tmp_path).as_posix(): path.read_text()
        for kind in ("evaluation", "focus", "report")
        for path in (tmp_path / kind).iterdir()
    }
    assert staged == {
        "evaluation/verdict.json": "verdict.json ***",
        "evaluation/final_report.html": "final_report.html ***",
        "evaluation/agent.log": "agent.log ***",
        "focus/error_1.json": "focus/error_1.json ***",
        "report/shop-report.html": "final_report.html ***",
        "report/shop-report-4.html": "final_report.html ***",
    }
    assert outputs == {
        "evaluation": "shop-evaluation",
        "evaluation-again": "shop-evaluation-4",
        "focus": "shop-focus",
        "focus-again": "shop-focus-4",
        "report": "shop-report.html",
        "report-again": "shop-report-4.html",
    }


def test_no_link_is_followed(tmp_path: Path) -> None:
    made = publication(tmp_path)
    (tmp_path / "results" / "agent.log").unlink()
    (tmp_path / "results" / "agent.log").symlink_to("/etc/passwd")
    with pytest.raises(FileRefused, match="symbolic link"):
        stage(made, str, tmp_path, "-2")


def test_without_a_focus_file_there_is_no_focus_artifact(tmp_path: Path) -> None:
    made = publication(tmp_path)
    made = replace(made, files=tuple(path for path in made.files if path.parent.name != "focus"))
    assert "focus" not in stage(made, str, tmp_path, "-2")


def test_the_comment_links_what_was_uploaded_and_names_the_focus_artifact(tmp_path: Path) -> None:
    urls = {"report": "https://github.com/r", "evaluation": "https://github.com/e", "focus": "https://github.com/f"}
    context = with_urls(publication(tmp_path), urls, "shop-focus-2").context
    assert (context.report_url, context.evaluation_artifact_url, context.focus_artifact_url) == tuple(urls.values())
    assert context.focus_artifact_name == "shop-focus-2"
    nothing = with_urls(publication(tmp_path / "b"), dict.fromkeys(urls, ""), "").context
    assert nothing.report_url is nothing.evaluation_artifact_url is nothing.focus_artifact_url is None
    assert nothing.focus_artifact_name is None


def test_inputs_arrive_as_in_the_docker_action_and_nothing_else_that_looks_like_one() -> None:
    given = {"api-key": "k", "overrides": "a: 1\nb: $(rm -rf /)", "python": "python3", "top-errors": "5"}
    variables = {
        "INPUT_JSON": json.dumps(given),
        "INPUT_JOB_PYTHON": "/usr/bin/python3",
        "INPUT_CONFIG": "x",
        "PATH": "/bin",
    }
    assert environment_of(variables) == {
        "PATH": "/bin",
        "INPUT_API-KEY": "k",
        "INPUT_OVERRIDES": "a: 1\nb: $(rm -rf /)",
        "INPUT_TOP-ERRORS": "5",
    }
    with pytest.raises(ValueError, match="INPUT_JSON"):
        environment_of({"INPUT_JSON": "[]"})
