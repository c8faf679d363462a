"""The comment on the pull request: a pure function of the run's JSON models and of where its things are."""

from __future__ import annotations

from dataclasses import replace

from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.markdown_errors import Limits, split_errors
from arksim_ci.reports.markdown_parts import parts
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import utf16_length
from arksim_ci.reports.templates import render_markdown

MOST_UNITS = 65_000
"""GitHub refuses a comment above 65,536 UTF-16 units; this leaves room for what a client adds."""

_FULL = Limits(
    errors=5, conversations=0, failures=20, checks=40, warnings=10, text=700, diff=4000, fold_missed_goals=True
)
_SMALL = Limits(
    errors=0, conversations=0, failures=5, checks=10, warnings=3, text=200, diff=500, fold_missed_goals=True
)


def render_comment(results: Results, context: CommentContext, max_units: int = MOST_UNITS) -> str:
    """The comment's Markdown, in the order of contract section 6.

    Args:
        results: The run's JSON models.
        context: Links, the marker, and what the pull request changed.
        max_units: Upper limit in UTF-16 units. Where the whole would be longer, the least severe unique errors go
            first, then long lists are cut; the text says how much was left out and where it is.

    Returns:
        Markdown whose folds and fences are all closed.
    """
    limits = replace(_FULL, errors=max(context.top_errors, 0))
    fitting = _most_that_fit(results, context, limits, max_units)
    return _render(results, context, _SMALL) if fitting is None else fitting


def _render(results: Results, context: CommentContext, limits: Limits) -> str:
    return render_markdown("comment.md.j2", parts=parts(results, context, limits))


def _most_that_fit(results: Results, context: CommentContext, limits: Limits, max_units: int) -> str | None:
    """The comment with as many unique errors as fit, most severe first; None where it is too long without any.

    Doubles the number until it is too long, then halves the gap: a run with thousands of errors renders few of them.
    """
    fitting, best = -1, None
    most = min(limits.errors, len(split_errors(results, limits)[0]))
    too_many, attempt = most + 1, 0
    while fitting + 1 < too_many:
        text = _render(results, context, replace(limits, errors=attempt))
        if utf16_length(text) <= max_units:
            fitting, best = attempt, text
            doubled = max(attempt * 2, 1)
            attempt = min(doubled, most) if too_many > most else (fitting + too_many) // 2
        else:
            too_many = attempt
            attempt = (fitting + too_many) // 2
    return best
