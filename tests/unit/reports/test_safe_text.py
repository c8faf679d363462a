from __future__ import annotations

import csv
import io
import re
import time
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.reports import markdown
from arksim_ci.reports.safe_text import BREAK, csv_cell, cut, log_text, one_line, utf16_length, visible, xml_text
from tests.support.hostile import HOSTILE, UNENCODABLE
from tests.unit.reports.reading import ACTIVE, html, loose_text, shown, structure

EVERY = pytest.mark.parametrize("text", (*HOSTILE, *UNENCODABLE), ids=range(len(HOSTILE) + len(UNENCODABLE)))


def test_the_corpus_is_large_enough() -> None:
    assert len(set(HOSTILE)) >= 60


@EVERY
def test_visible_text_hides_nothing(text: str) -> None:
    result = visible(text)
    result.encode("utf-8")
    for character in result:
        category = unicodedata.category(character)
        assert character == "\n" or character == "\t" or category not in ("Cc", "Cs"), repr(character)
        assert category != "Cf", repr(character)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user\u202egnp.exe", "user⟨U+202E⟩gnp.exe"),
        ("a\u200b\u200b\u200bb", "a⟨U+200B ×3⟩b"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("lone \ud800", "lone \ufffd"),
        ("👩\u200d👩\u200d👧 stays", "👩\u200d👩\u200d👧 stays"),
        ("می\u200cخواهم stays", "می\u200cخواهم stays"),
        ("❤\ufe0f and 1\ufe0f\u20e3 stay", "❤\ufe0f and 1\ufe0f\u20e3 stay"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("co\u200dworker", "co⟨U+200D⟩worker"),
        ("e" + "\u0301" * 20, "e" + "\u0301" * 8 + "⟨+12 marks⟩"),
    ],
)
def test_what_would_hide_is_shown(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize("text", ["a", "é", "漢", "🧨", "👩\u200d👩\u200d👧", "\U0001f1e9\U0001f1ea", ""])
def test_utf16_length_is_what_javascript_counts(text: str) -> None:
    assert utf16_length(text) == len(text.encode("utf-16-le")) // 2


@given(st.text(), st.integers(min_value=40, max_value=200))
def test_a_cut_text_fits_and_says_what_is_gone(text: str, limit: int) -> None:
    result = cut(text, limit)
    assert utf16_length(result) <= limit
    if result != text:
        kept, gone = re.fullmatch(r"(.*)… \(\+([\d,]+) characters\)", result, re.DOTALL).groups()  # type: ignore[union-attr]
        assert text.startswith(kept)
        assert len(kept) + int(gone.replace(",", "")) == len(text)


@pytest.mark.parametrize("unit", ["👩\u200d👩\u200d👧", "e\u0301\u0302", "\U0001f1e9\U0001f1ea", "👍\U0001f3fd", "각"])
def test_a_cut_never_splits_what_a_reader_sees_as_one(unit: str) -> None:
    text = unit * 50
    for limit in range(40, 80):
        kept = cut(text, limit).split("…")[0]
        assert len(kept) % len(unit) == 0, (limit, kept)


@EVERY
def test_inline_markdown_shows_the_text_and_nothing_else(text: str) -> None:
    for before, escaped in (("before ", markdown.inline(text)), ("", markdown.line(text))):
        assert not structure(before + escaped), structure(before + escaped)
        assert not html(before + escaped)
        assert shown(before + escaped).strip() == f"{before}{one_line(text)}".strip()


@EVERY
def test_a_block_shows_the_lines_and_nothing_else(text: str) -> None:
    escaped = markdown.block(text, 5000)
    assert not structure(escaped), structure(escaped)
    assert not html(escaped)
    assert one_line(shown(escaped)) == one_line(cut(visible(text).strip("\n"), 5000).replace("\u00a0", " "))


@EVERY
def test_a_table_cell_forges_no_cell(text: str) -> None:
    for escaped in (markdown.cell(text, 500), markdown.cell_code(text, 500)):
        table = f"| a | b |\n| - | - |\n| {escaped} | end |\n"
        kinds = structure(table)
        assert kinds["tr_open"] == 2
        assert kinds["td_open"] == 2
        assert {"link_open", "image", "em_open", "strong_open", "s_open"}.isdisjoint(kinds)
        assert set(html(table)) <= {"<code>", "</code>"}
        assert (one_line(text, 500) or "–") in shown(table) or escaped == "(empty)"


@EVERY
def test_code_spans_and_fences_stay_closed(text: str) -> None:
    span = f"x {markdown.code(text)} y"
    assert set(structure(span)) <= {"code_inline"}
    assert shown(span).replace("\n", "") == f"x {one_line(text) or '(empty)'} y"
    fenced = f"{markdown.fence(text, 'text')}\n\nafter"
    assert structure(fenced) == {"fence": 1}
    assert "after" in shown(fenced)


@EVERY
def test_nothing_in_loose_text_acts_on_github(text: str) -> None:
    for escaped in (markdown.inline(text), markdown.line(text), markdown.block(text), markdown.cell(text)):
        for name, pattern in ACTIVE.items():
            assert not pattern.search(loose_text(escaped)), name


@EVERY
def test_no_escape_leaves_a_marker_or_a_workflow_command(text: str) -> None:
    functions = (
        markdown.inline,
        markdown.line,
        markdown.block,
        markdown.quote,
        markdown.cell,
        markdown.code,
        markdown.fence,
    )
    for function in functions:
        escaped = function(text)
        assert "<!--" not in escaped
        assert "##[" not in escaped
        assert not re.search(r"^[^\S\n]*::", escaped, re.MULTILINE), function.__name__
    log = log_text(text)
    assert "##[" not in log
    assert not re.search(r"^[^\S\n]*::", log, re.MULTILINE)
    assert "\x1b" not in log


@EVERY
def test_a_csv_cell_is_no_formula_and_comes_back(text: str) -> None:
    cell = csv_cell(text)
    assert cell.lstrip(" \n")[:1] not in tuple("=+-@\t＝＋－＠")
    out = io.StringIO()
    csv.writer(out).writerow([cell, "end"])
    csv.field_size_limit(10_000_000)
    assert next(csv.reader(io.StringIO(out.getvalue(), newline=""))) == [cell, "end"]


@EVERY
def test_xml_holds_the_text(text: str) -> None:
    element = ElementTree.Element("a", {"b": xml_text(text)})
    element.text = xml_text(text)
    again = ElementTree.fromstring(ElementTree.tostring(element, encoding="unicode"))
    assert (again.text or "") == xml_text(text)


def test_a_pipe_is_a_pipe_in_a_code_cell() -> None:
    assert shown(f"| a |\n| - |\n| {markdown.cell_code('a|b')} |") == "aa|b"


def test_right_to_left_text_is_isolated() -> None:
    assert markdown.inline("إغلاق") == "\u2068إغلاق\u2069"
    assert markdown.inline("close") == "close"


def test_links_go_to_addresses_only() -> None:
    label = markdown.inline("report")
    assert (
        markdown.link(label, "https://github.com/o/r/actions/runs/1")
        == "[report](https://github.com/o/r/actions/runs/1)"
    )
    for url in (
        None,
        "",
        "javascript:alert(1)",
        "https://x.example/a b",
        "https://x.example/)<script>",
        "http://x\n::error::",
    ):
        assert markdown.link(label, url) == "report"


@pytest.mark.parametrize("text", ["x", "<", "`", "@", "\u202e", " \n", "\n", "a1", "e\u0301", "_", ":a", "##["])
def test_a_megabyte_takes_no_second(text: str) -> None:
    large = text * (1_000_000 // len(text))
    start = time.process_time()
    for function in (visible, markdown.inline, markdown.block, markdown.code, markdown.fence, log_text, csv_cell):
        function(large)
    assert time.process_time() - start < 20
    assert BREAK
