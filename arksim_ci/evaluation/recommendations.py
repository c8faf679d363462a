"""What to change: for each of the most severe unique errors, fixes by module, and the best one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from arksim_ci.evaluation.failures import Failure
from arksim_ci.llm.client import LLM, LLMError
from arksim_ci.llm.questions.recommendation import Advice, RecommendationFacts, ask_recommendation
from arksim_ci.schema.evaluation import Occurrence, UniqueError
from arksim_ci.schema.recommendation import Recommendation, Recommendations
from arksim_ci.schema.scenario import Scenario

_EVIDENCE = 3
"""Exchanges that are shown to the LLM, the shortest first."""
_QUOTE_LIMIT = 2_000
"""Most characters that are quoted of a message, a reason or a piece of knowledge."""


async def recommend(
    errors: Sequence[UniqueError],
    failures: Sequence[Failure],
    scenario_of: Mapping[str, Scenario],
    limit: int,
    llm: LLM,
    warn: Callable[[str], None],
) -> Recommendations:
    """Ask for fixes.

    Args:
        errors: most severe first.
        failures: the evidence: every failure that the errors were made of.
        scenario_of: the scenario of each conversation id.
        limit: how many errors get recommendations.
        llm: answers with the role `analysis`.
        warn: told, in a sentence for the reader, which error has no recommendation and why.
    """
    evidence: dict[tuple[str, Occurrence], Failure] = {(each.category, each.occurrence): each for each in failures}
    asked = errors[:limit]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                _advise(
                    error,
                    [evidence[error.behavior_failure_category, occurrence] for occurrence in error.occurrences],
                    scenario_of[error.occurrences[0].conversation_id],
                    llm,
                    warn,
                )
            )
            for error in asked
        ]
    return Recommendations(recommendations=[found for task in tasks if (found := task.result())])


async def _advise(
    error: UniqueError, evidence: Sequence[Failure], scenario: Scenario, llm: LLM, warn: Callable[[str], None]
) -> Recommendation | None:
    shortest = sorted(evidence, key=lambda failure: len(failure.user) + len(failure.agent))[:_EVIDENCE]
    facts = RecommendationFacts(
        category=error.behavior_failure_category,
        severity=error.severity,
        description=error.unique_error_description,
        reasons=tuple(_quote(failure.reason) for failure in shortest),
        exchanges=tuple((_quote(failure.user), _quote(failure.agent)) for failure in shortest),
        agent_context=_quote(scenario.agent_context),
        knowledge=tuple(_quote(item.content) for item in scenario.knowledge),
    )
    try:
        answer = await llm.ask(ask_recommendation(facts))
    except LLMError as failed:
        warn(f'There is no recommendation for the error "{error.unique_error_description}": {failed}')
        return None
    return _recommendation(error, answer.value)


def _recommendation(error: UniqueError, advice: Advice) -> Recommendation:
    best = advice.module_fixes[advice.best]
    return Recommendation(
        unique_error_id=error.unique_error_id,
        module_fixes=list(advice.module_fixes),
        best_module_fix=f"{best.module}: {best.fix}",
        best_module_fix_reasoning=advice.reasoning,
    )


def _quote(text: str) -> str:
    return text if len(text) <= _QUOTE_LIMIT else text[:_QUOTE_LIMIT] + " ..."
