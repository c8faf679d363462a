from __future__ import annotations

import pytest

from arksim_ci.user_code.output import MAX_LINE, MAX_LINES, OutputLog


def lines_of(*pieces: bytes) -> list[str]:
    lines: list[str] = []
    log = OutputLog(lines.append, "user code: ")
    for piece in pieces:
        log.feed(piece)
    log.end()
    return lines


def test_lines_are_put_together_from_pieces() -> None:
    assert lines_of(b"one\ntw", b"o\n\nthree") == ["user code: one", "user code: two", "user code: three"]


@pytest.mark.parametrize(
    "printed",
    [
        b"::error::boom",
        b"  ::set-output name=a::b",
        b"\r::add-mask::x",
        b"text\r::error::boom",
        b"##[error]boom",
        b"a ##[group]b",
        b"\x1b[31m::error::x",
        "\u2028::error::x".encode(),
        "\x85::error::x".encode(),
        "\u202e##[error]x".encode(),
    ],
)
def test_no_line_is_a_workflow_command(printed: bytes) -> None:
    (line,) = lines_of(printed)
    assert line.startswith("user code: ")
    assert "##[" not in line
    assert line.isprintable()


def test_a_huge_line_is_cut_and_not_stored() -> None:
    lines: list[str] = []
    log = OutputLog(lines.append)
    for _ in range(800):
        log.feed(b"x" * 65_536)
    log.end()
    assert len(lines) == 1
    assert len(lines[0]) < MAX_LINE + 50
    assert lines[0].endswith("... (cut)")


def test_a_flood_of_lines_is_cut() -> None:
    lines = lines_of(b"again\n" * (MAX_LINES + 1_000))
    assert len(lines) == MAX_LINES + 1
    assert "the rest is not shown" in lines[-1]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert lines_of(b"\xff\xfe!") == ["user code: \ufffd\ufffd!"]


def test_a_traceback_is_written_once_and_another_one_too() -> None:
    lines: list[str] = []
    log = OutputLog(lines.append, "user code: ")
    trace = "Traceback (most recent call last):\n  line 3\nValueError: no"
    for text in (trace, trace, trace.replace("line 3", "line 4"), trace):
        log.write_trace(text)
    assert [line for line in lines if "line" in line] == ["user code:   line 3", "user code:   line 4"]
