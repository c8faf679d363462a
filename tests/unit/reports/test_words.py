"""Sentences, figures, headline and the terminal's closing block."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arksim_ci.reports.figures import cost, count, duration, number, number_below, percent
from arksim_ci.reports.headline import headline
from arksim_ci.reports.results import Results
from arksim_ci.reports.sentences import PLAIN, failure_sentences
from arksim_ci.reports.terminal import closing_block
from arksim_ci.schema.verdict import (
    AgentNeverSpoke,
    AssertionFailed,
    Failure,
    FailureLabelFound,
    MetricNotEvaluated,
    RoleUsage,
    RunNotCompleted,
    RunStatus,
    Usage,
)
from tests.support import samples
from tests.support.hostile import HOSTILE
from tests.support.snapshots import assert_matches

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            samples.gate_failed,
            [
                "2 turns in scenario 'overdraft-rate' are labelled 'false information', which 'agent_behavior_failure' forbids.",
                "1 turn in scenario 'branch-visit' is labelled 'disobey user request', which 'agent_behavior_failure' forbids.",
                "'overall_score' is below 0.7 in 4 of 6 conversations; every conversation has to pass.",
                "'faithfulness' is below 3.5 in 3 of 6 conversations; every conversation has to pass.",
            ],
        ),
        (
            samples.assertion_failed,
            [
                "Scenario 'lost-card' asserts 'block_card(last_digits=\"4411\")', 'order_card()' (unordered match);"
                " the agent made 'block_card(last_digits=\"4411\")'."
            ],
        ),
        (
            samples.not_measured,
            [
                "'faithfulness' was measured for 4 of 5 values: the judge answered 503 to all five attempts"
                " (conversation hotline-1, turn 1). That is too few to decide it: run again.",
                "Only 2 of 3 conversations could be measured, fewer than the gate needs. What is missing never counts as"
                " passed: run again to fill the gaps.",
                "'overall_score' is not decided: 2 of 2 measured conversations passed, and what is missing could turn the"
                " result either way. Run again.",
            ],
        ),
        (
            samples.agent_never_spoke,
            [
                "The agent never spoke in 3 of 3 test cases (none may): connection refused at"
                " http://localhost:8080/v1/chat/completions. Check that the agent is up and what its log says.",
                "Nothing could be measured because the agent never answered.",
            ],
        ),
        (samples.all_green, []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_failure_is_a_sentence(run: Callable[[], Results], expected: list[str]) -> None:
    assert failure_sentences(run(), PLAIN) == expected


@pytest.mark.parametrize(
    ("status", "start", "title"),
    [
        ("TIMED_OUT", "The run reached its time limit: ", "Not decided: time limit reached"),
        ("CANCELLED", "The run was cancelled: ", "Not decided: the run was cancelled"),
        ("BUDGET_REACHED", "The run reached its budget: ", "Not decided: budget reached"),
        ("FAILED", "The run failed: ", "Not decided: the run failed"),
    ],
)
def test_a_run_that_ended_early_says_so_first(status: RunStatus, start: str, title: str) -> None:
    results = samples.stopped(status, "because of x")
    assert (
        failure_sentences(results, PLAIN)[0] == f"{start}because of x. 1 of 4 conversations had been measured by then."
    )
    assert headline(results).title == title


@pytest.mark.parametrize(
    ("run", "tone", "title", "lead"),
    [
        (samples.all_green, "passed", "Gate passed", "All 3 checks passed, no unique errors."),
        (samples.gate_failed, "failed", "Gate failed", "3 of 4 checks failed, 4 unique errors."),
        (
            samples.agent_never_spoke,
            "failed",
            "Gate failed: the agent did not answer",
            "The only check is not decided.",
        ),
        (
            samples.not_measured,
            "undecided",
            "Not decided: too little could be measured",
            "2 of 3 checks not decided, no unique errors.",
        ),
        (samples.no_gate, "neutral", "Measured, no gate configured", "1 unique error."),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_verdict_at_a_glance(run: Callable[[], Results], tone: str, title: str, lead: str) -> None:
    head = headline(run())
    assert (head.tone, head.title, head.lead) == (tone, title, lead)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (percent(1.0), "100%"),
        (percent(0.9999), "99.9%"),
        (percent(2 / 3), "66.7%"),
        (percent(0.00001), "0.1%"),
        (percent(2 / 3, 0.667), "66.67%"),
        (percent(2 / 3, 0.9), "66.7%"),
        (percent(0.29), "29%"),
        (percent(0.0), "0%"),
        (number(3.0), "3"),
        (number(0.675), "0.68"),
        (number(0.0), "0"),
        (number_below(3.4999, 3.5), "3.4999"),
        (number_below(3.2, 3.5), "3.2"),
        (count(1, "turn"), "1 turn"),
        (count(1200, "turn"), "1,200 turns"),
        (duration(0.04), "0 s"),
        (duration(8.26), "8.3 s"),
        (duration(59.7), "1 min"),
        (duration(134.2), "2 min 14 s"),
        (duration(7260), "2 h 1 min"),
        (cost(Usage()), "no LLM calls"),
        (cost(Usage(judge=RoleUsage(calls=2))), "cost not known"),
        (cost(Usage(judge=RoleUsage(calls=2, cost_usd=0.004))), "under $0.01"),
        (cost(Usage(judge=RoleUsage(calls=2, cost_usd=0.5), analysis=RoleUsage(calls=1))), "at least $0.50"),
    ],
)
def test_figures(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize("name", ["gate_failed", "all_green", "no_gate", "not_measured"])
def test_the_closing_block(name: str) -> None:
    files = {"Report": "results/evaluation/final_report.html", "Verdict": "results/evaluation/verdict.json"}
    block = closing_block(getattr(samples, name)(), files)
    assert_matches(block.plain, SNAPSHOTS / f"terminal-{name.replace('_', '-')}.md")
    assert block.spans


@pytest.mark.parametrize("text", [text for text in HOSTILE if len(text) < 5000], ids=lambda text: repr(text[:20]))
def test_a_terminal_and_a_log_get_text_only(text: str) -> None:
    plain = closing_block(samples.hostile(text), {"Report": text}).plain
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", plain)
    assert not re.search(r"^[^\S\n]*::|##\[", plain, re.MULTILINE)
    assert plain.count("\n") == closing_block(samples.hostile("word"), {"Report": "x"}).plain.count("\n")


def many_labels(number: int) -> Results:
    """A failed gate in which every conversation has a label of its own."""
    results = samples.gate_failed()
    failures: list[Failure] = [
        FailureLabelFound(metric="tone", label=f"label {n % number}", conversation_id="overdraft-1", turn_id=0)
        for n in range(number * 2)
    ]
    return replace(results, verdict=results.verdict.model_copy(update={"failures": failures}))


def test_a_few_labels_are_told_apart_and_many_in_one_sentence() -> None:
    few = failure_sentences(many_labels(5), PLAIN)
    assert len(few) == 5
    assert few[0] == "2 turns in scenario 'overdraft-rate' are labelled 'label 0', which 'tone' forbids."
    (many,) = failure_sentences(many_labels(50), PLAIN)
    assert many == (
        "100 turns in scenario 'overdraft-rate' are labelled as 'tone' forbids: 'label 0' (2), 'label 1' (2),"
        " 'label 2' (2), 'label 3' (2), 'label 4' (2) and 45 more."
    )


def test_repetitions_with_the_same_wrong_calls_are_one_sentence() -> None:
    results = samples.assertion_failed()
    (failure,) = results.verdict.failures
    assert isinstance(failure, AssertionFailed)
    other = failure.model_copy(update={"actual": []})
    failures = [failure, failure.model_copy(update={"conversation_id": "lost-card-2"}), other]
    verdict = results.verdict.model_copy(update={"failures": failures})
    same, apart = failure_sentences(replace(results, verdict=verdict), PLAIN)
    assert same.endswith("the agent made 'block_card(last_digits=\"4411\")', in 2 conversations.")
    assert apart.endswith("the agent made no tool call.")


def test_conversations_are_called_by_their_scenario() -> None:
    names = samples.gate_failed().names
    assert names["overdraft-2"] == "overdraft-rate #2"
    assert names["mortgage-1"] == "mortgage"
    assert len(set(names.values())) == len(names)


def undecided(*failures: Failure, checks: tuple[str, ...] = ()) -> list[str]:
    """The sentences of a run in which nothing was measured, for these failures."""
    empty = [samples.numeric(name, 3.0, 0, 0, decided=False) for name in checks]
    results = samples.agent_never_spoke()
    verdict = results.verdict.model_copy(update={"failures": list(failures), "checks": empty})
    return failure_sentences(replace(results, verdict=verdict), PLAIN)


def gap(metric: str, *causes: str, evaluated: int = 0) -> MetricNotEvaluated:
    return MetricNotEvaluated(metric=metric, evaluated=evaluated, expected=3, causes=list(causes))


def test_a_silent_agent_leaves_one_line_however_many_checks_there_are() -> None:
    silent = AgentNeverSpoke(never_spoke=3, stopped_answering=0, test_cases=3, max_share=0.0)
    _, line = undecided(silent, checks=("helpfulness", "coherence", "overall_score"))
    assert line == "Nothing could be measured because the agent never answered."


def test_a_broken_metric_is_to_be_fixed_not_run_again() -> None:
    cause = "the metric returned 50, outside its score_range 0 to 5: fix the metric, or widen its score_range"
    (line,) = undecided(gap("warmth", cause), checks=("warmth",))
    assert (
        line
        == f"'warmth' was measured for 0 of 3 values: {cause}. That is too few to decide it until the metric is fixed."
    )
    (raised,) = undecided(gap("warmth", "metric 'warmth': KeyError: 'tone'"), checks=("warmth",))
    assert raised.endswith("look into the metric and what it calls, then run again.")


def test_a_cause_that_many_metrics_share_is_said_once() -> None:
    cause = "the provider can't be reached at https://llm.example: name not known"
    names = ("helpfulness", "coherence", "relevance")
    (line,) = undecided(*(gap(name, cause) for name in names), checks=names)
    assert line == (
        f"'helpfulness', 'coherence' and 'relevance' were each measured for 0 of 3 values: {cause}."
        " That is too few to decide them: run again."
    )
    (uneven,) = undecided(gap("helpfulness", cause), gap("coherence", cause, evaluated=1))
    assert uneven.startswith(
        "Measured were 'helpfulness' for 0 of 3 values and 'coherence' for 1 of 3 values: the provider"
    )
    ended = RunNotCompleted(status="FAILED", cause=cause)
    assert sum(each.count(cause) for each in undecided(ended, *(gap(name, cause) for name in names))) == 1


@pytest.mark.parametrize(
    ("cause", "advice"),
    [
        ("connection refused at http://localhost:8080", "Check that the agent is up and what its log says."),
        (
            "HTTP 404 from http://localhost:8080/chat: not found",
            "Check the path of the agent's endpoint.",
        ),
        ("the agent's answer has no known shape: {}", "Answer in a shape that docs/agents.md lists."),
        ("execute() returned int; it must return a text", "Correct what execute() returns: docs/agents.md shows it."),
    ],
)
def test_what_to_do_about_a_silent_agent_depends_on_the_cause(cause: str, advice: str) -> None:
    results = samples.agent_never_spoke()
    for conversation in results.simulation.conversations:
        assert conversation.agent_silence
        conversation.agent_silence = conversation.agent_silence.model_copy(update={"cause": cause})
    assert failure_sentences(results, PLAIN)[0].endswith(f"{cause}. {advice}")


def test_a_check_without_any_value_shows_none() -> None:
    results = samples.all_green()
    empty = samples.numeric("overall_score", 0.7, 0, 0, decided=False)
    verdict = results.verdict.model_copy(update={"checks": [empty]})
    lines = closing_block(replace(results, verdict=verdict), {}).plain.splitlines()
    assert next(each for each in lines if each.startswith("  not decided")).endswith("none measured  at least 0.7")
