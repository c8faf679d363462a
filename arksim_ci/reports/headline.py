"""The verdict at a glance: title, tone and one line of figures. The same words in every report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arksim_ci.reports.figures import cost, count, duration
from arksim_ci.reports.results import Results
from arksim_ci.schema.verdict import Verdict

Tone = Literal["passed", "failed", "undecided", "neutral"]
OFFLINE = "offline"
OFFLINE_NOTE = (
    "The scores come from the offline provider: fixed rules about word overlap, figures and repetition, not the"
    " judgement of an LLM. Good for trying the gate out, not for deciding about an agent."
)

_MARKS: dict[Tone, str] = {"passed": "✅", "failed": "❌", "undecided": "⚠️", "neutral": "ℹ️"}
_ENDED = {
    "FAILED": "the run failed",
    "TIMED_OUT": "time limit reached",
    "CANCELLED": "the run was cancelled",
    "BUDGET_REACHED": "budget reached",
}


@dataclass(frozen=True)
class Headline:
    """`title` and `lead` are our words only; `lead` is a sentence about checks and unique errors."""

    tone: Tone
    title: str
    lead: str

    @property
    def mark(self) -> str:
        """The one status mark that a report carries."""
        return _MARKS[self.tone]


def headline(results: Results) -> Headline:
    """What the verdict is, in a few words."""
    verdict = results.verdict
    tone, title = _title(verdict)
    return Headline(tone, title, _lead(results))


def _title(verdict: Verdict) -> tuple[Tone, str]:
    ended = _ENDED.get(verdict.status)
    if verdict.exit_code == 1:
        if {failure.type for failure in verdict.failures} == {"AGENT_NEVER_SPOKE"}:
            return "failed", "Gate failed: the agent did not answer"
        return "failed", f"Gate failed ({ended})" if ended else "Gate failed"
    if verdict.exit_code == 3:
        return "undecided", f"Not decided: {ended}" if ended else "Not decided: too little could be measured"
    if verdict.run.command == "simulate":
        return "neutral", "Simulated, not judged"
    return ("passed", "Gate passed") if verdict.passed else ("neutral", "Measured, no gate configured")


def _lead(results: Results) -> str:
    verdict, parts = results.verdict, []
    failed = sum(check.passed is False for check in verdict.checks)
    undecided = sum(check.passed is None for check in verdict.checks)
    total = len(verdict.checks)
    if total and failed == undecided == 0:
        parts.append("the only check passed" if total == 1 else f"all {total:,} checks passed")
    if failed:
        parts.append("the only check failed" if total == 1 else f"{failed:,} of {total:,} checks failed")
    if undecided:
        parts.append(
            "the only check is not decided" if total == 1 else f"{undecided:,} of {total:,} checks not decided"
        )
    if results.evaluation is not None and verdict.coverage.evaluated_turns:
        found = len(results.evaluation.unique_errors)
        parts.append(count(found, "unique error") if found else "no unique errors")
    sentence = ", ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def story(results: Results) -> str:
    """What was done, for a reader who does not know the tool."""
    verdict = results.verdict
    held = f"Simulated users held {count(len(results.simulation.conversations), 'conversation')} with this agent."
    if results.evaluation is None:
        return f"{held} Nothing was judged yet."
    judge = "Fixed rules" if verdict.judge.provider == OFFLINE else "An LLM judge"
    checks = len(verdict.checks)
    decide = "decides" if checks == 1 else "decide"
    gate = f"{count(checks, 'check')} {decide} whether the gate passes" if checks else "no check is configured"
    return f"{held} {judge} scored every answer, and {gate}."


def figures_line(results: Results) -> list[str]:
    """Conversations, turns, duration and cost, each in a few words; all of it is ours."""
    verdict = results.verdict
    coverage = verdict.coverage
    if results.evaluation is None:
        conversations = _of(coverage.simulated_conversations, coverage.expected_conversations, "conversation", "held")
        return [conversations, duration(verdict.run.duration_seconds), cost_words(verdict)]
    return [
        _of(coverage.evaluated_conversations, coverage.expected_conversations, "conversation", "measured"),
        _of(coverage.evaluated_turns, coverage.expected_turns, "turn", "measured"),
        duration(verdict.run.duration_seconds),
        cost_words(verdict),
    ]


def cost_words(verdict: Verdict) -> str:
    """What the run cost; the offline provider costs nothing, whatever it counted."""
    return "no cost" if verdict.judge.provider == OFFLINE else cost(verdict.usage)


def _of(done: int, expected: int, noun: str, verb: str) -> str:
    return count(done, noun) if done == expected else f"{done:,} of {count(expected, noun)} {verb}"


def short_commit(verdict: Verdict) -> str | None:
    """The commit as people write it."""
    return verdict.run.commit[:7] if verdict.run.commit else None
