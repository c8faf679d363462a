"""What an agent wrote, as HTML that is safe to put into the page: its Markdown is rendered, its HTML is text."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from arksim_ci.reports.safe_text import cut, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

LONGEST = 20_000
"""A longer message is cut, with a note: the page stays quick, and simulation.json has the whole."""

_PLAIN = re.compile(r"[^\n*_`#>\[\]|~\\!<&=\"'-]+")
_LIST_START = re.compile(r"\s*\d+[.)]\s|\s*\+\s|\s{4}|\t")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def agent_html(text: str) -> Markup:
    """Render an agent's message. No HTML of its own, no image, no link but http(s) and mailto; hidden characters shown."""
    shown = cut(visible(text), LONGEST)
    if _PLAIN.fullmatch(shown) and not _LIST_START.match(shown):
        return Markup("<p>{}</p>").format(shown)
    return Markup(_renderer().render(shown))  # noqa: S704  (HTML of its own is off)


@functools.cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  (only the report pays for it)

    renderer = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    renderer.enable(["table", "strikethrough"])
    renderer.validateLink = lambda url: bool(_SAFE_LINK.match(url))  # type: ignore[method-assign]
    renderer.add_render_rule("image", _image_as_text)
    renderer.add_render_rule("link_open", _link_out)
    renderer.add_render_rule("heading_open", _heading_as_paragraph)
    renderer.add_render_rule("heading_close", _heading_as_paragraph)
    return renderer


def _image_as_text(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    from markdown_it.common.utils import escapeHtml  # noqa: PLC0415

    token = tokens[index]
    return f"<em>[image: {escapeHtml(token.content)}]</em> <code>{escapeHtml(str(token.attrs.get('src', '')))}</code>"


def _link_out(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    token.attrSet("rel", "noopener noreferrer nofollow")
    token.attrSet("title", str(token.attrs.get("href", "")))
    return self.renderToken(tokens, index, options, env)


def _heading_as_paragraph(self: RendererHTML, tokens: Sequence[Token], index: int, *_: Any) -> str:
    """The page's outline is the page's own: a heading of the agent is a bold paragraph."""
    return '<p class="h">' if tokens[index].nesting == 1 else "</p>\n"
