"""How a run without a result is shown on GitHub: annotations at their places, the summary, the outputs."""

from __future__ import annotations

import traceback
from pathlib import Path

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.gates.exit_codes import EXIT_CONFIG_ERROR, EXIT_INTERNAL_ERROR
from arksim_ci.github.outputs import ending_outputs
from arksim_ci.github.workflow import Annotation, Workflow
from arksim_ci.reports.markdown import line
from arksim_ci.reports.safe_text import one_line

MOST_ANNOTATED = 8
MOST_LISTED = 100
MOST_TRACEBACK_LINES = 80


def report_problems(error: ConfigError, workflow: Workflow, workspace: Path) -> None:
    """Show every problem, and set the outputs of a run that could not begin."""
    problems = [Problem(workflow.redact(each.message), each.source, each.line, each.key) for each in error.problems]
    workflow.log(title(len(problems)))
    for problem in problems:
        workflow.log(f"  {problem}")
    for problem in problems[:MOST_ANNOTATED]:
        workflow.annotate(_annotation(problem, workspace))
    workflow.end(ending_outputs(EXIT_CONFIG_ERROR), problems_text(problems))


def report_crash(error: Exception, workflow: Workflow) -> None:
    """Show a bug of ours, and set the outputs of a run that has no result."""
    log_traceback(error, workflow)
    found = workflow.redact(f"{type(error).__name__}: {error}")
    workflow.annotate(Annotation("error", found, "arksim: internal error"))
    workflow.end(
        ending_outputs(EXIT_INTERNAL_ERROR),
        "## ⚠️ No result: the action broke off through a bug of its own\n\n"
        f"{line(one_line(found), 1000)}\n\nThe step's log has the details.",
    )


def log_traceback(error: Exception, workflow: Workflow) -> None:
    """Write the end of a traceback into the log: that is where the cause stands."""
    text = workflow.redact("".join(traceback.format_exception(error)))
    for each in text.splitlines()[-MOST_TRACEBACK_LINES:]:
        workflow.log(each)


def title(count: int) -> str:
    """The headline."""
    return f"{count} problem{'s' if count != 1 else ''} in the configuration"


def problems_text(problems: list[Problem]) -> str:
    """The summary's Markdown."""
    items = [f"- {line(one_line(str(problem)), 1000)}" for problem in problems[:MOST_LISTED]]
    more = [f"- … and {len(problems) - MOST_LISTED} more"] if len(problems) > MOST_LISTED else []
    return "\n".join(
        [
            f"## ⚠️ Not run: {title(len(problems))}",
            "",
            "Nothing was tested, and nothing was paid for.",
            "",
            *items,
            *more,
        ]
    )


def _annotation(problem: Problem, workspace: Path) -> Annotation:
    """A problem at its line, where it stands in a file of the workspace."""
    path = workspace / problem.source
    try:
        is_file = bool(problem.source) and path.is_relative_to(workspace) and path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return Annotation("error", str(problem), "arksim: configuration")
    text = f"{problem.key}: {problem.message}" if problem.key else problem.message
    return Annotation("error", text, "arksim: configuration", path.relative_to(workspace).as_posix(), problem.line)
