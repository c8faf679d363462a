"""The table: medians, with the range where there are several runs, and ours ÷ theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from bench.measure import Run

Figure = Callable[[Run], float]

HEADINGS = (
    "conversations",
    "tool",
    "wall s",
    "CPU s",
    "peak RSS MB",
    "judge calls",
    "simulated user calls",
    "analysis calls",
    "prompt tokens",
    "cached",
    "most in flight",
    "wall ÷ bound",
)


def table(runs: Sequence[Run]) -> str:
    """All runs as a Markdown table. A size's rows stand together; where both tools ran, their ratios follow."""
    lines = [HEADINGS, ("---",) * len(HEADINGS)]
    for size in sorted({run.conversations for run in runs}):
        of_size = [run for run in runs if run.conversations == size]
        tools = list(dict.fromkeys(run.tool for run in of_size))
        bound = lower_bound(of_size)
        for tool in tools:
            lines.append(_row([run for run in of_size if run.tool == tool], bound))
        if len(tools) == 2:
            lines.append(_ratios(*([run for run in of_size if run.tool == tool] for tool in tools)))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def lower_bound(runs: Iterable[Run]) -> float:
    """Seconds that no tool can do without: the longest chain of calls that wait for one another, or all LLM work over all
    workers, whichever is more. Taken from the run that needs least.
    """
    return min(max(run.chain, run.work) for run in runs)


def _row(runs: Sequence[Run], bound: float) -> tuple[str, ...]:
    return (
        str(runs[0].conversations),
        runs[0].tool,
        _figure(runs, lambda run: run.wall, "{:.1f}"),
        _figure(runs, lambda run: run.cpu, "{:.1f}"),
        _figure(runs, lambda run: run.rss_mb, "{:.0f}"),
        _figure(runs, lambda run: run.calls("judge"), "{:,.0f}"),
        _figure(runs, lambda run: run.calls("simulated_user"), "{:,.0f}"),
        _figure(runs, lambda run: run.calls("analysis"), "{:,.0f}"),
        _figure(runs, lambda run: run.tokens("prompt_tokens") / 1e6, "{:.2f} M"),
        _figure(runs, lambda run: run.tokens("cached_tokens") / run.tokens("prompt_tokens"), "{:.0%}"),
        _figure(runs, lambda run: run.stats["most_llm_in_flight"], "{:.0f}"),
        _figure(runs, lambda run: run.wall / bound, "{:.2f}") + f" ({bound:.1f} s)",
    )


def _ratios(theirs: Sequence[Run], ours: Sequence[Run]) -> tuple[str, ...]:
    def ratio(figure: Figure) -> str:
        return f"**{median(map(figure, ours)) / median(map(figure, theirs)):.3f}**"

    return (
        "",
        "ours ÷ theirs",
        ratio(lambda run: run.wall),
        ratio(lambda run: run.cpu),
        ratio(lambda run: run.rss_mb),
        ratio(lambda run: run.calls("judge")),
        ratio(lambda run: run.calls("simulated_user")),
        "",
        ratio(lambda run: run.tokens("prompt_tokens")),
        "",
        "",
        "",
    )


def _figure(runs: Sequence[Run], figure: Figure, form: str) -> str:
    values = sorted(map(figure, runs))
    middle, low, high = (form.format(value) for value in (median(values), values[0], values[-1]))
    return middle if low == high else f"{middle} ({low}-{high})"
