"""Score distributions and the heat map, as the page draws them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from arksim_ci.reports.charts import distributions, heat_map
from arksim_ci.reports.html import render_html_report
from arksim_ci.reports.results import Results
from tests.support import samples

HELD = samples.C("order-1", "order", (samples.T("Where is my order?", "On its way."),), custom={"warmth": 3.0})


def one_conversation(scale: tuple[float, float] | None) -> Results:
    """One conversation with a custom metric whose scale is as given, or not known."""
    results = Results(samples.verdict([HELD]), samples.simulation([HELD]), samples.evaluation([HELD], {}))
    scales = {"warmth": scale} if scale else {}
    return replace(results, verdict=results.verdict.model_copy(update={"metric_scales": scales}))


@pytest.mark.parametrize(
    ("scale", "edges", "counts"),
    [
        ((0.0, 5.0), ("0", "1", "2", "3", "4", "5"), [0, 0, 0, 1, 0]),
        ((0.0, 10.0), ("0", "2", "4", "6", "8", "10"), [0, 1, 0, 0, 0]),
        (None, (), [1]),
    ],
)
def test_a_custom_metric_is_drawn_over_its_whole_scale(
    scale: tuple[float, float] | None, edges: tuple[str, ...], counts: list[int]
) -> None:
    chart = next(each for each in distributions(one_conversation(scale)) if each.name == "warmth")
    assert chart.edges == edges
    assert [bar.count for bar in chart.bars] == counts


@pytest.mark.parametrize("scale", [(0.0, 5.0), None])
def test_every_chart_has_the_same_size(scale: tuple[float, float] | None) -> None:
    page = render_html_report(one_conversation(scale))
    boxes = re.findall(r'<svg viewBox="([^"]*)" role="img"', page)
    assert len(boxes) > 3
    assert set(boxes) == {"0 0 210 100"}


def test_the_heat_map_has_custom_metrics_coloured_where_their_scale_is_known() -> None:
    known, unknown = heat_map(one_conversation((0.0, 5.0))), heat_map(one_conversation(None))
    assert known.metrics[-1] == unknown.metrics[-1] == "warmth"
    assert (known.rows[0].cells[-1].text, known.rows[0].cells[-1].step) == ("3", 4)
    assert (unknown.rows[0].cells[-1].text, unknown.rows[0].cells[-1].step) == ("3", 0)
