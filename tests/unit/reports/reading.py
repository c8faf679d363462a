"""Reads Markdown as GitHub does, near enough: what a reader sees, and what else is in it."""

from __future__ import annotations

import re
from collections import Counter

from markdown_it import MarkdownIt
from markdown_it.token import Token

from arksim_ci.reports.safe_text import BREAK

OUR_HTML = re.compile(r"</?(?:details|sub|summary|code)>|<br>")
ACTIVE = {
    "mention": re.compile(r"@[A-Za-z0-9]"),
    "reference": re.compile(r"#\d|\bGH-\d", re.IGNORECASE),
    "commit": re.compile(r"\b[0-9a-f]{7,40}\b", re.IGNORECASE),
    "link": re.compile(r"https?://|ftp://|www\.\w|\w@\w+\.\w", re.IGNORECASE),
    "short code": re.compile(r":[\w+-]+:"),
}


def reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(markdown: str) -> list[Token]:
    found: list[Token] = []
    for token in reader().parse(markdown):
        found.append(token)
        found += token.children or []
    return found


def shown(markdown: str) -> str:
    """The text that a reader sees, our own breaks taken out."""
    parts = []
    for token in tokens(markdown):
        if token.type in ("text", "code_inline", "fence", "code_block"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "paragraph_close":
            parts.append("\n\n")
    return "".join(parts).replace(BREAK, "").replace("\u2068", "").replace("\u2069", "").strip("\n")


def structure(markdown: str) -> Counter[str]:
    """How many of each structure there are; paragraphs, lines and texts aside."""
    plain = {
        "text",
        "inline",
        "softbreak",
        "hardbreak",
        "paragraph_open",
        "paragraph_close",
        "html_block",
        "html_inline",
    }
    return Counter(token.type for token in tokens(markdown) if token.type not in plain)


def loose_text(markdown: str) -> str:
    """Text outside code, where GitHub looks for mentions, references and links."""
    return "\n".join(token.content for token in tokens(markdown) if token.type == "text")


def html(markdown: str) -> list[str]:
    """Every tag and comment."""
    found = "\n".join(token.content for token in tokens(markdown) if token.type in ("html_block", "html_inline"))
    return re.findall(r"<[^>]*>?", found)
