"""Where a check failed that no unique error explains: assertions, custom metrics, or any check of a run without errors."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.reports.results import Results
from arksim_ci.schema.verdict import Check, Failing
from arksim_ci.schema.vocabulary import BUILTIN_METRICS, OVERALL_SCORE


@dataclass(frozen=True)
class FailedCheck:
    """One failed check with the places where it failed, one a conversation or turn."""

    check: Check
    places: tuple[Failing, ...]

    @property
    def conversations(self) -> tuple[str, ...]:
        """The ids of the conversations, each once."""
        return tuple(dict.fromkeys(each.conversation_id for each in self.places))


def failed_places(results: Results) -> list[FailedCheck]:
    """The failed checks that "What to fix" does not lead to, in the order of the checks."""
    return [
        FailedCheck(check, tuple(check.failing))
        for check in results.verdict.checks
        if check.passed is False and check.failing and (_is_the_projects_own(check) or not results.errors)
    ]


def _is_the_projects_own(check: Check) -> bool:
    return check.kind == "assertion" or check.name not in (*BUILTIN_METRICS, OVERALL_SCORE)
