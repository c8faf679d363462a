"""What to change: for each of the most severe unique errors, fixes by module and in the source, and the best one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from arksim_ci.evaluation.code_edit import Refused
from arksim_ci.evaluation.code_fixes import check_change, location
from arksim_ci.evaluation.failures import Failure
from arksim_ci.evaluation.source_choice import SourceChoice
from arksim_ci.evaluation.sources import SourceFile, Sources, read_text
from arksim_ci.evaluation.words import words
from arksim_ci.llm.client import LLM, LLMError, RunLimitReached
from arksim_ci.llm.questions.recommendation import (
    Advice,
    ProposedChange,
    RecommendationFacts,
    RepairFacts,
    ask_recommendation,
    ask_repair,
)
from arksim_ci.schema.evaluation import Occurrence, UniqueError
from arksim_ci.schema.recommendation import CodeFix, Recommendation, Recommendations
from arksim_ci.schema.scenario import Scenario

MAX_CHANGES: Final = 8
"""Most code changes that are looked at for one error."""

_EVIDENCE: Final = 3
"""Exchanges that are shown to the LLM, the shortest first."""
_QUOTE_LIMIT: Final = 2_000
"""Most characters that are quoted of a message, a reason or a piece of knowledge."""
_KNOWLEDGE_LIMIT: Final = 16_000
"""Most characters of knowledge in one request."""


async def recommend(
    errors: Sequence[UniqueError],
    failures: Sequence[Failure],
    scenario_of: Mapping[str, Scenario],
    limit: int,
    llm: LLM,
    warn: Callable[[str], None],
    sources: Sources | None = None,
) -> Recommendations:
    """Ask for fixes.

    Args:
        errors: most severe first.
        failures: the evidence: every failure that the errors were made of.
        scenario_of: the scenario of each conversation id.
        limit: how many errors get recommendations.
        llm: answers with the role `analysis`.
        warn: told, in a sentence for the reader, which error has no recommendation and why, and what of the source was not read.
        sources: the agent's source, for code fixes.
    """
    evidence: dict[tuple[str, Occurrence], Failure] = {(each.category, each.occurrence): each for each in failures}
    asked = errors[:limit]
    adviser = _Adviser(sources or Sources(), scenario_of, llm, warn)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                adviser.advise(error, [evidence[error.behavior_failure_category, each] for each in error.occurrences])
            )
            for error in asked
        ]
    if asked:
        adviser.tell()
    return Recommendations(recommendations=[found for task in tasks if (found := task.result())])


class _Adviser:
    """Asks for the fixes of one error after the other, and checks what comes."""

    def __init__(
        self, sources: Sources, scenario_of: Mapping[str, Scenario], llm: LLM, warn: Callable[[str], None]
    ) -> None:
        self._sources = sources
        self._files = {file.name: file for file in sources.files}
        self._choice = SourceChoice(sources)
        self._scenario_of = scenario_of
        self._llm = llm
        self._warn = warn

    def tell(self) -> None:
        """Warn of what was not read of the source."""
        for note in (*self._sources.notes(), *self._choice.notes()):
            self._warn(note)

    async def advise(self, error: UniqueError, evidence: Sequence[Failure]) -> Recommendation | None:
        """The recommendation for one error; without code fixes where the question with source has no answer."""
        facts = self._facts(error, evidence)
        try:
            advice = await self._ask(facts, error)
        except LLMError as failed:
            self._warn(f'There is no recommendation for the error "{error.unique_error_description}": {failed}')
            return None
        accepted, dropped = await self._code_fixes(facts, advice)
        return self._recommendation(error, advice, accepted, dropped)

    async def _ask(self, facts: RecommendationFacts, error: UniqueError) -> Advice:
        try:
            return (await self._llm.ask(ask_recommendation(facts))).value
        except LLMError as failed:
            if not facts.sources or isinstance(failed, RunLimitReached):
                raise
            self._warn(f'There is no code fix for the error "{error.unique_error_description}": {failed}')
        return (await self._llm.ask(ask_recommendation(_without_sources(facts)))).value

    def _facts(self, error: UniqueError, evidence: Sequence[Failure]) -> RecommendationFacts:
        shortest = sorted(evidence, key=lambda failure: len(failure.user) + len(failure.agent))[:_EVIDENCE]
        scenarios = [self._scenario_of[failure.occurrence.conversation_id] for failure in shortest]
        about = "\n".join(
            (
                error.unique_error_description,
                *(f"{failure.goal}\n{failure.reason}\n{failure.user}\n{failure.agent}" for failure in shortest),
            )
        )
        return RecommendationFacts(
            category=error.behavior_failure_category,
            severity=error.severity,
            description=error.unique_error_description,
            reasons=tuple(_quote(failure.reason) for failure in shortest),
            exchanges=tuple((_quote(failure.user), _quote(failure.agent)) for failure in shortest),
            agent_context=_quote(scenarios[0].agent_context),
            knowledge=_knowledge(scenarios, about),
            sources=self._choice.excerpts(about),
            entry_function=self._sources.entry_function,
        )

    async def _code_fixes(
        self, facts: RecommendationFacts, advice: Advice
    ) -> tuple[dict[ProposedChange, CodeFix], list[str]]:
        """Check every change; ask once for better ones in place of those that are refused.

        Returns:
            The accepted fixes by the change as first proposed, and what was dropped, each with the reason.
        """
        accepted: dict[ProposedChange, CodeFix] = {}
        refused: list[tuple[ProposedChange, str]] = []
        for change in advice.changes[:MAX_CHANGES]:
            try:
                accepted[change] = self._check(change)
            except Refused as why:
                refused.append((change, str(why)))
        dropped = []
        if refused:
            repaired = await self._repair(facts, refused)
            for number, (change, reason) in enumerate(refused):
                other = repaired.get(number)
                if other is None:
                    dropped.append(_sentence(change, reason))
                    continue
                try:
                    accepted[change] = self._check(other)
                except Refused as why:
                    dropped.append(_sentence(other, f"{reason}; proposed again: {why}"))
        if len(advice.changes) > MAX_CHANGES:
            dropped.append(f"{len(advice.changes) - MAX_CHANGES} more changes: at most {MAX_CHANGES} are looked at.")
        return accepted, dropped

    async def _repair(
        self, facts: RecommendationFacts, refused: Sequence[tuple[ProposedChange, str]]
    ) -> Mapping[int, ProposedChange]:
        try:
            return (await self._llm.ask(ask_repair(RepairFacts(facts, tuple(refused))))).value.changes
        except LLMError:  # the refused changes are dropped, each with its reason
            return {}

    def _check(self, change: ProposedChange) -> CodeFix:
        return check_change(change, self._files, _as_on_disk)

    def _recommendation(
        self, error: UniqueError, advice: Advice, accepted: Mapping[ProposedChange, CodeFix], dropped: Sequence[str]
    ) -> Recommendation:
        best = advice.module_fixes[advice.best]
        fixes = _best_first(advice, accepted)
        recommendation = Recommendation(
            unique_error_id=error.unique_error_id,
            module_fixes=list(advice.module_fixes),
            best_module_fix=f"{best.module}: {best.fix}",
            best_module_fix_reasoning=advice.reasoning,
            code_fixes=fixes,
            dropped=list(dropped),
        )
        if not fixes:
            return recommendation
        where = location(fixes[0], self._files[fixes[0].file])
        function = where.partition(" in ")[2] or None
        return recommendation.model_copy(
            update={
                "code_fix_entry_function": self._sources.entry_function or function,
                "best_code_fix_location": where,
                "best_code_fix": fixes[0].diff,
            }
        )


def _best_first(advice: Advice, accepted: Mapping[ProposedChange, CodeFix]) -> list[CodeFix]:
    """The accepted fixes in the order proposed, each once; the best in front: the one that was called so, or else the first one
    for the best module."""
    chosen = advice.changes[advice.best_change] if advice.best_change is not None else None
    module = advice.module_fixes[advice.best].module
    proposed = [change for change in advice.changes if change in accepted]
    ranked = sorted(proposed, key=lambda change: (change != chosen, change.module != module))
    by_diff = {accepted[change].diff: accepted[change] for change in reversed(ranked)}
    return list(reversed(by_diff.values()))


def _knowledge(scenarios: Sequence[Scenario], about: str) -> tuple[str, ...]:
    """The knowledge of the scenarios; what has most to do with the error, where there is too much of it."""
    items = list(dict.fromkeys(_quote(item.content) for scenario in scenarios for item in scenario.knowledge))
    asked = words(about)
    kept, left = set(), _KNOWLEDGE_LIMIT
    for item in sorted(items, key=lambda item: -len(words(item) & asked)):
        if len(item) <= left:
            kept.add(item)
            left -= len(item)
    return tuple(item for item in items if item in kept)


def _without_sources(facts: RecommendationFacts) -> RecommendationFacts:
    return replace(facts, sources=(), entry_function=None)


def _as_on_disk(file: SourceFile) -> str | None:
    return read_text(file.path)


def _sentence(change: ProposedChange, reason: str) -> str:
    return f"Change to {change.module} refused: {reason}."


def _quote(text: str) -> str:
    return text if len(text) <= _QUOTE_LIMIT else text[:_QUOTE_LIMIT] + " ..."
