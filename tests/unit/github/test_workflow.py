"""What reaches the runner: commands are ours alone, nothing else is one, and nothing is dropped for its size."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest

from arksim_ci.github.workflow import SUMMARY_LIMIT, Annotation, LogHandler, Workflow, output_text

HOSTILE = "fine\n::error::forged\r\n  ::set-output name=passed::true\n##[error]old\x1b[31m\u202e::add-mask::a"


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def commands(stream: io.StringIO) -> list[str]:
    """What the runner takes for a command: `::` at a line's start, white space aside, and `##[` anywhere."""
    return [line for line in re.split(r"[\r\n]", stream.getvalue()) if re.match(r"\s*::", line) or "##[" in line]


def workflow(tmp_path: Path, stream: io.StringIO | None = None) -> Workflow:
    return Workflow(stream or io.StringIO(), tmp_path / "output", tmp_path / "summary")


def test_no_text_becomes_a_command(tmp_path: Path) -> None:
    stream = io.StringIO()
    step = workflow(tmp_path, stream)
    step.log(HOSTILE)
    logger = logging.getLogger("arksim_ci.tests")
    logger.addHandler(handler := LogHandler(step))
    logger.warning("%s", HOSTILE)
    logger.removeHandler(handler)
    assert commands(stream) == []


def test_annotations_groups_and_masks_are_one_line_each_whatever_they_hold(tmp_path: Path) -> None:
    stream = io.StringIO()
    step = workflow(tmp_path, stream)
    step.group(HOSTILE)
    step.annotate(Annotation("error", f"100% {HOSTILE}", f"a,b:c {HOSTILE}", "dir,x:y/a.json", 7))
    step.mask("two\nlines%")
    step.end_group()
    found = commands(stream)
    assert len(found) == len(lines(stream)) == 4
    assert found[0].startswith("::group::fine ")
    assert found[1].startswith("::error file=dir%2Cx%3Ay/a.json,line=7,title=a%2Cb%3Ac fine ")
    assert "::100%25 fine%0A" in found[1]
    assert found[2] == "::add-mask::two%0Alines%25"
    assert found[3] == "::endgroup::"


def test_there_are_at_most_ten_annotations_and_the_rest_is_in_the_log(tmp_path: Path) -> None:
    stream = io.StringIO()
    step = workflow(tmp_path, stream)
    for number in range(13):
        step.warning(f"number {number}")
    assert len(commands(stream)) == 10
    assert "warning: number 12" in lines(stream)


def test_outputs_of_several_lines_stand_between_random_delimiters() -> None:
    text = output_text("name", "a\nname2=forged\nEOF")
    first, *middle, last, empty = text.split("\n")
    name, delimiter = first.split("<<")
    assert (name, middle, last, empty) == ("name", ["a", "name2=forged", "EOF"], delimiter, "")
    assert delimiter not in output_text("name", "a\nb")
    assert output_text("name", "plain") == "name=plain\n"
    assert "<<" in output_text("name", "a\rname2=forged")


def test_secrets_are_replaced_before_anything_is_printed(tmp_path: Path) -> None:
    stream = io.StringIO()
    step = workflow(tmp_path, stream)
    step.redact = lambda text: text.replace("sk-secret", "***")
    step.log("a sk-secret")
    step.group("b sk-secret")
    step.annotate(Annotation("notice", "c sk-secret", "d sk-secret"))
    assert "sk-secret" not in stream.getvalue()
    assert stream.getvalue().count("***") == 4


@pytest.mark.parametrize("before", [0, 500_000, SUMMARY_LIMIT - 49 * 1024])
def test_the_summary_stays_below_the_limit_with_what_was_there(tmp_path: Path, before: int) -> None:
    step = workflow(tmp_path)
    (tmp_path / "summary").write_text("x" * before)
    room = step.summary_room()
    assert step.summary("y" * (room - 1)) == ""
    assert before < (tmp_path / "summary").stat().st_size < SUMMARY_LIMIT


def test_a_text_that_does_not_fit_is_refused_rather_than_dropped_with_the_rest(tmp_path: Path) -> None:
    step = workflow(tmp_path)
    (tmp_path / "summary").write_text("x" * (SUMMARY_LIMIT - 1000))
    assert "no room" in step.summary("y" * 2000)
    assert (tmp_path / "summary").stat().st_size == SUMMARY_LIMIT - 1000


def test_outside_of_github_nothing_is_written_and_nothing_fails(tmp_path: Path) -> None:
    step = Workflow(io.StringIO(), None, None)
    assert step.outputs({"a": "b"}) == ""
    assert step.summary("text") == ""


def test_a_file_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    step = Workflow(io.StringIO(), tmp_path / "no" / "output", None)
    assert "output can't be written" in step.outputs({"a": "b"})
