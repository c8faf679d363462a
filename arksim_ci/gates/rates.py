"""How a check is decided from what became of its conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from arksim_ci.schema.expectation import ExpectedMetric, Gates, NotMeasured
from arksim_ci.schema.verdict import Check, CheckKind, Failing

ASSERTIONS: Final = "assertions"
"""The name of the check that holds all assertions of the scenarios; `min_pass_rate` may map it."""

_ROUNDING: Final = 1e-9
"""Sums of decimal fractions miss their exact value by far less than this, and no score is meant this finely."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one conversation in one check.

    `failing` says where it failed, `gaps` what was not measured. A conversation fails where it does so whatever the
    gaps hold, and passes only without gaps.
    """

    state: Literal["passed", "failed", "not measured"]
    failing: tuple[Failing, ...] = ()
    gaps: tuple[NotMeasured, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check as the verdict shows it, and what it rests on.

    `read` are the metrics whose values it reads, `expected_conversations` how many it should have measured, `gaps` what
    it misses. `covered` says whether the measured share reaches `min_coverage`.
    """

    check: Check
    read: tuple[ExpectedMetric, ...]
    expected_conversations: int
    covered: bool
    gaps: tuple[NotMeasured, ...]


def at_least(value: float, minimum: float) -> bool:
    """Whether a value reaches a minimum, but for the rounding of floating-point numbers. False for NaN."""
    return value >= minimum - _ROUNDING


def decide_check(
    name: str,
    kind: CheckKind,
    outcomes: Sequence[Outcome],
    gates: Gates,
    *,
    read: Sequence[ExpectedMetric] = (),
    threshold: float | None = None,
    labels: Sequence[str] | None = None,
    applies_nowhere: bool = False,
) -> CheckResult:
    """Decide a check (contract, section 1).

    The pass rate is passed ÷ measured conversations. Where the measured share is below `min_coverage`, the check fails
    only if it would fail even had all conversations that were not measured passed; else it is not decided. It is not
    decided either where nothing was measured.

    Args:
        name: the metric's name, or `assertions`.
        kind: what is checked.
        outcomes: one for each conversation that the check applies to.
        gates: the tolerances.
        read: the metrics whose values the check reads.
        threshold: the minimum, for a numeric check.
        labels: the forbidden labels, for a qualitative check.
        applies_nowhere: whether conversations were held and none has anything for the check to read, as tool calls in
            a run without any. Such a check passes, with no pass rate.
    """
    passed = sum(outcome.state == "passed" for outcome in outcomes)
    measured = passed + sum(outcome.state == "failed" for outcome in outcomes)
    expected = len(outcomes)
    minimum, inherited = _min_pass_rate(name, kind, gates)
    covered = at_least(measured, gates.min_coverage * expected)

    decision: bool | None = True if applies_nowhere else None
    if measured and covered:
        decision = at_least(passed / measured, minimum)
    elif measured and not at_least((passed + expected - measured) / expected, minimum):
        decision = False
    check = Check(
        name=name,
        kind=kind,
        threshold=threshold,
        labels=None if labels is None else list(labels),
        pass_rate=passed / measured if measured else None,
        min_pass_rate=minimum,
        inherited=inherited,
        passed_conversations=passed,
        evaluated_conversations=measured,
        passed=decision,
        failing=[place for outcome in outcomes for place in outcome.failing],
    )
    gaps = tuple(gap for outcome in outcomes for gap in outcome.gaps)
    return CheckResult(check, tuple(read), expected, covered, gaps)


def _min_pass_rate(name: str, kind: CheckKind, gates: Gates) -> tuple[float, bool]:
    """The minimum and whether it is inherited. Labels and assertions tolerate nothing unless they are mapped."""
    rates = gates.min_pass_rate
    if isinstance(rates, dict):
        return (rates[name], False) if name in rates else (1.0, True)
    return (rates if kind == "numeric" else 1.0), True
