"""Code fixes: which proposed changes are accepted, which refused, and that what is accepted applies."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.evaluation.code_edit import Refused, changed_lines, edited, unified_diff
from arksim_ci.evaluation.code_fixes import check_change, location
from arksim_ci.evaluation.sources import SourceFile, bodies, read_text
from arksim_ci.llm.questions.recommendation import ProposedChange, Replacement
from arksim_ci.schema.recommendation import CodeFix
from tests.unit.evaluation.scripted_llm import source

AGENT = '''\
"""A shop's agent."""

RETURN_DAYS = 45
EXCHANGE_DAYS = 45

# The shop's own.
KEY = "sk-0123456789abcdefghij"
SHOP = "north"


def returns(order):
    days = RETURN_DAYS
    if order is None:
        return None
    return f"Within {days} days."


def exchanges(order):
    if order is None:
        return None
    return f"Exchange within {EXCHANGE_DAYS} days."
'''


def one(old: str, new: str, line: int = 1, file: str = "agent.py") -> ProposedChange:
    return ProposedChange("Memory", file, (Replacement(line, old, new),))


def two(first: tuple[int, str, str], second: tuple[int, str, str]) -> ProposedChange:
    return ProposedChange("Memory", "agent.py", (Replacement(*first), Replacement(*second)))


@dataclass(frozen=True)
class Case:
    """An answer of the LLM, and what becomes of it: the file afterwards, or words of the refusal."""

    change: ProposedChange
    after: str | bytes = ""
    refused: str = ""
    before: str | bytes = AGENT


WRONG, RIGHT = "RETURN_DAYS = 45", "RETURN_DAYS = 30"
FIXED = AGENT.replace(WRONG, RIGHT)

ACCEPTED = {
    "right": Case(one(WRONG, RIGHT, 3), FIXED),
    "wrong line hint, one place": Case(one(WRONG, RIGHT, 17), FIXED),
    "absurd line hint, one place": Case(one(WRONG, RIGHT, -5), FIXED),
    "several places, the hint names one": Case(
        one("        return None", "        raise ValueError", 20),
        AGENT[::-1].replace("        return None"[::-1], "        raise ValueError"[::-1], 1)[::-1],
    ),
    "several places, one near the hint": Case(
        one("    if order is None:", "    if not order:", 11), AGENT.replace("    if order is None:", "    if not order:", 1)
    ),
    "whole lines with their line end": Case(one(WRONG + "\n", RIGHT + "\n", 3), FIXED),
    "the new text forgot the line end": Case(one(WRONG + "\n", RIGHT, 3), FIXED),
    "lines are added": Case(
        one(WRONG, "# The policy of May.\nRETURN_DAYS = 30\n", 3), AGENT.replace(WRONG, "# The policy of May.\nRETURN_DAYS = 30")
    ),
    "a line is deleted": Case(one("    days = RETURN_DAYS\n", "", 12), AGENT.replace("    days = RETURN_DAYS\n", "")),
    "a part of a line": Case(one("45", "30", 3), FIXED),
    "two hunks": Case(
        two((3, WRONG, RIGHT), (21, "Exchange within", "You can exchange within")),
        FIXED.replace("Exchange within", "You can exchange within"),
    ),
    "two hunks out of order": Case(
        two((21, "Exchange within", "You can exchange within"), (3, WRONG, RIGHT)),
        FIXED.replace("Exchange within", "You can exchange within"),
    ),
    "./ before the name": Case(one(WRONG, RIGHT, 3, "./agent.py"), FIXED),
    "CRLF": Case(one("A = 1\nB = 2", "A = 1\nC = 3\nB = 2"), b"A = 1\r\nC = 3\r\nB = 2\r\n", before=b"A = 1\r\nB = 2\r\n"),
    "CRLF in the answer": Case(one("A = 1\r\nB = 2", "A = 2\r\nB = 2"), b"A = 2\nB = 2\n", before=b"A = 1\nB = 2\n"),
    "mixed line ends": Case(one("B = 2", "B = 3\nC = 4"), b"A = 1\nB = 3\r\nC = 4\r\nD = 5\n", before=b"A = 1\nB = 2\r\nD = 5\n"),
    "tabs": Case(one("\treturn 45", "\treturn 30"), "def f():\n\treturn 30\n", before="def f():\n\treturn 45\n"),
    "Unicode": Case(one('"Grüße, 45 Tage 🙂"', '"Grüße, 30 Tage 👩‍👧"'), 'A = "Grüße, 30 Tage 👩‍👧"\n', before='A = "Grüße, 45 Tage 🙂"\n'),
    "no line end at the end": Case(one("B = 2", "B = 3"), "A = 1\nB = 3", before="A = 1\nB = 2"),
    "added at the end, without a line end": Case(one("B = 2", "B = 2\nC = 3"), "A = 1\nB = 2\nC = 3", before="A = 1\nB = 2"),
    "the last line is deleted": Case(one("B = 2", ""), "A = 1", before="A = 1\nB = 2"),
    "form feed": Case(one("B = 2", "B = 3"), "A = 1\n\x0c\nB = 3\n", before="A = 1\n\x0c\nB = 2\n"),
    "byte order mark": Case(one("A = 1", "A = 2"), "\ufeffA = 2\n", before="\ufeffA = 1\n"),
    "it did not parse before either": Case(one("A = 1", "A = 2"), "A = 2\nprint 'x'\n", before="A = 1\nprint 'x'\n"),
    "another language": Case(
        one("days = 45;", "days = 30", file="src/agent.ts"), "const days = 30", before="const days = 45;"
    ),
    "YAML with tags of its own": Case(
        one("days: 45", "days: 30", file="a.yaml"), "x: !Ref y\ndays: 30\n", before="x: !Ref y\ndays: 45\n"
    ),
    "beside a redacted line": Case(one("north", "south", 8), AGENT.replace("north", "south")),
}  # fmt: skip
REFUSED = {
    "wrong file": Case(one(WRONG, RIGHT, file="other.py"), refused="not one of the files in code_file_path and code_paths"),
    "wrong folder": Case(one(WRONG, RIGHT, file="src/agent.py"), refused="(is agent.py meant?)"),
    "outside the paths": Case(one(WRONG, RIGHT, file="../agent.py"), refused="leads out of the given paths"),
    "outside by a detour": Case(one(WRONG, RIGHT, file="src/../../agent.py"), refused="leads out of the given paths"),
    "outside with backslashes": Case(one(WRONG, RIGHT, file="src\\..\\..\\agent.py"), refused="leads out of the given paths"),
    "absolute": Case(one(WRONG, RIGHT, file="/etc/passwd"), refused="an absolute path"),
    "absolute on Windows": Case(one(WRONG, RIGHT, file="C:\\agent.py"), refused="an absolute path"),
    "no file": Case(one(WRONG, RIGHT, file=""), refused="not one of the files"),
    "stale context": Case(one("RETURN_DAYS = 60", RIGHT, 3), refused="(at line 3) does not stand in agent.py"),
    "wrong indentation": Case(one("if order is None:\nreturn None", "pass", 13), refused="does not stand in agent.py"),
    "ambiguous": Case(one("    if order is None:", "    if not order:", 1), refused="2 times in agent.py (lines 13, 19)"),
    "ambiguous between two": Case(one("45", "30", 5), refused="does not tell which is meant"),
    "ambiguous on one line": Case(one("A", "B"), refused="4 times", before="A = A + A + A\n"),
    "does not parse": Case(one("def returns(order):", "def returns(order)", 11), refused="no longer parses with it: expected ':' (line 11)"),
    "JSON does not parse": Case(one("45", "30,", file="a.json"), refused="no longer parses", before='{"days": 45}'),
    "YAML does not parse": Case(one("45", "[30", file="a.yml"), refused="no longer parses", before="days: 45\n"),
    "TOML does not parse": Case(one("45", "thirty", file="a.toml"), refused="no longer parses", before="days = 45\n"),
    "no-op": Case(one(WRONG, WRONG, 3), refused="it changes nothing"),
    "no-op by another line end": Case(one(WRONG + "\n", WRONG, 3), refused="it changes nothing"),
    "no replacement": Case(ProposedChange("Memory", "agent.py", ()), refused="it changes nothing"),
    "empty old": Case(one("", "import os\n"), refused='"old" is empty'),
    "only line ends as old": Case(one("\n\n", "\n"), refused='"old" is empty'),
    "the whole file is deleted": Case(one("A = 1\nB = 2\n", ""), refused="deletes the whole file", before="A = 1\nB = 2\n"),
    "huge": Case(one(WRONG, "A = 1\n" * 500, 3), refused="too large to review"),
    "a long line": Case(one(WRONG, "A" * 30_000, 3), refused="too large to review"),
    "too many": Case(ProposedChange("Memory", "agent.py", tuple(Replacement(3, WRONG, f"{n}") for n in range(50))), refused="50 replacements"),
    "overlapping": Case(two((3, WRONG, RIGHT), (3, "45\nEXCHANGE", "30\nEXCHANGE")), refused="touch the same text"),
    "overlapping replacements": Case(two((12, "days = RETURN_DAYS", "days = 30"), (12, "RETURN_DAYS\n    if", "30\n    if")), refused="touch the same text"),
    "redacted line": Case(one('KEY = "***"', 'KEY = os.environ["KEY"]', 7), refused="line 7 holds a secret"),
    "redacted line guessed": Case(one('KEY = "sk-0123456789abcdefghij"', "KEY = None", 7), refused="does not stand in agent.py"),
    "asterisks for a secret": Case(one(WRONG, 'RETURN_DAYS = 30\nOTHER = "***"', 3), refused="would write ***"),
    "hidden direction": Case(one("    days = RETURN_DAYS", "    days = 30 # \u202e}", 12), refused="invisible character (U+202E)"),
    "control character": Case(one("    days = RETURN_DAYS", "    days = 30 # \x1b[2J", 12), refused="invisible character (U+001B)"),
    "lone surrogate": Case(one("    days = RETURN_DAYS", "    days = '\ud83d'", 12), refused="invisible character (U+D83D)"),
}  # fmt: skip


def check(folder: Path, case: Case) -> tuple[SourceFile, CodeFix]:
    name = case.change.file if case.after else "agent.py"
    name = name.removeprefix("./")
    if case.change.file.startswith("a."):
        name = case.change.file
    file = source(folder, case.before, name)
    return file, check_change(case.change, {file.name: file}, lambda each: read_text(each.path))


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted_and_the_diff_applies(case: Case, tmp_path: Path) -> None:
    file, fix = check(tmp_path, case)
    wanted = case.after if isinstance(case.after, bytes) else case.after.encode()
    assert edited(file, case.change.replacements).encode() == wanted
    assert "sk-0123456789" not in fix.diff
    assert 1 <= fix.start_line <= fix.end_line <= len(bodies(file.text))
    has_context = re.search("^ ", fix.diff, re.MULTILINE) or "No newline" in fix.diff
    for tool in (
        ["git", "apply", *([] if has_context else ["--unidiff-zero"])],
        ["patch", "-p1", "--binary", "--posix"],
    ):
        if shutil.which(tool[0]) is None:
            continue
        file.path.write_bytes(file.text.encode())
        subprocess.run(tool, cwd=tmp_path, input=fix.diff.encode(), check=True, capture_output=True)
        assert file.path.read_bytes() == wanted, tool


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_the_reason(case: Case, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        check(tmp_path, case)
    assert case.refused in str(refused.value)
    assert str(refused.value).startswith(" ".join(case.change.file.split()) or "(no file)")


def test_the_fix_says_where_and_shows_the_change(tmp_path: Path) -> None:
    file, fix = check(tmp_path, Case(one('    return f"Within', '    return f"You can return it within', 1)))
    assert (fix.module, fix.file, fix.start_line, fix.end_line) == ("Memory", "agent.py", 15, 15)
    assert location(fix, file) == "agent.py:15 in returns"
    assert fix.diff == (
        "--- a/agent.py\n+++ b/agent.py\n@@ -12,7 +12,7 @@\n     days = RETURN_DAYS\n     if order is None:\n"
        '         return None\n-    return f"Within {days} days."\n+    return f"You can return it within {days} days."\n'
        " \n \n def exchanges(order):\n"
    )


def test_a_deleted_a_changed_and_a_linked_file_are_refused(tmp_path: Path) -> None:
    file = source(tmp_path, AGENT)
    change = one(WRONG, RIGHT, 3)

    def refusal() -> str:
        with pytest.raises(Refused) as refused:
            check_change(change, {"agent.py": file}, lambda each: read_text(each.path))
        return str(refused.value)

    file.path.write_text(AGENT + "\n", encoding="utf-8")
    assert refusal() == "agent.py: the file has changed since it was read"
    file.path.unlink()
    assert refusal() == "agent.py: the file is gone, or is no longer a text file"
    (tmp_path / "elsewhere.py").write_text(AGENT, encoding="utf-8")
    file.path.symlink_to(tmp_path / "elsewhere.py")
    assert refusal() == "agent.py: the file is gone, or is no longer a text file"


def test_a_secret_that_a_diff_would_move_is_not_shown() -> None:
    before = "a\nb\nsecret\nc\nd\n"
    with pytest.raises(Refused, match="would show a line that holds a secret"):
        unified_diff("x", before, "secret\na\nb\nc\nd\n", frozenset({3}))


def test_a_large_file_is_quick(tmp_path: Path) -> None:
    text = "".join(f"x{number} = {number}\n\n" for number in range(15_000))
    file, fix = check(tmp_path, Case(one("x14000 = 14000", "x14000 = 1", 3), before=text))
    assert (fix.start_line, fix.end_line) == (28_001, 28_001)
    assert fix.diff.splitlines()[2] == "@@ -27998,7 +27998,7 @@"
    assert len(file.shown) == 30_000


texts = st.text(alphabet="ab\n\r", max_size=30)


@given(before=texts, after=texts)
def test_every_diff_applies(before: str, after: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if before == after:
        return
    first, last = changed_lines(before, after)
    assert 1 <= first <= last
    assert rebuilt(before, unified_diff("x", before, after)) == after


def rebuilt(before: str, diff: str) -> str:
    """Apply a diff by the letter of the format."""
    old = before.split("\n")
    old = [line + "\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    made: list[str] = []
    at = 0
    lines = diff.split("\n")[2:-1]
    for index, line in enumerate(lines):
        end = "" if index + 1 < len(lines) and lines[index + 1].startswith("\\") else "\n"
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            begin = int(start) - (count != "0")
            made += old[at:begin]
            at = begin
        elif line[0] in " -":
            assert old[at] == line[1:] + end
            made += [old[at]] if line[0] == " " else []
            at += 1
        elif line[0] == "+":
            made.append(line[1:] + end)
    return "".join([*made, *old[at:]])
