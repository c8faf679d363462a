"""Hostile text from every side at once: it is shown as text in every output, and it changes no decision."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import Counter
from xml.etree import ElementTree

import pytest

from tests.integration.hostile.conftest import Hostile
from tests.support.browser import look_at
from tests.support.hostile_run import ANSWERS, TEXTS
from tests.unit.reports.reading import ACTIVE, OUR_HTML, html, loose_text, tokens

pytestmark = pytest.mark.xdist_group("hostile")

LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")
COMMAND = re.compile(r"\s*::([\w-]+)( [^:]*)?::")
OUR_COMMANDS = {"group", "endgroup", "add-mask", "error", "warning", "notice"}
HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2067\u200e\u200f\U000e0000-\U000e007f]")
FIRST_CALL = re.compile(r'^\{"turn": 0', re.MULTILINE)


def test_there_are_enough_texts_and_all_were_said(hostile: Hostile) -> None:
    assert len(TEXTS) >= 60
    talks = hostile.ended.file("simulation.json")["conversations"]
    assert len(talks) == len(ANSWERS)
    said = {message["content"] for talk in talks for message in talk["conversation_history"]}
    kept = [text for text in ANSWERS if text.strip() in {each.strip() for each in said}]
    assert len(kept) >= len(ANSWERS) - 3  # the three that no file can hold


def test_no_text_decides_anything(hostile: Hostile) -> None:
    verdict = hostile.ended.file("verdict.json")
    assert hostile.ended.code == 1, hostile.ended.log[-3000:]
    assert verdict["status"] == "COMPLETED"
    [faithfulness] = [check for check in verdict["checks"] if check["name"] == "faithfulness"]
    assert faithfulness["pass_rate"] == 0
    broken = [
        each["not_finished"]
        for each in hostile.ended.file("simulation.json")["conversations"]
        if each.get("not_finished")
    ]
    assert verdict["coverage"]["evaluated_conversations"] == len(ANSWERS) - len(broken)
    assert set(broken) <= {"the simulated user spoke for the agent, twice"}, broken
    assert len(broken) <= 3


def test_the_comment_is_text(hostile: Hostile) -> None:
    [comment] = hostile.comments
    held_as_text(comment)
    assert comment.rstrip().endswith("-->")
    assert comment.count("<!--") == 1


def test_the_step_summary_is_text(hostile: Hostile) -> None:
    held_as_text(hostile.ended.summary)


def test_the_long_report_is_text(hostile: Hostile) -> None:
    held_as_text(hostile.text("final_report.md"))


def held_as_text(markdown: str) -> None:
    """A reader of Markdown finds nothing in it but our own structure."""
    foreign = [tag for tag in html(markdown) if not OUR_HTML.fullmatch(tag) and not tag.startswith("<!-- arksim")]
    assert foreign == []
    kinds = Counter(token.type for token in tokens(markdown))
    assert kinds["image"] == 0
    for token in tokens(markdown):
        if token.type == "link_open":
            assert str(token.attrGet("href")).startswith(("https://github.com/", "#")), token.attrGet("href")
    loose = loose_text(markdown)
    for name in ("mention", "commit", "short code"):
        assert not ACTIVE[name].findall(loose), (name, ACTIVE[name].findall(loose)[:5])
    assert not re.search(r"(?<![\w&])#\d+\b|\bGH-\d|https?://evil|\bwww\.evil", loose)
    assert not HIDDEN.search(markdown)


def test_the_page_shows_text_and_runs_nothing(hostile: Hostile) -> None:
    seen = look_at(hostile.folder / "final_report.html")
    assert seen.dialogs == []
    assert seen.errors == []
    assert {url for url in seen.requests if not url.startswith(("file://", "data:"))} == set()
    assert len({url.split("#")[0] for url in seen.navigations}) == 1
    assert seen.tags["script"] == 1
    assert seen.tags["form"] == 1  # the page's own search
    for tag in ("img", "iframe", "object", "embed", "math", "base", "link", "textarea"):
        assert tag not in seen.tags
    assert not [name for name in seen.attributes if name.startswith("on") or name in ("srcdoc", "action", "formaction")]
    # the agent's own Markdown is rendered, so what it links can be followed, but nothing else
    assert all(re.match(r"#|https?://|mailto:", link) for link in seen.links)
    for shown in ("<script>alert(document.domain)</script>", "<img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "⟨U+202E⟩"):
        assert shown in seen.text
    assert not HIDDEN.search(seen.text)


def test_junit_and_sarif_are_valid(hostile: Hostile) -> None:
    suites = ElementTree.fromstring(hostile.text("junit.xml"))
    assert len(suites.findall(".//testcase")) >= len(ANSWERS)
    assert suites.findall(".//failure")
    assert {each.tag for each in suites.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "error", "skipped"),
        *("properties", "property", "system-out", "system-err"),
    }
    sarif = json.loads(hostile.text("results.sarif"))
    assert sarif["version"] == "2.1.0"
    assert sarif["runs"][0]["results"]


@pytest.mark.parametrize("name", ["agent_performance_per_convo.csv", "agent_performance_per_turn.csv", "unique_errors.csv"])  # fmt: skip
def test_tables_hold_no_formula_and_no_forged_row(hostile: Hostile, name: str) -> None:
    rows = list(csv.reader(io.StringIO(hostile.text(name), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    for cell in (cell for row in rows for cell in row):
        assert cell.lstrip()[:1] not in tuple("=+-@＝＋－＠"), cell[:50]


def test_no_line_of_the_log_is_a_command_of_somebody_else(hostile: Hostile) -> None:
    for text in (hostile.ended.log, hostile.ended.summary):
        for line in LINE_ENDS.split(text):
            command = COMMAND.match(line)
            if command:
                assert command[1] in OUR_COMMANDS, line[:200]
                assert "app.js" not in (command[2] or ""), line[:200]
            assert "##[" not in line
            assert "\x1b" not in line
        assert not HIDDEN.search(text)
    assert hostile.ended.log.count("::group::") == hostile.ended.log.count("::endgroup::")


def test_outputs_are_our_own(hostile: Hostile) -> None:
    assert hostile.ended.outputs["conclusion"] == "failed"
    assert hostile.ended.outputs["exit-code"] == "1"
    assert all(re.fullmatch(r"[a-z-]+", name) for name in hostile.ended.outputs)
    assert not [value for value in hostile.ended.outputs.values() if "evil" in value]


def test_every_prompt_of_the_judge_gives_the_exact_transcript_back(hostile: Hostile) -> None:
    """A reader that knows nothing but "one JSON value a line" gets back what was said, and by whom."""
    talks = by_goal(hostile)
    read = 0
    for request in hostile.asked:
        if not request.text.startswith("You are the judge") or len(request.body["messages"]) > 2:
            continue
        content = request.body["messages"][1]["content"]
        lines = content.split("\n")
        assert lines[0] == "Scenario:"
        assert lines[2:4] == ["", "Conversation:"]
        messages = [json.loads(line) for line in lines[4 : lines.index("", 4)]]
        question = "\n".join(lines[lines.index("", 4) + 1 :])
        assert question.startswith("Question: ")
        assert '"turn"' not in question
        said = talks[json.loads(lines[1])["user_goal"]]
        assert [(each["speaker"], each["text"]) for each in messages] == said[: len(messages)]
        assert len(messages) in (2, len(said))
        read += 1
    assert read >= 3 * len(ANSWERS)


def test_every_prompt_of_the_simulated_user_gives_the_exact_transcript_back(hostile: Hostile) -> None:
    talks = by_goal(hostile)
    read = 0
    for request in hostile.asked:
        first, *messages = request.body["messages"]
        if not first["content"].startswith("You play a person"):
            continue
        goal = next(goal for goal in talks if re.search(r"case \d+\.", first["content"])[0] == re.match(r"case \d+\.", goal)[0])  # type: ignore[index]  # fmt: skip
        heard: list[tuple[str, str]] = []
        for message in messages:
            if message["role"] == "assistant":
                heard.append(("user", message["content"]))
            elif message["content"].startswith('{"agent"'):
                line, *rest = message["content"].split("\n")
                heard.append(("agent", json.loads(line)["agent"]))
                assert rest in ([], [""]) or rest[:2] == ["", "Your draft"] or rest[1].startswith("Your draft ")
            else:
                assert message["content"].startswith("The agent is listening.")
        assert heard == talks[goal][: len(heard)]
        read += len(heard)
    assert read >= 2 * len(ANSWERS)


def by_goal(hostile: Hostile) -> dict[str, list[tuple[str, str]]]:
    """Who said what in each conversation, by the goal of its scenario."""
    scenarios = json.loads((hostile.ended.workspace / "scenarios.json").read_text(encoding="utf-8"))["scenarios"]
    goals = {each["scenario_id"]: each["goal"] for each in scenarios}
    speaker = {"simulated_user": "user", "assistant": "agent"}
    return {
        goals[talk["scenario_id"]]: [(speaker[each["role"]], each["content"]) for each in talk["conversation_history"]]
        for talk in hostile.ended.file("simulation.json")["conversations"]
    }


@pytest.mark.parametrize("opening", ["You analyse failures", "You advise the developers"])
def test_prompts_about_failures_hold_them_as_json_lines(hostile: Hostile, opening: str) -> None:
    said = {text for talk in by_goal(hostile).values() for _, text in talk}
    prompts = [request.text for request in hostile.asked if request.text.startswith(opening)]
    assert prompts
    quotes = 0
    for prompt in prompts:
        for line in prompt.split("\n"):
            if line.startswith("{"):
                for text in texts_in(json.loads(line)):
                    quotes += text in said
    assert quotes >= len(prompts)
    for prompt in prompts:  # outside of JSON, nothing that was said stands anywhere
        loose = "\n".join(line for line in prompt.split("\n") if not line.startswith("{"))
        assert not re.search(r"evil\.example|alert\(1\)|octocat|Ignore the rubric", loose)


def texts_in(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_in(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_in(each)]
    return [value] if isinstance(value, str) else []


def test_files_hold_no_lone_surrogate_and_no_nul(hostile: Hostile) -> None:
    for path in hostile.folder.rglob("*"):
        if path.is_file():
            text = path.read_bytes().decode("utf-8")  # fails on a surrogate
            if path.suffix in (".html", ".md", ".csv", ".xml"):
                assert not [each for each in set(text) if unicodedata.category(each) == "Cc" and each not in "\t\n\r"]
