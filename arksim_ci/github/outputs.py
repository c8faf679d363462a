"""The step's outputs: what a later step may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from arksim_ci.output import EVALUATION, FOCUS, VERDICT
from arksim_ci.reports.results import Results
from arksim_ci.reports.write import HTML_REPORT, JUNIT, SARIF

CONCLUSIONS: Final = {0: "passed", 1: "failed", 2: "error", 3: "error"}
NAMES: Final = (
    "exit-code",
    "conclusion",
    "passed",
    "score",
    "unique-errors",
    "failed-checks",
    "conversations",
    "evaluation-file",
    "verdict-file",
    "report-file",
    "focus-dir",
    "junit-file",
    "sarif-file",
    "report-url",
    "artifact-url",
    "focus-artifact-url",
    "comment-url",
)
"""Every output, in the order of the documentation."""
_FILES = {
    EVALUATION: "evaluation-file",
    VERDICT: "verdict-file",
    HTML_REPORT: "report-file",
    JUNIT: "junit-file",
    SARIF: "sarif-file",
}


def ending_outputs(exit_code: int, conclusion: str | None = None) -> dict[str, str]:
    """How the run ended, where there is nothing more to say."""
    return {"exit-code": str(exit_code), "conclusion": conclusion or CONCLUSIONS[exit_code]}


def result_outputs(results: Results, exit_code: int) -> dict[str, str]:
    """What the run came to. What is not known is empty."""
    verdict = results.verdict
    return {
        **ending_outputs(exit_code),
        "passed": "" if verdict.passed is None else str(verdict.passed).lower(),
        "score": "" if verdict.score is None else f"{verdict.score:g}",
        "unique-errors": str(len(results.errors)) if results.evaluation else "",
        "failed-checks": str(sum(check.passed is False for check in verdict.checks)),
        "conversations": str(len(results.simulation.conversations)),
    }


def file_outputs(files: Sequence[Path], folder: Path, workspace: Path) -> dict[str, str]:
    """Where the files are, relative to the workspace.

    Args:
        files: those that were written.
        folder: the output folder.
        workspace: the workspace.
    """
    found = {
        _FILES[path.name]: _relative(path, workspace) for path in files if path.parent == folder and path.name in _FILES
    }
    if any(path.parent == folder / FOCUS for path in files):
        found["focus-dir"] = _relative(folder / FOCUS, workspace)
    return found


def url_outputs(urls: Mapping[str, str | None]) -> dict[str, str]:
    """The addresses that there are."""
    return {name: url for name, url in urls.items() if url}


def _relative(path: Path, workspace: Path) -> str:
    return path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else str(path)
