"""Text into GitHub's Markdown, as text: inline, table cell, block, code span and fence.

Every function returns `Markdown`, and the templates of the comment and of the report print nothing else.
"""

from __future__ import annotations

import re

from arksim_ci.reports.safe_text import BREAK, cut, isolated, one_line, visible, without_commands, without_markers


class Markdown(str):
    """Markdown that is safe to print: ours, or escaped by this module."""

    __slots__ = ()


def inline(text: str, limit: int | None = None) -> Markdown:
    """Text inside a line that something of ours starts: no markup, mention, reference, link, HTML or marker.

    `limit` cuts the text before it is escaped, in UTF-16 units.
    """
    return Markdown(isolated(_escape(one_line(text, limit))))


def line(text: str, limit: int | None = None) -> Markdown:
    """Text that starts a line, a list item or a paragraph, where it could be a heading, list, rule or table."""
    return Markdown(_escape_start(inline(text, limit)))


def cell(text: str, limit: int | None = None) -> Markdown:
    """Text inside a table cell. Pipes and line ends are escaped by `inline` already; an empty cell shows a dash."""
    return Markdown(inline(text, limit) or "–")


def block(text: str, limit: int | None = None) -> Markdown:
    """Text of several lines as one or more paragraphs that keep their lines and indentation."""
    shown = visible(text).strip("\n")
    return _lines(shown if limit is None else cut(shown, limit))


def quote(text: str, limit: int | None = None) -> Markdown:
    """Text of several lines as a block quote."""
    return quoted(block(text, limit))


def quoted(markdown: Markdown) -> Markdown:
    """Markdown as a block quote."""
    return Markdown("\n".join(f"> {line}".rstrip() for line in markdown.split("\n")))


def code(text: str, limit: int | None = None) -> Markdown:
    """Text as a code span. Empty text is said to be empty."""
    shown = without_markers(without_commands(one_line(text, limit)))
    if not shown:
        return Markdown("(empty)")
    ticks = "`" * (_longest_run(shown, "`") + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    return Markdown(isolated(f"{ticks}{padding}{shown}{padding}{ticks}"))


def cell_code(text: str, limit: int | None = None) -> Markdown:
    """Text as code inside a table cell. Readers of Markdown disagree about a pipe after a backslash in a code span,
    so text with a pipe becomes an HTML element with the pipe as an entity."""
    if "|" not in text:
        return code(text, limit)
    return Markdown(f"<code>{inline(text, limit).replace(_ESCAPED_PIPE, '&#124;')}</code>")


_ESCAPED_PIPE = r"\|"


def fence(text: str, language: str = "", limit: int | None = None) -> Markdown:
    """Text as a fenced code block; the fence is longer than any in the text. `language` is ours, never data."""
    shown = without_markers(without_commands(visible(text).strip("\n")))
    if limit is not None:
        shown = cut(shown, limit)
    ticks = "`" * max(3, _longest_run(shown, "`") + 1)
    return Markdown(f"{ticks}{language}\n{shown}\n{ticks}")


def link(label: Markdown, url: str | None) -> Markdown:
    """A link to an address of ours; the bare label where there is none, or where it is no http(s) address."""
    if not url or not re.fullmatch(r"https?://[^\s<>()\\\"'`|\[\]\x00-\x20\x7f-\uffff]+", url):
        return label
    return Markdown(f"[{label}]({url})")


_PUNCTUATION = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#|\w+;)|!(?=\[)")
_LINE_START = re.compile(r"^(?:([-+=#:])|(\d{1,9})([.)]))")
_LINE_END = re.compile(r"#$")
_MENTION = re.compile("@")
_REFERENCE = re.compile(r"#(?=\d)|(?<=GH)-(?=\d)", re.IGNORECASE)
_COMMIT = re.compile(r"(?<![0-9A-Za-z_])[0-9a-f]{7,64}(?![0-9A-Za-z_])", re.IGNORECASE)
_LINK = re.compile(r"(?<=[a-z]:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_ALERT = re.compile(r"\[(?=!)")
_SHORT_CODE = re.compile(r":(?=[\w+-]{1,40}:)")


def _escape(line: str) -> str:
    """One line as text. Backslashes first, breaks after: a break never stands between a backslash and its character."""
    line = without_markers(line)
    line = without_commands(line)
    line = _COMMIT.sub(lambda found: BREAK.join(found[0][at : at + 6] for at in range(0, len(found[0]), 6)), line)
    line = _MENTION.sub(f"@{BREAK}", line)
    line = _REFERENCE.sub(rf"\g<0>{BREAK}", line)
    line = _LINK.sub(BREAK, line)
    line = _ALERT.sub(f"[{BREAK}", line)
    line = _SHORT_CODE.sub(f":{BREAK}", line)
    line = _PUNCTUATION.sub(r"\\\g<0>", line)
    return _LINE_END.sub(r"\#", line)


def _escape_start(line: str) -> str:
    return _LINE_START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", line)


def _lines(text: str) -> Markdown:
    paragraphs: list[str] = []
    for paragraph in re.split(r"\n[ \t\n]*\n", text):
        lines = [_indented(line) for line in paragraph.split("\n")]
        paragraphs.append("\\\n".join(lines))
    return Markdown("\n\n".join(paragraphs))


def _indented(line: str) -> str:
    """A line whose indentation is kept as no-break spaces: four plain ones would make it a code block."""
    expanded = line.expandtabs(4).rstrip()
    body = expanded.lstrip(" ")
    return "\u00a0" * (len(expanded) - len(body)) + _escape_start(_escape(body))


def _longest_run(text: str, character: str) -> int:
    return max(map(len, re.findall(re.escape(character) + "+", text)), default=0)
