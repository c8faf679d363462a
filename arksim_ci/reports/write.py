"""Every report of a run, by file name. The same results and context give the same bytes: nothing here reads a clock."""

from __future__ import annotations

from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.html import render_html_report
from arksim_ci.reports.junit import render_junit
from arksim_ci.reports.markdown_report import render_markdown_report
from arksim_ci.reports.results import Results
from arksim_ci.reports.sarif import render_sarif
from arksim_ci.reports.tables import conversations_csv, errors_csv, turns_csv

HTML_REPORT = "final_report.html"
MARKDOWN_REPORT = "final_report.md"
CONVERSATIONS_TABLE = "agent_performance_per_convo.csv"
TURNS_TABLE = "agent_performance_per_turn.csv"
ERRORS_TABLE = "unique_errors.csv"
JUNIT = "junit.xml"
SARIF = "results.sarif"
REPORT_FILES = (HTML_REPORT, MARKDOWN_REPORT, CONVERSATIONS_TABLE, TURNS_TABLE, ERRORS_TABLE, JUNIT, SARIF)
"""All names that `render_all` may give."""


def render_all(results: Results, context: CommentContext, *, html: bool = True) -> dict[str, str]:
    """Every report as text.

    Args:
        results: The run's JSON models.
        context: What files may say of where they are; links and the marker of a comment have no place in files that
            are rendered again without GitHub, so the caller leaves them out.
        html: Whether the page is wanted (`generate_html_report`).

    Returns:
        File name → text, to be written as UTF-8 with the line ends as they are. After `simulate`, when nothing was
        judged, there are no tables and no SARIF.
    """
    files = {MARKDOWN_REPORT: render_markdown_report(results, context), JUNIT: render_junit(results)}
    if html:
        files[HTML_REPORT] = render_html_report(results)
    if results.evaluation is not None:
        files[CONVERSATIONS_TABLE] = conversations_csv(results)
        files[TURNS_TABLE] = turns_csv(results)
        files[ERRORS_TABLE] = errors_csv(results)
        files[SARIF] = render_sarif(results, context)
    return files
