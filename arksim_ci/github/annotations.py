"""The ten marks that a run leaves on the pull request's files: the verdict first, then the most severe unique errors."""

from __future__ import annotations

from collections.abc import Mapping

from arksim_ci.github.workflow import Annotation, Level
from arksim_ci.reports.headline import headline
from arksim_ci.reports.results import NumberedError, Results
from arksim_ci.reports.safe_text import one_line
from arksim_ci.reports.sentences import PLAIN, failure_sentences

MOST = 8
"""Two of GitHub's ten are left for what went wrong while publishing."""
_GRAVE = {"critical", "high"}


def annotations_of(
    results: Results, config_file: str, scenario_file: str, scenario_lines: Mapping[str, int], *, exit_code: int
) -> list[Annotation]:
    """What to mark.

    Args:
        results: The run's JSON models.
        config_file: Relative to the repository; the verdict is placed there.
        scenario_file: Relative to the repository; unique errors are placed there.
        scenario_lines: Scenario id → its line, from 1.
        exit_code: Of the run; where it is 0, nothing is marked as an error.
    """
    marks = []
    if exit_code:
        sentences = failure_sentences(results, PLAIN)
        shown = sentences[:6] + ([f"... and {len(sentences) - 6} more."] if len(sentences) > 6 else [])
        marks.append(Annotation("error", "\n".join(shown), headline(results).title, config_file))
    for error in results.errors[: MOST - len(marks)]:
        marks.append(_mark(error, results, scenario_file, scenario_lines, exit_code))
    return marks


def _mark(
    numbered: NumberedError, results: Results, scenario_file: str, scenario_lines: Mapping[str, int], exit_code: int
) -> Annotation:
    error = numbered.error
    grave = error.severity in _GRAVE
    level: Level = ("error" if grave else "warning") if exit_code else ("warning" if grave else "notice")
    advice = results.recommendation(error.unique_error_id)
    fix = f"\nFix: {one_line(advice.best_module_fix, 500)}" if advice and advice.best_module_fix else ""
    names = ", ".join(one_line(each, 80) for each in numbered.scenario_ids[:4])
    where = f"\nScenarios: {names}" if names else ""
    line = next((scenario_lines[each] for each in numbered.scenario_ids if each in scenario_lines), None)
    return Annotation(
        level,
        f"{one_line(error.unique_error_description, 800)}{fix}{where}",
        f"{error.severity.capitalize()}: {one_line(error.behavior_failure_category, 80)}",
        scenario_file if line else "",
        line,
    )
