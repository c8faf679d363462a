"""The closing block of a run in a terminal: verdict, checks, unique errors, files, cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from arksim_ci.reports.figures import count, needed, passed_of, reached
from arksim_ci.reports.headline import OFFLINE, OFFLINE_NOTE, Tone, figures_line, headline, short_commit
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import isolated, one_line, without_commands
from arksim_ci.reports.sentences import Words, failure_sentences
from arksim_ci.schema.verdict import Check

if TYPE_CHECKING:
    from rich.text import Text

_STYLES: dict[Tone, str] = {
    "passed": "bold green",
    "failed": "bold red",
    "undecided": "bold yellow",
    "neutral": "bold cyan",
}
_SEVERITY_STYLES = {"critical": "red", "high": "red", "medium": "yellow", "low": "cyan"}
_ERRORS_SHOWN = 10
_FAILURES_SHOWN = 20
_WORDS = Words(name=lambda text: _safe(text, 80), text=lambda text: _safe(text, 300))


def closing_block(results: Results, files: Mapping[str, str]) -> Text:
    """What a person wants to know when the run is over.

    Args:
        results: The run's JSON models.
        files: Label → path, in the order to show them: `{"Report": "results/final_report.html", ...}`.

    Returns:
        A rich text for `Console.print`; its `plain` is the block without colours. What an LLM, an agent or a user wrote
        holds no escape sequence, no workflow command and nothing hidden.
    """
    from rich.text import Text  # noqa: PLC0415  (a config error must not pay for it)

    head = headline(results)
    block = Text()
    block.append(head.title, _STYLES[head.tone])
    agent = _safe(results.verdict.run.agent_name, 80)
    block.append(f"  {agent}\n" if agent else "\n")
    if head.lead:
        block.append(f"{head.lead}\n")
    commit = short_commit(results.verdict)
    block.append(" · ".join([*figures_line(results), *([f"commit {_safe(commit)}"] if commit else [])]) + "\n", "dim")
    if results.verdict.judge.provider == OFFLINE:
        block.append(f"{OFFLINE_NOTE}\n", "dim")
    _list(block, "Why", failure_sentences(results, _WORDS), _FAILURES_SHOWN)
    _checks(block, results)
    _errors(block, results)
    _list(block, "Warnings", [_safe(each, 300) for each in results.verdict.warnings], _FAILURES_SHOWN)
    if files:
        block.append("\nFiles\n", "bold")
        width = max(map(len, files))
        for label, path in files.items():
            block.append(f"  {label:<{width}}  {_safe(path)}\n")
    return block


def _checks(block: Text, results: Results) -> None:
    checks = results.verdict.checks
    if not checks:
        return
    block.append("\nChecks\n", "bold")
    rows = [(_state(each), _safe(each.name, 60), passed_of(each), _reached(each, results)) for each in checks]
    name_width, rate_width = max(len(row[1]) for row in rows), max(len(row[2]) for row in rows)
    for (word, style), name, rate, rest in rows:
        block.append(f"  {word:<11}", style)
        block.append(f"  {name:<{name_width}}  {rate:<{rate_width}}  {rest}\n")


def _errors(block: Text, results: Results) -> None:
    errors = results.errors
    if not errors:
        return
    block.append("\nUnique errors\n", "bold")
    for numbered in errors[:_ERRORS_SHOWN]:
        error = numbered.error
        severity = error.severity if error.severity in _SEVERITY_STYLES else "medium"
        block.append(f"  {numbered.number}. ")
        block.append(severity, _SEVERITY_STYLES[severity])
        block.append(f" {_safe(error.behavior_failure_category, 60)}: {_safe(error.unique_error_description, 300)}")
        block.append(f" ({count(len(error.occurrences), 'place')})\n", "dim")
        advice = results.recommendation(error.unique_error_id)
        if advice and advice.best_module_fix:
            block.append(f"     Fix: {_safe(advice.best_module_fix, 300)}\n")
    if len(errors) > _ERRORS_SHOWN:
        block.append(f"  … and {count(len(errors) - _ERRORS_SHOWN, 'more unique error')} in the report\n", "dim")


def _list(block: Text, title: str, lines: list[str], most: int) -> None:
    if not lines:
        return
    block.append(f"\n{title}\n", "bold")
    for line in lines[:most]:
        block.append(f"  - {line}\n")
    if len(lines) > most:
        block.append(f"  … and {len(lines) - most:,} more in the report\n", "dim")


def _state(check: Check) -> tuple[str, str]:
    return {True: ("passed", "green"), False: ("failed", "red"), None: ("not decided", "yellow")}[check.passed]


def _reached(check: Check, results: Results) -> str:
    needed_words = _needed(check)
    return f"{needed_words}: {reached(results, check)}" if check.evaluated_conversations else needed_words


def _needed(check: Check) -> str:
    if check.kind != "qualitative":
        return needed(check)
    return f"none of {', '.join(_safe(label, 40) for label in (check.labels or [])[:6])}"


def _safe(text: str, limit: int | None = None) -> str:
    return isolated(without_commands(one_line(text, limit)))
