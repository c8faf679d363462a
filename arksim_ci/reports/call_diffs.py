"""The tool calls that a scenario asserts against those that its conversations made, each difference once."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.reports.figures import count
from arksim_ci.reports.results import Results
from arksim_ci.schema.verdict import AssertionFailed


@dataclass(frozen=True)
class CallDiff:
    """A difference and the conversations of a scenario that show it. `diff` are the verdict's lines, as data."""

    scenario_id: str
    match_mode: str
    conversations: int
    diff: str

    @property
    def where(self) -> str:
        """In how many conversations."""
        return count(self.conversations, "conversation")


def call_diffs(results: Results) -> list[CallDiff]:
    """Every difference, in the order of the failures."""
    found: dict[tuple[str, str, str], int] = {}
    for failure in results.verdict.failures:
        if isinstance(failure, AssertionFailed) and failure.diff:
            key = (failure.scenario_id, failure.match_mode, "\n".join(failure.diff))
            found[key] = found.get(key, 0) + 1
    return [CallDiff(scenario, mode, times, diff) for (scenario, mode, diff), times in found.items()]
