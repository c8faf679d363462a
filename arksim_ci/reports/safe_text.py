"""Every escape there is. What an LLM, an agent or a user wrote is data, and stays data wherever it is shown.

Two steps: `visible` shows what would hide (control, bidirectional and zero-width characters) and repairs what no file
may hold (lone surrogates); the functions of each format then take away what would act there. Where a format has no
escape of its own (mentions, references, links that GitHub makes of plain text), a zero-width space breaks the pattern.
"""

from __future__ import annotations

import re
import unicodedata

BREAK = "\u200b"
"""The zero-width space that we put in ourselves. A character of the data is never this one: `visible` shows those."""
ELLIPSIS = "…"
_JOINERS = "\u200c\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_MOST_MARKS_IN_A_ROW = 8


def utf16_length(text: str) -> int:
    """The length in UTF-16 units, as GitHub counts a comment."""
    return len(text) + sum(map(len, _ASTRAL.findall(text)))


_ASTRAL = re.compile("[\U00010000-\U0010ffff]+")

# ---------------------------------------------------------------------------------------------- what hides is shown

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_FORBIDDEN = re.compile("[\ud800-\udfff\ufffe\uffff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_HIDDEN = re.compile(
    "([\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff])\\1*"
)
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_MARKS = re.compile(f"({_MARK}{{{_MOST_MARKS_IN_A_ROW}}})({_MARK}+)")


def visible(text: str) -> str:
    """The text with everything shown that would hide, steer or break: control characters as their pictures (`␛`),
    bidirectional and zero-width characters as `⟨U+202E⟩`, heaps of combining marks as a count. Line ends become `\\n`.

    Joiners stay where scripts and emoji need them. Linear in the length of the text.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    text = _FORBIDDEN.sub("\ufffd", text)
    text = _CONTROL.sub(lambda found: "␡" if found[0] == "\x7f" else chr(0x2400 + ord(found[0])), text)
    text = _HIDDEN.sub(_show_hidden, text)
    return _MARKS.sub(lambda found: f"{found[1]}⟨+{len(found[2])} marks⟩", text)


def _show_hidden(found: re.Match[str]) -> str:
    run, character = found[0], found[1]
    if len(run) == 1 and _belongs(character, found.string, found.start()):
        return run
    times = f" ×{len(run)}" if len(run) > 1 else ""
    return f"⟨U+{ord(character):04X}{times}⟩"


def _belongs(character: str, text: str, at: int) -> bool:
    """Whether a script or an emoji needs the invisible character where it stands."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before:
        return False
    if character in _JOINERS:
        return bool(after) and all(
            ord(each) > 0x5FF and unicodedata.category(each)[0] in "LMS" for each in before + after
        )
    if character in _EMOJI_STYLES:
        return ord(before) > 0x2000 or before in "©®" or (before in "0123456789#*" and after == _KEYCAP)
    if "\U000e0100" <= character <= "\U000e01ef":
        return unicodedata.name(before, "").startswith("CJK ")
    return False


def one_line(text: str, limit: int | None = None) -> str:
    """Visible text on one line, runs of white space as one space, cut to `limit` UTF-16 units where one is given."""
    line = " ".join(visible(text).split())
    return line if limit is None else cut(line, limit)


# ------------------------------------------------------------------------------------------------------------- cutting


def cut(text: str, limit: int) -> str:
    """The text in at most `limit` UTF-16 units, the note on what was cut included: `… (+1,204 characters)`. A limit
    too small for the note leaves the note alone.

    Never cuts inside what a reader sees as one character (surrogate pair, combining marks, joined emoji, flag).
    """
    if utf16_length(text) <= limit:
        return text
    room = max(limit - len(f"{ELLIPSIS} (+{len(text):,} characters)"), 0)
    end = _boundary(text, _index_at(text, room))
    kept = text[:end].rstrip()
    return f"{kept}{ELLIPSIS} (+{len(text) - len(kept):,} characters)"


def _index_at(text: str, units: int) -> int:
    """How many characters of the text fit into so many UTF-16 units."""
    used = 0
    for index, character in enumerate(text):
        used += 2 if ord(character) > 0xFFFF else 1
        if used > units:
            return index
    return len(text)


def _boundary(text: str, index: int) -> int:
    """The nearest place at or before `index` where a character that the reader sees ends."""
    lowest = max(index - 64, 0)
    while index > lowest and _continues(text, index):
        index -= 1
    flags = 0
    while flags < 64 and index - flags > 0 and "\U0001f1e6" <= text[index - flags - 1] <= "\U0001f1ff":
        flags += 1
    opens_pair = index < len(text) and "\U0001f1e6" <= text[index] <= "\U0001f1ff"
    return index - 1 if flags % 2 and opens_pair else index


def _continues(text: str, index: int) -> bool:
    if index >= len(text):
        return False
    character, before = text[index], text[index - 1]
    return (
        unicodedata.category(character)[0] == "M"
        or character in _JOINERS + BREAK
        or before == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\u1160" <= character <= "\u11ff"
    )


# ------------------------------------------------------------------------------------------------- what acts is broken

_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_OLD_COMMAND = re.compile(r"##(?=\[)")
_COMMENT_OPEN = re.compile(r"<!(?=-)")
_COMMENT_CLOSE = re.compile(r"--(?=>|!>)")


def without_commands(text: str) -> str:
    """The text with every workflow command broken: GitHub's runner reads `::error::` at a line's start, white space
    aside, and `##[group]` anywhere in a line."""
    text = _COMMAND.sub(rf"\1:{BREAK}", text)
    return _OLD_COMMAND.sub(f"##{BREAK}", text)


def without_markers(text: str) -> str:
    """The text with every HTML comment broken, so that no search for a hidden marker finds one in it."""
    text = _COMMENT_OPEN.sub(f"<!{BREAK}", text)
    return _COMMENT_CLOSE.sub(f"--{BREAK}", text)


_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")


def isolated(text: str) -> str:
    """Visible text that runs right to left in an isolate of its own, so that it can't reorder what stands around it."""
    return f"\u2068{text}\u2069" if _RIGHT_TO_LEFT.search(text) else text


def log_text(text: str, limit: int = 4000) -> str:
    """Text for a log or a terminal: visible, cut, no workflow command, no escape sequence."""
    return without_commands(cut(visible(text), limit))


def csv_cell(text: str) -> str:
    """Text for a CSV cell: a spreadsheet takes it as text. What would start a formula gets an apostrophe in front."""
    shown = visible(text)
    return f"'{shown}" if shown.lstrip(" \n")[:1] in _FORMULA_START else shown


_FORMULA_START = frozenset("=+-@\t＝＋－＠")


def xml_text(text: str) -> str:
    """Text that XML 1.0 can hold; `xml.etree` escapes the rest."""
    return visible(text)
