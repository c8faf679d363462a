"""The analyst's question about one unique error: what should be changed?"""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.schema.recommendation import ModuleFix


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """A part of the agent's source. `first_line` counts from 1; `file` is relative to the workspace."""

    file: str
    first_line: int
    text: str


@dataclass(frozen=True, slots=True)
class RecommendationFacts:
    """One unique error with its evidence: pairs of user message and agent answer, and the judge's reasons."""

    category: str
    severity: str
    description: str
    reasons: tuple[str, ...]
    exchanges: tuple[tuple[str, str], ...]
    agent_context: str
    knowledge: tuple[str, ...]
    sources: tuple[SourceExcerpt, ...] = ()
    entry_function: str | None = None


@dataclass(frozen=True, slots=True)
class ProposedDiff:
    """A code fix as proposed, unchecked."""

    module: str
    file: str
    diff: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer. `best` is an index into `module_fixes`."""

    module_fixes: tuple[ModuleFix, ...]
    best: int
    reasoning: str
    diffs: tuple[ProposedDiff, ...] = ()
    best_diff: int | None = None
