"""Which metrics run, and on which scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.expectation import ExpectedMetric
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    BUILTIN_METRICS,
    DEFAULT_METRICS,
    GOAL_COMPLETION,
    TOOL_CALL_BEHAVIOR_FAILURE,
    TURN_METRICS,
    TURN_SCALE,
)

GOAL_SCALE = (0.0, 1.0)

_BUILTIN = {
    **{name: ExpectedMetric(name=name, kind="numeric", scope="turn", scale=TURN_SCALE) for name in TURN_METRICS},
    GOAL_COMPLETION: ExpectedMetric(name=GOAL_COMPLETION, kind="numeric", scope="conversation", scale=GOAL_SCALE),
    AGENT_BEHAVIOR_FAILURE: ExpectedMetric(name=AGENT_BEHAVIOR_FAILURE, kind="qualitative", scope="turn"),
    TOOL_CALL_BEHAVIOR_FAILURE: ExpectedMetric(name=TOOL_CALL_BEHAVIOR_FAILURE, kind="qualitative", scope="tool_turn"),
}


def builtin_metrics(metrics_to_run: Iterable[str]) -> tuple[str, ...]:
    """The built-in metrics that run, in the vocabulary's order.

    None named means all. The seven documented defaults, written out or not, bring `tool_call_behavior_failure` along, which
    runs wherever a turn has tool calls; any other choice is taken at its word.
    """
    chosen = set(metrics_to_run)
    if not chosen or chosen == set(DEFAULT_METRICS):
        return BUILTIN_METRICS
    return tuple(name for name in BUILTIN_METRICS if name in chosen)


def expected_metrics(metrics_to_run: Iterable[str], custom: Sequence[CustomMetric]) -> tuple[ExpectedMetric, ...]:
    """Every metric that runs: the chosen built-in ones, then all custom ones in their order."""
    return (
        *(_BUILTIN[name] for name in builtin_metrics(metrics_to_run)),
        *(
            ExpectedMetric(name=metric.name, kind=metric.kind, scope=metric.scope, scale=metric.scale)
            for metric in custom
        ),
    )


def on_turn_scale(value: float, scale: tuple[float, float]) -> float:
    """A value of a metric with this scale (lowest, highest), brought to 1-5.

    `1 + 4 * (value - lowest) / (highest - lowest)`: the lowest becomes 1, the highest 5, and 1-5 stays as it is.

    Raises:
        ValueError: the scale has no width.
    """
    low, high = scale
    if not low < high:
        raise ValueError(f"the scale {low:g} to {high:g} has no width")
    lowest, highest = TURN_SCALE
    return lowest + (highest - lowest) * (value - low) / (high - low)
