"""A failed check that no unique error explains still leads to its conversations."""

from __future__ import annotations

from dataclasses import replace

from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.failed_places import failed_places
from arksim_ci.reports.html import render_html_report
from arksim_ci.reports.markdown_report import render_markdown_report
from arksim_ci.reports.results import Results
from arksim_ci.schema.verdict import Check, Failing
from tests.support import samples

CONTEXT = CommentContext(config_path="arksim/config.yaml", scenario_path="arksim/scenarios.json")


def with_checks(results: Results, *checks: Check) -> Results:
    return replace(results, verdict=results.verdict.model_copy(update={"checks": list(checks)}))


def warmth(*places: Failing) -> Check:
    return samples.numeric("warmth", 3.0, 1, 2, places)


def test_the_comment_names_the_conversations_and_how_to_run_them_again() -> None:
    for text in (
        render_comment(samples.assertion_failed(), CONTEXT),
        render_markdown_report(samples.assertion_failed(), CONTEXT),
    ):
        assert "- `assertions`: `lost-card` (conversation `lost-card-1`)" in text
        assert (
            "arksim-ci simulate-evaluate arksim/config.yaml --scenario_file_path arksim/scenarios.json"
            " --output_dir rerun" in text
        )
        assert "error_" not in text
        assert text.index("### Checks") < text.index("### Where it failed") < text.index("\n---\n")


def test_the_page_links_the_turn_with_its_value() -> None:
    place = Failing(conversation_id="lost-card-1", scenario_id="lost-card", turn_id=1, value=2.25)
    page = render_html_report(with_checks(samples.assertion_failed(), warmth(place)))
    assert '<a href="#c1t2" title="conversation lost-card-1"><bdi>lost-card, turn 2: 2.25</bdi></a>' in page
    assert '<a href="#places">' in page


def test_places_that_the_run_does_not_have_get_no_broken_link() -> None:
    no_turn = Failing(conversation_id="lost-card-1", scenario_id="lost-card", turn_id=9, value=2.0)
    gone = Failing(conversation_id="gone", scenario_id="gone", value=2.0)
    results = with_checks(samples.assertion_failed(), warmth(no_turn, gone))
    page = render_html_report(results)
    assert '<a href="#c1" title="conversation lost-card-1"><bdi>lost-card: 2</bdi></a>' in page
    assert "#c1t10" not in page
    assert "conversation `gone`" in render_comment(results, CONTEXT)


def test_what_unique_errors_explain_is_not_told_twice() -> None:
    failed = samples.gate_failed()
    assert failed_places(failed) == []
    place = Failing(conversation_id="overdraft-1", scenario_id="overdraft-rate", value=1.0)
    with_own = with_checks(failed, *failed.verdict.checks, warmth(place))
    assert [each.check.name for each in failed_places(with_own)] == ["warmth"]


def test_a_built_in_check_of_a_run_without_errors_is_told() -> None:
    place = Failing(conversation_id="lost-card-1", scenario_id="lost-card", value=2.0)
    results = with_checks(samples.assertion_failed(), samples.numeric("verbosity", 3.0, 1, 2, [place]))
    assert [each.conversations for each in failed_places(results)] == [("lost-card-1",)]
