"""What an evaluation really measured, held against what it should have measured.

The one place that decides whether a value in the file is a value. It is not when it is absent, -1, not finite, outside
the metric's scale, `evaluation_run_failed`, empty, or no label of a built-in metric. Where something is given twice,
the worst counts: the lowest score, every label, and nothing at all if one of them is no value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from arksim_ci.schema.evaluation import ConversationEvaluation, Evaluation, QualResult, QuantResult, TurnEvaluation
from arksim_ci.schema.expectation import Expectation, ExpectedConversation, ExpectedMetric, NotMeasured
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    ALL_FAILURE_LABELS,
    EVALUATION_RUN_FAILED,
    GOAL_COMPLETION,
    NOT_MEASURED,
    OVERALL_SCORE,
    TOOL_CALL_BEHAVIOR_FAILURE,
    TURN_METRICS,
    TURN_SCALE,
    normalize_label,
)

SHARE: Final = (0.0, 1.0)
_BUILTIN_SCALES: Final = {**dict.fromkeys(TURN_METRICS, TURN_SCALE), GOAL_COMPLETION: SHARE, OVERALL_SCORE: SHARE}
_BUILTIN_LABEL_METRICS: Final = (AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE)
_KNOWN_LABELS: Final = frozenset(ALL_FAILURE_LABELS)
_NO_ENTRY: Final = "it is missing from the evaluation"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value belongs; `turn_id` is None for a whole conversation."""

    conversation_id: str
    turn_id: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """A number or a label that the evaluation holds, as it was written."""

    place: Place
    metric: str
    value: float | str


def scale_of(metric: str, declared: tuple[float, float] | None = None) -> tuple[float, float] | None:
    """A metric's (lowest, highest) score: the declared one, else the built-in one, else None."""
    return declared or _BUILTIN_SCALES.get(metric)


def is_score(value: float, scale: tuple[float, float] | None) -> bool:
    """Whether a number is a score. -1 never is: it stands for what was not measured, on every scale."""
    if not math.isfinite(value) or value == NOT_MEASURED:
        return False
    return scale is None or scale[0] <= value <= scale[1]


def is_label(metric: str, label: str, forbidden: Collection[str] = ()) -> bool:
    """Whether a text is a label: of a built-in metric one that it knows or that the gate names (`forbidden`,
    normalized), of a custom metric any text.
    """
    text = normalize_label(label)
    if text in ("", EVALUATION_RUN_FAILED):
        return False
    return metric not in _BUILTIN_LABEL_METRICS or text in _KNOWN_LABELS or text in forbidden


def results_of(conversation: ConversationEvaluation) -> Iterator[Result]:
    """Every result of a conversation, measured or not, under the name that gates use for it."""
    whole = Place(conversation.conversation_id, None)
    yield Result(whole, GOAL_COMPLETION, conversation.goal_completion_score)
    yield Result(whole, OVERALL_SCORE, conversation.overall_agent_score)
    yield from _named(whole, [*conversation.convo_scores, *conversation.convo_qual_scores])
    for turn in conversation.turn_scores:
        yield from _results_of_turn(conversation.conversation_id, turn)


def _results_of_turn(conversation_id: str, turn: TurnEvaluation) -> Iterator[Result]:
    place = Place(conversation_id, turn.turn_id)
    yield Result(place, AGENT_BEHAVIOR_FAILURE, turn.turn_behavior_failure)
    yield from _named(place, [*turn.scores, *turn.qual_scores])


def _named(place: Place, results: Iterable[QuantResult | QualResult]) -> Iterator[Result]:
    for result in results:
        yield Result(place, result.name, result.value)


def took_place(conversation: ExpectedConversation) -> bool:
    """Whether a conversation was held to its end and has a turn to judge."""
    return conversation.not_finished is None and bool(conversation.turns)


def places(conversation: ExpectedConversation, metric: ExpectedMetric) -> list[Place]:
    """Where a metric should have been measured in a conversation, as far as the conversation came."""
    if metric.scope == "conversation":
        return [Place(conversation.conversation_id, None)]
    return [
        Place(conversation.conversation_id, turn.turn_id)
        for turn in conversation.turns
        if metric.scope == "turn" or turn.tool_calls
    ]


