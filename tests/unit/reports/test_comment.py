from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from arksim_ci.reports.comment import MOST_UNITS, render_comment
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.markdown_report import render_markdown_report, render_summary
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import BREAK, utf16_length
from arksim_ci.schema.evaluation import ErrorScenarioMapping, Occurrence, UniqueError
from tests.support import samples
from tests.support.hostile import HOSTILE
from tests.support.snapshots import assert_matches
from tests.unit.reports.reading import ACTIVE, OUR_HTML, html, loose_text, shown, structure

SNAPSHOTS = Path(__file__).parent / "snapshots"
MARKER = "<!-- arksim-ci key=ci/gate/0 run=7 attempt=1 -->"
RUN = "https://github.com/harbour/support/actions/runs/7"
ON_GITHUB = CommentContext(
    marker=MARKER,
    config_path="arksim/config.yaml",
    run_id="7",
    run_url=RUN,
    summary_url=f"{RUN}#summary",
    commit_url="https://github.com/harbour/support/commit/4f2c81d09ab37e55c1d0b6f7a8e92d3344556677",
    report_url=f"{RUN}/artifacts/12",
    evaluation_artifact_url=f"{RUN}/artifacts/10",
    focus_artifact_url=f"{RUN}/artifacts/11",
)
BARE = CommentContext(documentation_url=None)

COMMENTS: dict[str, tuple[Callable[[], Results], CommentContext]] = {
    "all-green": (samples.all_green, ON_GITHUB),
    "gate-failed": (samples.gate_failed, ON_GITHUB),
    "assertion-failed": (samples.assertion_failed, ON_GITHUB),
    "not-measured": (samples.not_measured, ON_GITHUB),
    "time-limit": (samples.stopped, ON_GITHUB),
    "agent-never-spoke": (samples.agent_never_spoke, ON_GITHUB),
    "no-gate-offline-in-a-terminal": (samples.no_gate, CommentContext(focus_folder="results/evaluation/focus")),
    "gate-changed": (
        samples.gate_failed,
        CommentContext(marker=MARKER, gate_changes=("arksim/config.yaml", "arksim/scenarios.json")),
    ),
    "from-a-fork": (
        samples.gate_failed,
        CommentContext(marker=MARKER, fork=True, report_url=f"{RUN}/artifacts/12", run_url=RUN),
    ),
    "500-errors": (
        samples.five_hundred_errors,
        CommentContext(marker=MARKER, top_errors=500, report_url=f"{RUN}/artifacts/12"),
    ),
    "hostile": (lambda: samples.hostile(HOSTILE_MIX), ON_GITHUB),
    "non-latin": (samples.non_latin, ON_GITHUB),
}
HOSTILE_MIX = (
    "@octocat <img src=x> [x](https://evil.example) #1 `tick` |cell| <!-- marker -->\n::error::no\n# head \u202eflip"
)


@pytest.mark.parametrize("name", COMMENTS)
def test_whole_comments(name: str) -> None:
    results, context = COMMENTS[name]
    assert_matches(render_comment(results(), context), SNAPSHOTS / f"comment-{name}.md")


@pytest.mark.parametrize("name", ["gate-failed", "no-gate-offline-in-a-terminal", "not-measured"])
def test_whole_reports(name: str) -> None:
    results, _ = COMMENTS[name]
    assert_matches(render_markdown_report(results(), CommentContext()), SNAPSHOTS / f"report-{name}.md")


@pytest.mark.parametrize("name", COMMENTS)
def test_every_comment_is_whole(name: str) -> None:
    results, context = COMMENTS[name]
    text = render_comment(results(), context)
    assert utf16_length(text) <= MOST_UNITS
    assert text.rstrip().endswith(context.marker)
    _assert_closed(text)


def _assert_closed(text: str) -> None:
    tags = html(text)
    for tag in ("details", "summary", "sub", "code"):
        assert tags.count(f"<{tag}>") == tags.count(f"</{tag}>"), tag
    if "---" in text:
        assert structure(text)["hr"] == 1, "the footer's rule is drawn, so no fence before it is open"


def test_the_parts_stand_in_the_order_of_the_contract() -> None:
    context = CommentContext(
        marker=MARKER, gate_changes=("arksim/config.yaml",), report_url=f"{RUN}/artifacts/12", run_url=RUN
    )
    text = render_comment(samples.gate_failed(), context)
    places = [
        text.index(part)
        for part in (
            "Gate failed: Harbour Bank support",
            "This pull request changes its own gate",
            "### Why",
            "### Checks",
            "### What to fix",
            "1. Critical: false information",
            "**User:** What does my overdraft cost?",
            "**Fix in Memory:**",
            "Code change in",
            "focus/error_1.json",
            "focus/all_failures.json",
            "[Full report]",
            "prompts `9f3ab4c1d2e3`",
            MARKER,
        )
    ]
    assert places == sorted(places)


def test_verdict_why_and_fix_need_no_click() -> None:
    text = render_comment(samples.gate_failed(), ON_GITHUB)
    unfolded = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    for part in (
        "Gate failed",
        "`faithfulness` is below 3.5",
        "Look the rate up in the tariff table",
        "Your overdraft costs 9.9%",
    ):
        assert part in unfolded


def test_the_comment_of_500_errors_drops_the_least_severe_and_says_where_the_rest_is() -> None:
    results, context = COMMENTS["500-errors"]
    text = render_comment(results(), context)
    left_out = re.search(r"([\d,]+) more unique errors are not shown here \((.*)\): all are in \[the report\]", text)
    assert left_out
    assert text.count("\n#### ") + int(left_out[1]) == 500
    assert "125 low" in left_out[2]
    assert "1. Critical" in text


