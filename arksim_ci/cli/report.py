"""`report`: every report again from the JSON files, and what became of the errors of an earlier run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.evaluation.comparison import ComparedError, Comparison, KnownError, compare
from arksim_ci.gates.exit_codes import EXIT_OK
from arksim_ci.output import VERDICT, OutputFolder, OutputRefused
from arksim_ci.pipeline.files import write_reports
from arksim_ci.pipeline.stored import load_results
from arksim_ci.reports.figures import count
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import isolated, one_line, without_commands

_OUTCOMES = ("fixed", "still there", "not exercised")
_NAMES_SHOWN = 5
_DESCRIPTION = 300


def report(options: argparse.Namespace, _: list[str]) -> int:
    """Render every report of a run again, byte for byte as when the run wrote them; with `--against`, compare.

    Raises:
        ConfigError: a folder holds no results of a run, or can't be written to.
    """
    folder = Path(options.output_dir)
    inner = folder / "results" / "evaluation"
    if not (folder / VERDICT).is_file() and (inner / VERDICT).is_file():
        raise ConfigError(Problem(f"holds no results of a run; did you mean {inner}?", str(folder)))
    results = load_results(folder)
    earlier = _earlier(Path(options.against), results, folder) if options.against else None
    try:
        written = write_reports(results, OutputFolder(folder.absolute()), html=True)
    except OutputRefused as error:
        raise ConfigError(Problem(str(error))) from error
    if earlier:
        print("\n".join(comparison_lines(_compared(earlier, results))))
        print()
    print(f"Written again in {folder}: {', '.join(sorted(path.name for path in written))}")
    return EXIT_OK


def comparison_lines(comparison: Comparison) -> list[str]:
    """The comparison as a person reads it: a headline, then each earlier error with what became of it, then what is new."""
    errors = comparison.errors
    counts = [(outcome, sum(each.outcome == outcome for each in errors)) for outcome in _OUTCOMES]
    headline = ", ".join(f"{number} {outcome}" for outcome, number in [*counts, ("new", len(comparison.new))] if number)
    lines = [f"{count(len(errors), 'unique error')} before: {headline or 'nothing to compare'}"]
    lines += [f"  {each.outcome:<13}  {_line(each.before)}{_detail(each)}" for each in errors]
    lines += [f"  {'new':<13}  {_line(each)}" for each in comparison.new]
    return lines


def _detail(compared: ComparedError) -> str:
    before = len(compared.before.error.occurrences)
    if compared.now:
        now = count(len(compared.now.error.occurrences), "place")
        return f" (error {compared.now.number} now: {now}, {before} before)"
    if compared.not_run:
        return f" (not run, or not measured completely: {_names(compared.not_run)})"
    return ""


def _line(known: KnownError) -> str:
    error = known.error
    description = _safe(error.unique_error_description, _DESCRIPTION)
    return f"{known.number}. {_safe(error.severity, 20)} {_safe(error.behavior_failure_category, 60)}: {description}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(_safe(name, 80) for name in names[:_NAMES_SHOWN]) + more


def _safe(text: str, limit: int) -> str:
    return isolated(without_commands(one_line(text, limit)))


def _earlier(path: Path, results: Results, folder: Path) -> Results:
    """The results of the earlier run.

    Raises:
        ConfigError: there are none, or one of the runs was not evaluated.
    """
    earlier = load_results(path)
    for found, place in ((results, folder), (earlier, path)):
        if found.evaluation is None:
            raise ConfigError(Problem("was only simulated, so it has no unique errors to compare", str(place)))
    return earlier


def _compared(earlier: Results, results: Results) -> Comparison:
    if results.evaluation is None:
        raise ValueError("only evaluated runs are compared")
    scenario_of = {each.conversation_id: each.scenario_id for each in results.simulation.conversations}
    return compare(_known(earlier), _known(results), results.evaluation, scenario_of)


def _known(results: Results) -> list[KnownError]:
    return [KnownError(each.number, each.error, each.scenario_ids) for each in results.errors]
