"""How much of what should have been measured was, and which gaps a reader should know of.

Test cases in which the agent fell silent are not counted here: the verdict counts them on their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from arksim_ci.gates.measurements import Measurements, Place, places, took_place
from arksim_ci.gates.rates import at_least
from arksim_ci.schema.expectation import ExpectedConversation, ExpectedMetric, NotMeasured
from arksim_ci.schema.verdict import Coverage, IncompleteCoverage


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over some conversations and metrics.

    `evaluated_conversations` were held to their end and have at least one measured value; `without_values` were held
    to their end and have no value to measure. `expected_turns` have a turn value to measure; `evaluated_turns` have at
    least one that was. Values are counted one a metric and turn, or one a metric and conversation.
    """

    conversations: int
    held: int
    evaluated_conversations: int
    without_values: int
    expected_turns: int
    evaluated_turns: int
    expected_values: int
    evaluated_values: int


def tally(
    conversations: Sequence[ExpectedConversation], metrics: Sequence[ExpectedMetric], measurements: Measurements
) -> Tally:
    """Count what these conversations should have measured of these metrics, and what they have."""
    held = evaluated_conversations = without_values = 0
    expected_turns = evaluated_turns = expected_values = evaluated_values = 0
    for conversation in conversations:
        by_place: dict[Place, list[bool]] = {}
        for metric in metrics:
            for place in places(conversation, metric):
                by_place.setdefault(place, []).append(measurements.is_measured(metric, place))
        turns = [found for place, found in by_place.items() if place.turn_id is not None]
        values = [measured for found in by_place.values() for measured in found]
        expected_turns += len(turns)
        evaluated_turns += sum(any(found) for found in turns)
        expected_values += len(values)
        evaluated_values += sum(values)
        if took_place(conversation):
            held += 1
            evaluated_conversations += any(values)
            without_values += not values
    return Tally(
        len(conversations),
        held,
        evaluated_conversations,
        without_values,
        expected_turns,
        evaluated_turns,
        expected_values,
        evaluated_values,
    )


def coverage_of(counted: Tally) -> Coverage:
    """The figures of verdict.json, over all metrics that run."""
    return Coverage(
        expected_conversations=counted.conversations,
        simulated_conversations=counted.held,
        evaluated_conversations=counted.evaluated_conversations,
        expected_turns=counted.expected_turns,
        evaluated_turns=counted.evaluated_turns,
        expected_metric_values=counted.expected_values,
        evaluated_metric_values=counted.evaluated_values,
    )


def shortfall(counted: Tally, min_coverage: float, *, gated: bool) -> list[IncompleteCoverage]:
    """The coarsest unit of which too little was measured, if any.

    Args:
        counted: over what the gates read, or over all metrics where there is no gate.
        min_coverage: the share that must have been measured.
        gated: whether checks exist. They report the metric values that they miss themselves.
    """
    evaluated = counted.evaluated_conversations + counted.without_values
    if not at_least(evaluated, min_coverage * counted.conversations):
        return [IncompleteCoverage(unit="conversations", evaluated=evaluated, expected=counted.conversations)]
    if not at_least(counted.evaluated_turns, min_coverage * counted.expected_turns):
        return [IncompleteCoverage(unit="turns", evaluated=counted.evaluated_turns, expected=counted.expected_turns)]
    if not gated and not at_least(counted.evaluated_values, min_coverage * counted.expected_values):
        evaluated, expected = counted.evaluated_values, counted.expected_values
        return [IncompleteCoverage(unit="metric values", evaluated=evaluated, expected=expected)]
    return []


def causes_of(gaps: Iterable[NotMeasured], most: int = 5) -> list[str]:
    """The causes of gaps, each once, the most frequent first."""
    return [cause for cause, _ in Counter(gap.cause for gap in gaps).most_common(most)]


def broken_off(conversations: Sequence[ExpectedConversation]) -> list[str]:
    """A sentence about the conversations that did not come to their end, if any."""
    broken = [conversation for conversation in conversations if not took_place(conversation)]
    if not broken:
        return []
    causes = Counter(conversation.not_finished or "no turn to judge" for conversation in broken)
    listed = "; ".join(cause for cause, _ in causes.most_common(5))
    return [f"{len(broken)} of {len(conversations)} conversations did not come to their end: {listed}."]


def gap_warnings(
    conversations: Sequence[ExpectedConversation],
    metrics: Sequence[ExpectedMetric],
    measurements: Measurements,
    reported: Collection[str],
) -> list[str]:
    """A sentence for each metric that has gaps and is not among those `reported` as failures already."""
    sentences = broken_off(conversations)
    for metric in metrics:
        if metric.name in reported:
            continue
        gaps = [gap for item in conversations for gap in measurements.gaps(item, [metric])]
        if gaps:
            expected = sum(len(places(item, metric)) for item in conversations)
            what = "conversations" if metric.scope == "conversation" else "turns"
            listed = "; ".join(causes_of(gaps))
            sentences.append(f"{metric.name} was not measured in {len(gaps)} of {expected} {what}: {listed}.")
    return sentences
