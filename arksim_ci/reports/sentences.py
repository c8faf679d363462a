"""Every failure and every undecided check as a sentence that a reviewer can act on.

The sentences' words are ours; what comes from files goes through `Words`, which escapes it for the format at hand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, assert_never

from arksim_ci.reports.figures import count, number, percent
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import one_line
from arksim_ci.schema.verdict import (
    AgentNeverSpoke,
    AssertionFailed,
    Check,
    Failure,
    FailureLabelFound,
    IncompleteCoverage,
    MetricBelowMinPassRate,
    MetricNotEvaluated,
    RunNotCompleted,
    Verdict,
)

_PLACES_SHOWN = 3
_LABELS_APART = 5
_CAUSES_SHOWN = 2
_LONGEST_CAUSE = 300

_STOPPED = {
    "FAILED": "The run failed",
    "TIMED_OUT": "The run reached its time limit",
    "CANCELLED": "The run was cancelled",
    "BUDGET_REACHED": "The run reached its budget",
    "COMPLETED": "The run did not complete",
}
_RANK = (
    "RUN_NOT_COMPLETED",
    "AGENT_NEVER_SPOKE",
    "FAILURE_LABEL_FOUND",
    "METRIC_BELOW_MIN_PASS_RATE",
    "ASSERTION_FAILED",
    "METRIC_NOT_EVALUATED",
    "INCOMPLETE_COVERAGE",
)


_CHECK_AGENT = "Check that the agent is up and what its log says."
_AGENT_ADVICE = (
    ("HTTP 404 from", "Check the path of the agent's endpoint."),
    ("no known shape", "Answer in a shape that docs/agents.md lists."),
    ("execute() returned", "Correct what execute() returns: docs/agents.md shows it."),
)
"""What to do by what all causes of a silence say; else `_CHECK_AGENT`."""


class Words(NamedTuple):
    """How a format writes what comes from files: a name (metric, label, scenario), and free text."""

    name: Callable[[str], str]
    text: Callable[[str], str]


PLAIN = Words(name=lambda text: f"'{one_line(text, 120)}'", text=lambda text: one_line(text, _LONGEST_CAUSE))
"""Visible text without markup: terminal, JUnit, SARIF."""


def failure_sentences(results: Results, words: Words) -> list[str]:
    """The verdict's failures, what matters most first.

    Turns of one label are one sentence, more than five labels of one metric are one sentence together, and so are
    conversations of a scenario with the same tool calls.
    """
    verdict = results.verdict
    ranked = sorted(verdict.failures, key=lambda failure: _RANK.index(failure.type))
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure, key in zip(ranked, _keys(ranked), strict=True):
        groups.setdefault(key, []).append(failure)
    sentences = [_group_sentence(group, results, words) for group in groups.values()]
    return [*sentences, *_undecided(verdict, words)]


def _keys(failures: Sequence[Failure]) -> Iterator[tuple[str, ...]]:
    """What each failure is told together with: the failures of the same key."""
    found = (each for each in failures if isinstance(each, FailureLabelFound))
    labels = Counter(metric for metric, _ in {(each.metric, each.label) for each in found})
    for index, failure in enumerate(failures):
        match failure:
            case FailureLabelFound():
                apart = labels[failure.metric] <= _LABELS_APART
                yield ("label", failure.metric, failure.label if apart else "")
            case AssertionFailed():
                calls = json.dumps([failure.expected, failure.actual], sort_keys=True)
                yield ("assertion", failure.scenario_id, failure.match_mode, calls)
            case MetricNotEvaluated() if failure.causes:
                yield ("gaps", *failure.causes)
            case _:
                yield ("one", str(index))


def _group_sentence(group: Sequence[Failure], results: Results, words: Words) -> str:
    found = [each for each in group if isinstance(each, FailureLabelFound)]
    if found:
        several = len({each.label for each in found}) > 1
        return (_many_labels_found if several else _labels_found)(found, results, words)
    gaps = [each for each in group if isinstance(each, MetricNotEvaluated)]
    if gaps:
        return _not_evaluated(gaps, results.verdict, words)
    sentence = failure_sentence(group[0], results, words)
    return f"{sentence.removesuffix('.')}, in {len(group):,} conversations." if len(group) > 1 else sentence


def failure_sentence(failure: Failure, results: Results, words: Words) -> str:  # noqa: PLR0911  (one per type)
    """One failure as one or two sentences: what happened, and what to do."""
    match failure:
        case RunNotCompleted():
            return _run_not_completed(failure, results.verdict, words)
        case IncompleteCoverage():
            return (
                f"Only {failure.evaluated:,} of {count(failure.expected, *_unit(failure.unit))} could be measured, fewer than the gate"
                " needs. What is missing never counts as passed: run again to fill the gaps."
            )
        case AgentNeverSpoke():
            return _agent_silent(failure, words, results)
        case MetricNotEvaluated():
            return _not_evaluated([failure], results.verdict, words)
        case MetricBelowMinPassRate():
            return _below(failure, results.verdict, words)
        case FailureLabelFound():
            return _labels_found([failure], results, words)
        case AssertionFailed():
            return (
                f"Scenario {words.name(failure.scenario_id)} asserts {_calls(failure.expected, words)}"
                f" ({words.text(failure.match_mode)} match); the agent made {_calls(failure.actual, words)}."
            )
    assert_never(failure)


def _not_evaluated(gaps: Sequence[MetricNotEvaluated], verdict: Verdict, words: Words) -> str:
    """Metrics that lack values for the same causes, and what to do. A cause that ended the whole run is not told again."""
    ended = {failure.cause for failure in verdict.failures if isinstance(failure, RunNotCompleted)}
    causes = gaps[0].causes
    why = ", for the reason above" if causes and ended.issuperset(causes) else _causes(causes, words)
    them = "it" if len(gaps) == 1 else "them"
    what_to_do = ": run again."
    if any("fix the metric" in each for each in causes):
        what_to_do = " until the metric is fixed."
    elif any(each.startswith("metric ") for each in causes):
        what_to_do = ": look into the metric and what it calls, then run again."
    return f"{_measured(gaps, words)}{why}. That is too few to decide {them}{what_to_do}"


def _measured(gaps: Sequence[MetricNotEvaluated], words: Words) -> str:
    counts = {(each.evaluated, each.expected) for each in gaps}
    if len(counts) == 1:
        names = _listed([words.name(each.metric) for each in gaps])
        evaluated, expected = counts.pop()
        verb = "was" if len(gaps) == 1 else "were each"
        return f"{names} {verb} measured for {evaluated:,} of {count(expected, 'value')}"
    shown = [f"{words.name(each.metric)} for {each.evaluated:,} of {count(each.expected, 'value')}" for each in gaps]
    return f"Measured were {_listed(shown)}"


def _undecided(verdict: Verdict, words: Words) -> list[str]:
    """The checks that are not decided and that no failure explains; those without any value are one sentence."""
    explained = {failure.metric for failure in verdict.failures if isinstance(failure, MetricNotEvaluated)}
    left = [each for each in verdict.checks if each.passed is None and each.name not in explained]
    sentences = [undecided_sentence(each, words) for each in left if each.evaluated_conversations]
    empty = [each for each in left if not each.evaluated_conversations]
    silence = next((each for each in verdict.failures if isinstance(each, AgentNeverSpoke)), None)
    if empty and silence:
        what = "stopped answering" if silence.stopped_answering else "never answered"
        sentences.append(f"Nothing could be measured because the agent {what}.")
    elif empty:
        names = _listed([words.name(each.name) for each in empty])
        are = "is not decided: it was" if len(empty) == 1 else "are not decided: they were"
        sentences.append(f"{names} {are} measured in no conversation. Run again.")
    return sentences


def undecided_sentence(check: Check, words: Words) -> str:
    """Why a check of which a part was measured is not decided."""
    return (
        f"{words.name(check.name)} is not decided: {check.passed_conversations:,} of {count(check.evaluated_conversations, 'measured conversation')}"
        " passed, and what is missing could turn the result either way. Run again."
    )


def _run_not_completed(failure: RunNotCompleted, verdict: Verdict, words: Words) -> str:
    coverage = verdict.coverage
    cause = f": {_ended(words.text(failure.cause))}" if failure.cause else "."
    return (
        f"{_STOPPED[failure.status]}{cause} {coverage.evaluated_conversations:,} of {coverage.expected_conversations:,}"
        " conversations had been measured by then."
    )


def _agent_silent(failure: AgentNeverSpoke, words: Words, results: Results) -> str:
    parts = []
    if failure.never_spoke:
        parts.append(f"never spoke in {failure.never_spoke:,}")
    if failure.stopped_answering:
        parts.append(f"stopped answering in {failure.stopped_answering:,}")
    allowed = f"{percent(failure.max_share)} of them may" if failure.max_share else "none may"
    silent = [silence.cause for each in results.simulation.conversations if (silence := each.silence())]
    what_to_do = next(
        (advice for found, advice in _AGENT_ADVICE if silent and all(found in each for each in silent)), _CHECK_AGENT
    )
    return (
        f"The agent {' and '.join(parts) or 'fell silent'} of {count(failure.test_cases, 'test case')} ({allowed})"
        f"{_causes(list(dict.fromkeys(silent)), words)}. {what_to_do}"
    )


def _below(failure: MetricBelowMinPassRate, verdict: Verdict, words: Words) -> str:
    check = next((each for each in verdict.checks if each.name == failure.metric), None)
    wanted = (
        "every conversation has to pass"
        if failure.min_pass_rate >= 1
        else f"{percent(failure.min_pass_rate)} have to pass"
    )
    if check is None or not check.evaluated_conversations:
        rate = f" ({percent(failure.pass_rate)} of conversations passed)" if failure.pass_rate is not None else ""
        return f"{words.name(failure.metric)} is below its pass rate{rate}; {wanted}."
    missed = check.evaluated_conversations - check.passed_conversations
    of = f"in {missed:,} of {count(check.evaluated_conversations, 'conversation')}"
    if check.kind != "numeric" or failure.threshold is None:
        return f"{words.name(failure.metric)} failed {of}; {wanted}."
    return f"{words.name(failure.metric)} is below {number(failure.threshold)} {of}; {wanted}."


def _labels_found(same: Sequence[FailureLabelFound], results: Results, words: Words) -> str:
    first = same[0]
    verb = "is" if len(same) == 1 else "are"
    return (
        f"{_labelled(same, results, words)} {verb} labelled {words.name(first.label)},"
        f" which {words.name(first.metric)} forbids."
    )


def _many_labels_found(same: Sequence[FailureLabelFound], results: Results, words: Words) -> str:
    counts = Counter(each.label for each in same).most_common()
    shown = ", ".join(f"{words.name(label)} ({number:,})" for label, number in counts[:_LABELS_APART])
    more = len(counts) - _LABELS_APART
    return (
        f"{_labelled(same, results, words)} are labelled as {words.name(same[0].metric)} forbids:"
        f" {shown}{f' and {more:,} more' if more > 0 else ''}."
    )


def _labelled(same: Sequence[FailureLabelFound], results: Results, words: Words) -> str:
    """How many turns and conversations these are, and where."""
    whole = sum(1 for each in same if each.turn_id is None)
    turns = len(same) - whole
    parts = [count(number, noun) for number, noun in ((turns, "turn"), (whole, "conversation")) if number]
    scenarios = sorted({results.scenario_of(each.conversation_id) for each in same} - {""})
    where = f" in {_names(scenarios, 'scenario', words)}" if scenarios else ""
    return f"{' and '.join(parts)}{where}"


def _listed(shown: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _names(names: Sequence[str], noun: str, words: Words) -> str:
    shown = ", ".join(words.name(each) for each in names[:_PLACES_SHOWN])
    more = len(names) - _PLACES_SHOWN
    return f"{noun if len(names) == 1 else noun + 's'} {shown}{f' and {more:,} more' if more > 0 else ''}"


def _causes(causes: Sequence[str], words: Words) -> str:
    if not causes:
        return ""
    more = len(causes) - _CAUSES_SHOWN
    shown = [words.text(each).rstrip(". ") for each in causes[:_CAUSES_SHOWN]]
    if more > 0:
        shown.append(f"and {count(more, 'more cause', 'more causes')}")
    return f": {'; '.join(shown)}"


def _calls(calls: Sequence[dict[str, object]], words: Words) -> str:
    if not calls:
        return "no tool call"
    shown = ", ".join(words.name(text) for text in _call_texts(calls[:_PLACES_SHOWN]))
    more = len(calls) - _PLACES_SHOWN
    return f"{shown}{f' and {more:,} more' if more > 0 else ''}"


def _call_texts(calls: Sequence[dict[str, object]]) -> Iterator[str]:
    for call in calls:
        arguments = call.get("arguments")
        pairs = arguments.items() if isinstance(arguments, dict) else ()
        yield f"{call.get('name', '?')}({', '.join(f'{key}={json.dumps(value, ensure_ascii=False)}' for key, value in pairs)})"


def _unit(unit: str) -> tuple[str, str]:
    return unit.removesuffix("s"), unit


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
