"""Figures as people read them: counts, shares, durations, cost. Nothing is rounded across a limit that decides."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import fmean

from arksim_ci.reports.results import Results
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.verdict import Check, RoleUsage, Usage
from arksim_ci.schema.vocabulary import GOAL_COMPLETION, NOT_MEASURED, OVERALL_SCORE


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 turn`, `2 turns`, `1,204 turns`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def number(value: float) -> str:
    """A score or threshold in at most two decimals: `3.5`, `4`, `0.67`."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def number_below(value: float, limit: float) -> str:
    """A value that is below a limit, in as many decimals as it takes to see that."""
    if value >= limit:
        return number(value)
    return (
        next((shown for digits in range(2, 9) if float(shown := f"{value:.{digits}f}") < limit), repr(value))
        .rstrip("0")
        .rstrip(".")
    )


def percent(share: float, limit: float | None = None) -> str:
    """A share (0-1) in per cent with one decimal: `66.7%`. 100% is said of everything only, and 0% of nothing only.

    A share below a `limit` (0-1) gets as many decimals as it takes to see that.
    """
    shown = min(max(round(share * 100, 1), 0.1), 99.9) if 0 < share < 1 else share * 100
    if limit is not None and share < limit:
        return f"{number_below(share * 100, limit * 100) if shown >= limit * 100 else number(shown)}%"
    return f"{number(shown)}%"


def passed_of(check: Check) -> str:
    """How many of the measured conversations passed: `4 of 6 (66.7%)`."""
    if check.pass_rate is None:
        return "none measured"
    rate = percent(check.pass_rate, check.min_pass_rate)
    return f"{check.passed_conversations:,} of {check.evaluated_conversations:,} ({rate})"


def duration(seconds: float) -> str:
    """`0.8 s`, `42 s`, `2 min 14 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{number(round(seconds, 1))} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def roles(usage: Usage) -> dict[str, RoleUsage]:
    """The roles by the name that a reader knows."""
    return {"simulated user": usage.simulated_user, "judge": usage.judge, "analysis": usage.analysis}


def cost(usage: Usage) -> str:
    """What the run cost, where prices are known: `$0.42`, `at least $0.42`, `cost not known`."""
    used = [role for role in roles(usage).values() if role.calls]
    known = [role.cost_usd for role in used if role.cost_usd is not None]
    if not used:
        return "no LLM calls"
    if not known:
        return "cost not known"
    total = sum(known)
    shown = "$0" if total == 0 else "under $0.01" if total < 0.01 else f"${total:,.2f}"
    return shown if len(known) == len(used) else f"at least {shown}"


def date(timestamp: str) -> str:
    """An ISO 8601 time as `2026-08-03 14:05 UTC`; as it stands where it is something else."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if moment.tzinfo else timestamp


def values_of(conversation: ConversationEvaluation, metric: str) -> float | None:
    """A conversation's value of a numeric metric, as thresholds read it: the mean over its turns for a turn metric.

    None where the metric was not measured.
    """
    if metric == OVERALL_SCORE:
        found: list[float] = [conversation.overall_agent_score]
    elif metric == GOAL_COMPLETION:
        found = [conversation.goal_completion_score]
    else:
        found = [score.value for score in conversation.convo_scores if score.name == metric] or [
            score.value for turn in conversation.turn_scores for score in turn.scores if score.name == metric
        ]
    if metric in (OVERALL_SCORE, GOAL_COMPLETION) and found == [NOT_MEASURED]:
        return None
    return fmean(found) if found else None


def metric_values(results: Results, metric: str) -> list[float]:
    """The conversations' values of a numeric metric, without those that were not measured."""
    found: Iterable[float | None] = (values_of(each, metric) for each in results.scored.values())
    return [value for value in found if value is not None]


def reached(results: Results, check: Check) -> str:
    """What a check's metric reached, in a few words."""
    if not check.evaluated_conversations:
        return "not measured"
    if check.kind == "numeric":
        values = metric_values(results, check.name)
        if not values:
            return "not measured"
        lowest = number(min(values)) if check.threshold is None else number_below(min(values), check.threshold)
        return lowest if min(values) == max(values) else f"mean {number(fmean(values))}, lowest {lowest}"
    if check.kind == "qualitative":
        return f"found {count(len(check.failing), 'time')}" if check.failing else "none found"
    return f"{count(len(check.failing), 'conversation')} against it" if check.failing else "as asserted"


def needed(check: Check) -> str:
    """What a check asks of every conversation, in a few words, without the labels of a qualitative check."""
    if check.kind == "numeric":
        return f"at least {number(check.threshold)}" if check.threshold is not None else "a threshold"
    return "none of" if check.kind == "qualitative" else "the tool calls that the scenarios assert"