def test_a_comment_fits_even_when_everything_is_too_long() -> None:
    long = samples.hostile("w" * 9000)
    many = samples.many(7)
    check = many.verdict.checks[0].model_copy(
        update={"name": "m" * 5000, "labels": ["x" * 5000] * 500, "kind": "qualitative"}
    )
    verdict = long.verdict.model_copy(
        update={"checks": [check] * 300, "failures": long.verdict.failures * 300, "warnings": ["w" * 9000] * 900}
    )
    results = Results(verdict, long.simulation, long.evaluation, None, long.recommendations)
    context = CommentContext(marker=MARKER, gate_changes=tuple("p" * 4000 for _ in range(900)), config_path="c" * 9000)
    for limit in (MOST_UNITS, 30_000):
        text = render_comment(results, context, limit)
        assert utf16_length(text) <= limit
        assert text.rstrip().endswith(MARKER)
        _assert_closed(text)


def test_a_fork_is_named_and_its_page_is_not_linked() -> None:
    text = render_comment(samples.gate_failed(), COMMENTS["from-a-fork"][1])
    assert "Reported by a fork's run, not verified" in text
    assert "artifacts/12" not in text


def test_rules_are_not_sold_as_judgement() -> None:
    text = render_comment(samples.no_gate(), BARE)
    assert "not the judgement of an LLM" in text
    assert "Judged by" not in text


def test_a_locally_rendered_comment_names_local_files() -> None:
    text = render_comment(samples.no_gate(), CommentContext(focus_folder="out dir/focus", config_path="my config.yaml"))
    assert "arksim-ci simulate-evaluate 'my config.yaml' --scenario_file_path 'out dir/focus/error_1.json'" in text
    assert "gh run download" not in text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_the_whole_comment(text: str) -> None:
    comment = render_comment(samples.hostile(text), CommentContext(marker=MARKER, documentation_url=None))
    tame = render_comment(samples.hostile("word"), CommentContext(marker=MARKER, documentation_url=None))
    assert utf16_length(comment) <= MOST_UNITS
    hostile_structure, tame_structure = structure(comment), structure(tame)
    for kind in ("code_inline", "hardbreak"):
        hostile_structure.pop(kind, None)
        tame_structure.pop(kind, None)
    assert hostile_structure <= tame_structure
    assert all(OUR_HTML.fullmatch(tag) or tag == MARKER for tag in html(comment)), html(comment)
    assert comment.count("<!--") == 1
    assert not re.search(r"^[^\S\n]*::|##\[", comment, re.MULTILINE)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067]", comment)
    loose = loose_text(comment)
    for name, pattern in ACTIVE.items():
        assert not pattern.search(loose), name


def test_the_summary_keeps_to_its_bytes() -> None:
    results = samples.many(400)
    whole = render_summary(results, ON_GITHUB, 10_000_000)
    assert "Conversations" in whole
    assert MARKER not in whole
    for limit in (len(whole.encode()) - 1, 20_000, 9_000):
        text = render_summary(results, ON_GITHUB, limit)
        assert len(text.encode()) <= limit
        assert re.search(r"more conversations? (is|are) not shown here", text)
        _assert_closed(text)
    tight = render_summary(samples.five_hundred_errors(), ON_GITHUB, 100_000)
    assert len(tight.encode()) <= 100_000
    assert "more unique errors are not shown here" in tight


def test_the_report_has_every_error_and_conversation() -> None:
    results = samples.many(60)
    text = shown(render_markdown_report(results, CommentContext()))
    for conversation in results.simulation.conversations:
        assert conversation.conversation_id in text
    for numbered in results.errors:
        assert numbered.error.unique_error_description in text
    assert BREAK not in text


def with_missed_goals(*conversations: str) -> Results:
    """The failed gate, and one more unique error: goals missed in these conversations."""
    results = samples.gate_failed()
    assert results.evaluation is not None
    missed = UniqueError(
        unique_error_id="err-goal",
        behavior_failure_category="goal not completed",
        unique_error_description="Users leave without what they came for.",
        severity="medium",
        occurrences=[Occurrence(conversation_id=each, turn_id=0) for each in conversations],
    )
    results.evaluation.unique_errors.insert(2, missed)
    mappings = results.evaluation.error_scenario_mappings
    for mapping in mappings[2:]:
        mapping.error_index += 1
    scenarios = sorted({results.scenario_of(each) for each in conversations})
    mappings.append(
        ErrorScenarioMapping(
            error_index=3,
            unique_error_id="err-goal",
            error_description=missed.unique_error_description,
            severity="medium",
            scenario_ids=scenarios,
        )
    )
    return results


def test_missed_goals_that_come_with_other_errors_are_one_sentence() -> None:
    comment = render_comment(with_missed_goals("overdraft-1", "branch-visit-1"), ON_GITHUB)
    assert "#### 3. Medium" not in comment
    assert "#### 4. Medium: failure to ask for clarification" in comment
    assert (
        "**Goals missed along with these:** in 2 conversations that already hold an error, the user also left without"
        " reaching the goal: unique error 3 (`branch-visit` and 1 more, with errors 1, 2, 5)."
    ) in comment
    report = render_markdown_report(with_missed_goals("overdraft-1", "branch-visit-1"), ON_GITHUB)
    assert "#### 3. Medium: goal not completed" in report
    assert "together with errors 1, 2, 5" in report


def test_a_goal_missed_without_another_error_is_told_in_full() -> None:
    comment = render_comment(with_missed_goals("overdraft-1", "lost-card-1"), ON_GITHUB)
    assert "#### 3. Medium: goal not completed" in comment
    assert "Goals missed along" not in comment