class Measurements:
    """Look-up of an evaluation's values by metric and place."""

    def __init__(self, evaluation: Evaluation, expectation: Expectation) -> None:
        self._numbers: dict[tuple[str, Place], list[float]] = {}
        self._labels: dict[tuple[str, Place], list[str]] = {}
        for conversation in evaluation.conversations:
            for result in results_of(conversation):
                key = (result.metric, result.place)
                if isinstance(result.value, str):
                    self._labels.setdefault(key, []).append(result.value)
                else:
                    self._numbers.setdefault(key, []).append(result.value)
        self._causes = {
            (gap.metric, Place(gap.conversation_id, gap.turn_id)): gap.cause for gap in expectation.not_measured
        }
        self._unfinished = {item.conversation_id: item.not_finished for item in expectation.conversations}

    def number(self, metric: ExpectedMetric, place: Place) -> float | None:
        """A score, or None where it was not measured."""
        found = self._numbers.get((metric.name, place), [])
        scale = scale_of(metric.name, metric.scale)
        return min(found) if found and all(is_score(value, scale) for value in found) else None

    def labels(self, metric: str, place: Place, forbidden: Collection[str] = ()) -> list[str]:
        """The labels at a place, as they were written; those that are none are left out."""
        return [label for label in self._labels.get((metric, place), []) if is_label(metric, label, forbidden)]

    def is_measured(self, metric: ExpectedMetric, place: Place, forbidden: Collection[str] = ()) -> bool:
        """Whether a metric was measured at a place."""
        if metric.kind == "numeric":
            return self.number(metric, place) is not None
        found = self._labels.get((metric.name, place), [])
        return bool(found) and len(self.labels(metric.name, place, forbidden)) == len(found)

    def gap(self, metric: ExpectedMetric, place: Place) -> NotMeasured:
        """Why a value was not measured: the cause that the evaluator gave, else what the file shows."""
        key = (metric.name, place)
        cause = self._causes.get(key) or self._unfinished.get(place.conversation_id)
        return not_measured(place, metric.name, cause or self._what_the_file_shows(metric, place))

    def gaps(
        self, conversation: ExpectedConversation, metrics: Iterable[ExpectedMetric], forbidden: Collection[str] = ()
    ) -> list[NotMeasured]:
        """Every value of a conversation that these metrics should have and have not."""
        return [
            self.gap(metric, place)
            for metric in metrics
            for place in places(conversation, metric)
            if not self.is_measured(metric, place, forbidden)
        ]

    def _what_the_file_shows(self, metric: ExpectedMetric, place: Place) -> str:
        key, scale = (metric.name, place), scale_of(metric.name, metric.scale)
        numbers = {f"{value:g}" for value in self._numbers.get(key, []) if not is_score(value, scale)}
        labels = {repr(text[:80]) for text in self._labels.get(key, []) if not is_label(metric.name, text)}
        strange = sorted((numbers - {"-1"}) | (labels - {"''", repr(EVALUATION_RUN_FAILED)}))
        return f"{strange[0]} is no value of this metric" if strange else _NO_ENTRY


def not_measured(place: Place, metric: str, cause: str) -> NotMeasured:
    """A gap, as the expectation writes it."""
    return NotMeasured(conversation_id=place.conversation_id, turn_id=place.turn_id, metric=metric, cause=cause)


def spoiled_entries(evaluation: Evaluation, expectation: Expectation) -> list[str]:
    """A sentence for each kind of entry that should not be there: unknown conversations and turns, and duplicates."""
    turns = {item.conversation_id: {turn.turn_id for turn in item.turns} for item in expectation.conversations}
    seen = Counter(item.conversation_id for item in evaluation.conversations)
    unknown = [name for name in seen if name not in turns]
    twice = [name for name, count in seen.items() if count > 1]
    strange_turns: list[str] = []
    twice_turns: list[str] = []
    for item in evaluation.conversations:
        counted = Counter(turn.turn_id for turn in item.turn_scores)
        if item.conversation_id in turns:
            strange_turns += [
                f"{item.conversation_id}/{turn}" for turn in counted if turn not in turns[item.conversation_id]
            ]
        twice_turns += [f"{item.conversation_id}/{turn}" for turn, count in counted.items() if count > 1]
    sentences = []
    for what, found in (
        ("conversations that the run did not hold; they are ignored", unknown),
        ("turns that the run did not hold; they are ignored", strange_turns),
        ("conversations twice; the worst values count", twice),
        ("turns twice; the worst values count", twice_turns),
    ):
        if found:
            sentences.append(f"The evaluation has {what}: {_some(found)}.")
    return sentences


def _some(names: list[str], most: int = 5) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
