"""Score distributions and the heat map of scenarios as figures for the page's inline SVG. Pure geometry, no text of
others but names, which the template escapes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from arksim_ci.reports.figures import number, values_of
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import one_line
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.vocabulary import GOAL_COMPLETION, NOT_MEASURED, OVERALL_SCORE, TURN_METRICS, TURN_SCALE

_BAR_HEIGHT = 64
_STEPS = 5
_MOST_SCENARIOS = 60
_BUILT_IN: dict[str, tuple[float, float]] = {
    OVERALL_SCORE: (0.0, 1.0),
    GOAL_COMPLETION: (0.0, 1.0),
    **dict.fromkeys(TURN_METRICS, TURN_SCALE),
}
_NAMES = {OVERALL_SCORE: "overall", GOAL_COMPLETION: "goal completion"}


@dataclass(frozen=True)
class Bar:
    """One bar: `step` is 1 (lowest scores) to 5."""

    label: str
    count: int
    height: float
    step: int


@dataclass(frozen=True)
class Distribution:
    """How one metric's values spread: over turns, or over conversations."""

    name: str
    mean: str
    unit: str
    bars: tuple[Bar, ...]
    edges: tuple[str, ...] = ()
    """The limits between the bars, one more than bars; empty where each bar is one score."""

    @property
    def described(self) -> str:
        """The chart in words, for readers who do not see it."""
        spread = ", ".join(f"{bar.count} at {bar.label}" for bar in self.bars)
        return f"{self.name}: mean {self.mean}; {spread}"


@dataclass(frozen=True)
class Cell:
    """One mean. `step` is 0 where nothing was measured, or the scale is not known."""

    text: str
    step: int


@dataclass(frozen=True)
class Row:
    """One scenario of the heat map."""

    scenario: str
    conversations: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class HeatMap:
    """Scenarios by metrics, worst scenario first."""

    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int


def distributions(results: Results) -> list[Distribution]:
    """One chart a numeric metric that was measured at all: built-in turn metrics, then 0-1 scores, then custom ones."""
    scored = list(results.scored.values())
    turn_values = _turn_values(scored)
    charts = [_on_steps(name, turn_values.pop(name)) for name in TURN_METRICS if name in turn_values]
    for name in (GOAL_COMPLETION, OVERALL_SCORE):
        found = [value for each in scored if (value := values_of(each, name)) is not None]
        if found:
            charts.append(_binned(_NAMES[name], found, (0.0, 1.0), "conversations"))
    scales = results.verdict.metric_scales
    charts += [_binned(name, found, scales.get(name), "turns") for name, found in turn_values.items()]
    for name in dict.fromkeys(score.name for each in scored for score in each.convo_scores):
        found = [score.value for each in scored for score in each.convo_scores if score.name == name]
        charts.append(_binned(name, found, scales.get(name), "conversations"))
    return charts


def heat_map(results: Results) -> HeatMap:
    """The mean of every numeric metric in every scenario: built-in ones first, then custom ones by name."""
    scales = _BUILT_IN | results.verdict.metric_scales
    by_scenario: dict[str, list[ConversationEvaluation]] = {}
    for conversation_id, scored in results.scored.items():
        by_scenario.setdefault(results.scenario_of(conversation_id), []).append(scored)
    metrics = [
        name
        for name in (*_BUILT_IN, *_custom_names(results))
        if any(values_of(each, name) is not None for each in results.scored.values())
    ]
    rows = [
        (
            _worst_first(scored),
            Row(one_line(scenario, 200), len(scored), tuple(_cell(scored, name, scales.get(name)) for name in metrics)),
        )
        for scenario, scored in by_scenario.items()
    ]
    rows.sort(key=lambda pair: pair[0])
    shown = tuple(row for _, row in rows[:_MOST_SCENARIOS])
    return HeatMap(tuple(_NAMES.get(name) or one_line(name, 80) for name in metrics), shown, len(rows) - len(shown))


def step_of(value: float, lowest: float, highest: float) -> int:
    """Which fifth of its scale a value lies in: 1 (lowest) to 5."""
    if highest <= lowest:
        return _STEPS
    return min(max(int((value - lowest) / (highest - lowest) * _STEPS) + 1, 1), _STEPS)


def _turn_values(scored: Sequence[ConversationEvaluation]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for conversation in scored:
        for turn in conversation.turn_scores:
            for score in turn.scores:
                found.setdefault(score.name, []).append(score.value)
    return found


def _on_steps(name: str, values: Sequence[float]) -> Distribution:
    """A chart of a 1-5 metric: one bar a whole score, scores between them at the nearer one."""
    counts = [0] * _STEPS
    for value in values:
        counts[min(max(round(value), 1), _STEPS) - 1] += 1
    return _chart(name, values, "turns", [str(step) for step in range(1, _STEPS + 1)], counts)


def _binned(name: str, values: Sequence[float], scale: tuple[float, float] | None, unit: str) -> Distribution:
    lowest, highest = scale or (min(values), max(values))
    counts = [0] * _STEPS
    for value in values:
        counts[step_of(value, lowest, highest) - 1] += 1
    width = (highest - lowest) / _STEPS
    edges = [number(lowest + width * step) for step in range(_STEPS + 1)]
    labels = [f"{low}–{high}" for low, high in itertools.pairwise(edges)]
    if highest <= lowest:
        edges, labels, counts = [], [number(highest)], [len(values)]
    return _chart(name, values, unit, labels, counts, edges)


def _chart(
    name: str,
    values: Sequence[float],
    unit: str,
    labels: Sequence[str],
    counts: Sequence[int],
    edges: Sequence[str] = (),
) -> Distribution:
    most = max(counts)
    bars = (
        Bar(label, count, round(count / most * _BAR_HEIGHT, 1), step)
        for step, (label, count) in enumerate(zip(labels, counts, strict=True), start=1)
    )
    return Distribution(one_line(name, 80), number(fmean(values)), unit, tuple(bars), tuple(edges))


def _custom_names(results: Results) -> list[str]:
    scored = results.scored.values()
    names = {score.name for each in scored for score in each.convo_scores}
    names |= {score.name for each in scored for turn in each.turn_scores for score in turn.scores}
    return sorted(names - _BUILT_IN.keys())


def _cell(scored: Sequence[ConversationEvaluation], metric: str, scale: tuple[float, float] | None) -> Cell:
    values = [value for each in scored if (value := values_of(each, metric)) is not None]
    if not values:
        return Cell("–", 0)
    mean = fmean(values)
    return Cell(number(mean), step_of(mean, *scale) if scale else 0)


def _worst_first(scored: Sequence[ConversationEvaluation]) -> float:
    values = [each.overall_agent_score for each in scored if each.overall_agent_score != NOT_MEASURED]
    return fmean(values) if values else NOT_MEASURED
