"""Which metrics run, and on which scale."""

from __future__ import annotations

import pytest

from arksim_ci.evaluation.metrics import builtin_metrics, expected_metrics, on_turn_scale
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.vocabulary import BUILTIN_METRICS, DEFAULT_METRICS


@pytest.mark.parametrize("chosen", [(), DEFAULT_METRICS, DEFAULT_METRICS[::-1], BUILTIN_METRICS])
def test_the_defaults_bring_the_label_of_tool_calls_along(chosen: tuple[str, ...]) -> None:
    assert builtin_metrics(chosen) == BUILTIN_METRICS


@pytest.mark.parametrize("chosen", [("agent_behavior_failure",), ("coherence", "goal_completion"), DEFAULT_METRICS[1:]])
def test_any_other_choice_is_taken_at_its_word(chosen: tuple[str, ...]) -> None:
    assert builtin_metrics(chosen[::-1]) == chosen


def test_custom_metrics_always_run() -> None:
    clarity = CustomMetric(name="clarity", kind="numeric", scope="turn", scale=(0, 5))
    needs = CustomMetric(name="needs", kind="qualitative", scope="conversation")

    found = {metric.name: metric for metric in expected_metrics(["goal_completion"], [clarity, needs])}

    assert list(found) == ["goal_completion", "clarity", "needs"]
    assert found["goal_completion"].scale == (0, 1)
    assert found["clarity"].scale == (0, 5)
    assert found["needs"].scope == "conversation"


def test_the_label_of_tool_calls_is_expected_of_turns_with_tool_calls_only() -> None:
    scopes = {metric.name: metric.scope for metric in expected_metrics((), ())}

    assert scopes["tool_call_behavior_failure"] == "tool_turn"
    assert scopes["agent_behavior_failure"] == scopes["verbosity"] == "turn"


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (3.5, (1, 5), 3.5),
        (0, (0, 5), 1),
        (5, (0, 5), 5),
        (2.5, (0, 5), 3),
        (0.5, (0, 1), 3),
        (-10, (-10, 10), 1),
        (100, (0, 100), 5),
    ],
)
def test_values_are_brought_to_the_scale_of_turns(value: float, scale: tuple[float, float], expected: float) -> None:
    assert on_turn_scale(value, scale) == pytest.approx(expected)


def test_a_scale_without_width_is_refused() -> None:
    with pytest.raises(ValueError, match="no width"):
        on_turn_scale(3, (3, 3))
