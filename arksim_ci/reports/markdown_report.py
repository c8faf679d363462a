"""final_report.md and the step summary: the full-length text of what the comment says."""

from __future__ import annotations

from dataclasses import replace

from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.markdown_errors import Limits
from arksim_ci.reports.markdown_parts import parts
from arksim_ci.reports.results import Results
from arksim_ci.reports.templates import render_markdown

_EVERYTHING = 1_000_000
_FULL = Limits(
    errors=_EVERYTHING, conversations=_EVERYTHING, failures=_EVERYTHING, checks=_EVERYTHING, warnings=_EVERYTHING,
    text=4000, diff=40_000,
)  # fmt: skip
_SMALL = Limits(errors=0, conversations=0, failures=10, checks=20, warnings=5, text=200, diff=500)


def render_markdown_report(results: Results, context: CommentContext) -> str:
    """The whole report: every failure, check, unique error and conversation. Long texts are cut at 4,000 characters."""
    return _render(results, context, _FULL)


def render_summary(results: Results, context: CommentContext, max_bytes: int) -> str:
    """The whole report in at most `max_bytes` bytes of UTF-8: conversations go first, then the least severe unique
    errors, then the rest of the lists. What was left out is said."""
    context = replace(context, marker="")
    errors, conversations = len(results.errors), len(results.simulation.conversations)

    def render(shown_errors: int, shown_conversations: int) -> str:
        limits = replace(_FULL, errors=shown_errors, conversations=shown_conversations)
        return _render(results, context, limits)

    def fits(text: str) -> bool:
        return len(text.encode()) <= max_bytes

    whole = render(errors, conversations)
    if fits(whole):
        return whole
    fewest, most, best = 0, errors + conversations - 1, ""
    while fewest <= most:
        middle = (fewest + most) // 2
        text = render(min(middle, errors), max(middle - errors, 0))
        if fits(text):
            best, fewest = text, middle + 1
        else:
            most = middle - 1
    return best or _render(results, context, _SMALL)


def _render(results: Results, context: CommentContext, limits: Limits) -> str:
    return render_markdown("report.md.j2", parts=parts(results, context, limits))
