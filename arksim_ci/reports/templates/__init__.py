"""The reports' Jinja2 templates, and the two ways to render them: Markdown and HTML."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci.reports.markdown import Markdown
from arksim_ci.reports.safe_text import visible

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent
_PIECES = 1_000


def render_markdown(template: str, **variables: object) -> str:
    """Render a Markdown template. It prints `Markdown` and counts only: text that was not escaped is a `TypeError`."""
    return _markdown().get_template(template).render(**variables)


def render_html(template: str, **variables: object) -> str:
    """Render an HTML template; what is not `markupsafe.Markup` is made visible and escaped."""
    stream = _html().get_template(template).stream(**variables)
    stream.enable_buffering(_PIECES)  # `render` would hold a page of megabytes in pieces of a few characters
    return "".join(stream)


def read(name: str) -> str:
    """A file of this folder as it stands: style sheet or script of the report."""
    return (_FOLDER / name).read_text(encoding="utf-8")


@functools.cache
def _markdown() -> jinja2.Environment:
    import jinja2  # noqa: PLC0415  (a config error or --help must not pay for it)

    return jinja2.Environment(  # noqa: S701  (Markdown has escapes of its own: `reports.markdown`)
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_only_escaped,
    )


@functools.cache
def _html() -> jinja2.Environment:
    import jinja2  # noqa: PLC0415  (a config error or --help must not pay for it)

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        finalize=_only_visible,
    )


def _only_escaped(value: object) -> str:
    if isinstance(value, Markdown):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    raise TypeError(f"A Markdown template may print escaped text only, not {type(value).__name__}.")


def _only_visible(value: object) -> object:
    return visible(value) if type(value) is str else value
