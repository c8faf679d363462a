"""Recorded runs as golden files: the same JSON files give the same reports, byte for byte, in every format.

`UPDATE_SNAPSHOTS=1` holds the runs again and rewrites everything under `files/`.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.output import EVALUATION, RECOMMENDATIONS, SIMULATION, VERDICT
from arksim_ci.pipeline.stored import load_results
from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.write import REPORT_FILES
from tests.integration.golden.recording import RUNS, Golden, record
from tests.support.project import arksim_ci
from tests.support.snapshots import assert_matches
from tests.support.tools import missing

FILES = Path(__file__).parent / "files"
JSON_FILES = (SIMULATION, EVALUATION, RECOMMENDATIONS, VERDICT)
EVERY_RUN = pytest.mark.parametrize("golden", RUNS, ids=lambda golden: golden.name)
UPDATING = os.environ.get("UPDATE_SNAPSHOTS") == "1"
ON_GITHUB = CommentContext(
    marker="<!-- golden -->",
    config_path="arksim/config.yaml",
    run_id="7",
    run_url="https://github.com/org/shop/actions/runs/7",
    commit_url="https://github.com/org/shop/commit/4f2c81d09ab37e55c1d0b6f7a8e92d3344556677",
    report_url="https://github.com/org/shop/actions/runs/7/artifacts/1",
    evaluation_artifact_url="https://github.com/org/shop/actions/runs/7/artifacts/2",
    focus_artifact_url="https://github.com/org/shop/actions/runs/7/artifacts/3",
)


@EVERY_RUN
async def test_the_run_is_held_as_it_was_recorded(golden: Golden, tmp_path: Path) -> None:
    if not golden.project.is_dir():
        missing(f"the project {golden.name} is not there; its recorded files are tested without it")
    folder = await record(golden, tmp_path)
    for name in JSON_FILES:
        text = (folder / name).read_text(encoding="utf-8")
        if UPDATING:
            assert_matches(text, FILES / golden.name / name)
        recorded = (FILES / golden.name / name).read_text(encoding="utf-8")
        assert of_any_version(json.loads(text)) == of_any_version(json.loads(recorded)), name


def of_any_version(document: dict[str, Any]) -> Any:
    """A file without what another version of ours, or of its prompts, writes otherwise; fields that say nothing included."""
    document.get("judge", {}).pop("prompts_hash", None)
    document.get("run", {}).pop("version", None)
    return said({key: value for key, value in document.items() if not key.endswith("_version")})


def said(value: Any) -> Any:
    """A JSON value without the fields that are null."""
    if isinstance(value, dict):
        return {key: said(each) for key, each in value.items() if each is not None}
    return [said(each) for each in value] if isinstance(value, list) else value


@EVERY_RUN
def test_every_format_is_rendered_from_the_json_files_byte_for_byte(golden: Golden, tmp_path: Path) -> None:
    for name in JSON_FILES:
        shutil.copy(FILES / golden.name / name, tmp_path / name)
    finished = arksim_ci("report", str(tmp_path))
    assert finished.code == 0, finished.err
    for name in REPORT_FILES:
        assert_matches((tmp_path / name).read_bytes().decode(), FILES / golden.name / name)


@EVERY_RUN
def test_the_comment(golden: Golden) -> None:
    results = load_results(FILES / golden.name)
    assert_matches(render_comment(results, ON_GITHUB), FILES / golden.name / "comment.md")


@EVERY_RUN
def test_the_recorded_runs_have_something_to_show(golden: Golden) -> None:
    results = load_results(FILES / golden.name)
    assert results.verdict.exit_code == 1
    assert results.evaluation is not None
    assert len(results.errors) >= 4
    assert all(results.recommendation(each.error.unique_error_id) for each in results.errors[:3])
    assert {each.evaluation_status for each in results.evaluation.conversations} >= {"Done", "Failed"}
