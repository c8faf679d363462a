"""One judgement: ask the judge, or a custom metric, and take what is usable of the answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from arksim_ci.llm.client import LLM
from arksim_ci.llm.questions.goal import GoalFacts, ask_goal
from arksim_ci.llm.questions.transcript import clean
from arksim_ci.llm.questions.turn import Label, Score, TurnFacts, ask_turn
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.evaluation import QualResult, QuantResult
from arksim_ci.schema.judgement import Measured
from arksim_ci.schema.vocabulary import GOAL_COMPLETION


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a judgement measured, and for each metric that it did not, the cause."""

    measured: tuple[Measured, ...]
    causes: Mapping[str, str] = field(default_factory=dict)


class MetricHost(Protocol):
    """Whoever runs custom metrics: the worker process with the user's Python."""

    async def score(self, metric_name: str, score_input: dict[str, object], case: str = "") -> QuantResult | QualResult:
        """Run one metric on ArkSim's `ScoreInput`, given as plain data.

        `case` tells apart who asks the metric's own LLM questions: repetitions may ask the very same thing.

        Raises:
            UserCodeFailed: the metric raised, hung, exited or returned no result.
        """
        ...


async def judge_turn(llm: LLM, facts: TurnFacts) -> Outcome:
    """Score and label one turn on `facts.metrics`.

    Raises:
        LLMError: there is no usable answer.
    """
    answer = await llm.ask(ask_turn(facts))
    given: dict[str, Score | Label] = {**answer.value.scores, **answer.value.labels}
    return Outcome(
        measured=tuple(
            Measured(metric=metric, value=given[metric].value, reason=given[metric].reason)
            for metric in facts.metrics
            if metric in given
        ),
        causes={metric: _cause(metric, answer.problems) for metric in facts.metrics if metric not in given},
    )


async def judge_goal(llm: LLM, facts: GoalFacts) -> Outcome:
    """Score one conversation's goal completion, 0-1.

    Raises:
        LLMError: there is no usable answer.
    """
    score = (await llm.ask(ask_goal(facts))).value
    return Outcome((Measured(metric=GOAL_COMPLETION, value=score.value, reason=score.reason),))


async def run_custom(host: MetricHost, metric: CustomMetric, score_input: dict[str, object], case: str) -> Outcome:
    """Run one custom metric. A result of the wrong kind or outside the metric's range is not taken.

    `case` tells apart repetitions of the same turn or conversation, for the metric's own LLM questions.

    Raises:
        UserCodeFailed: the metric gave no result.
    """
    result = await host.score(metric.name, score_input, case)
    problem = _problem(metric, result)
    if problem:
        return Outcome((), {metric.name: problem})
    return Outcome(
        (
            Measured(
                metric=metric.name,
                value=clean(result.value) if isinstance(result.value, str) else result.value,
                reason=None if result.reason is None else clean(result.reason),
                metadata=_clean_metadata(result.metadata),
            ),
        )
    )


def _cause(metric: str, problems: Sequence[str]) -> str:
    """Those problems that name the metric; where none does, all of them."""
    named = [problem for problem in problems if problem.startswith(f"{metric}:")]
    return "; ".join(named or problems) or "the judge's answer lacks it"


def _problem(metric: CustomMetric, result: QuantResult | QualResult) -> str:
    """What is wrong with a custom metric's result; "" where nothing is."""
    wanted: type[QuantResult | QualResult] = QuantResult if metric.kind == "numeric" else QualResult
    if not isinstance(result, wanted):
        return f"the metric is {metric.kind} but returned a {type(result).__name__}: fix the metric"
    if isinstance(result.value, str):
        return ""
    if not math.isfinite(result.value):
        return f"the metric returned {result.value}, which is no number: fix the metric"
    if metric.scale and not metric.scale[0] <= result.value <= metric.scale[1]:
        return (
            f"the metric returned {result.value:g}, outside its score_range {metric.scale[0]:g} to {metric.scale[1]:g}: "
            "fix the metric, or widen its score_range"
        )
    return ""


def _clean_metadata(metadata: dict[str, Any] | None) -> dict[str, Any] | None:
    """The metadata as it can be written to a file: what is no JSON becomes text, NaN becomes null, lone surrogates U+FFFD."""
    if metadata is None:
        return None
    text = clean(json.dumps(metadata, default=str, ensure_ascii=False))
    loaded: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return loaded
