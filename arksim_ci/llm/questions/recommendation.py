"""The analyst's question about one unique error: what should be changed?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from arksim_ci.llm.client import ChatMessage, Question, Reading
from arksim_ci.llm.render import render
from arksim_ci.schema.recommendation import AGENT_MODULES, ModuleFix


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


_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "module_fixes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "module": {"type": "string", "enum": list(AGENT_MODULES)},
                    "fix": {"type": "string"},
                },
                "required": ["module", "fix"],
                "additionalProperties": False,
            },
        },
        "reasoning": {"type": "string"},
        "best": {"type": "integer"},
    },
    "required": ["module_fixes", "reasoning", "best"],
    "additionalProperties": False,
}


def ask_recommendation(facts: RecommendationFacts) -> Question[Advice]:
    """Ask what to change so that a unique error does not happen again."""
    failure = {
        "category": facts.category,
        "severity": facts.severity,
        "description": facts.description,
        "judge": facts.reasons,
        "exchanges": [{"user": user, "agent": agent} for user, agent in facts.exchanges],
        "what the agent is": facts.agent_context,
        "knowledge": facts.knowledge,
    }
    prompt = render("recommend", {"failure": failure})
    return Question(
        name="recommend",
        role="analysis",
        messages=(ChatMessage("user", prompt),),
        schema=_SCHEMA,
        read=_read,
        facts=facts,
    )


def _read(answer: object) -> Reading[Advice]:
    """Take every fix for a module that there is; at least one is needed, and `best` must name one."""
    if not isinstance(answer, dict) or not isinstance(answer.get("module_fixes"), list):
        return Reading(None, ('The answer must be an object with the list "module_fixes".',))
    offered = [_read_fix(item) for item in answer["module_fixes"]]
    fixes = tuple(fix for fix in offered if fix)
    if not fixes:
        return Reading(None, (f"At least one fix is needed, for one of: {', '.join(AGENT_MODULES)}.",))
    problems = []
    if len(fixes) < len(offered):
        problems.append(f'Each fix needs "fix" (text) and "module", one of: {", ".join(AGENT_MODULES)}.')
    reasoning = answer.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        problems.append('"reasoning" must be a text.')
        reasoning = ""
    best = answer.get("best")
    if isinstance(best, bool) or not isinstance(best, int) or not 0 <= best < len(offered) or not offered[best]:
        problems.append('"best" must be the number of one of the fixes, counted from 0.')
        return Reading(Advice(fixes, 0, reasoning.strip()), tuple(problems))
    return Reading(Advice(fixes, sum(1 for fix in offered[:best] if fix), reasoning.strip()), tuple(problems))


def _read_fix(item: object) -> ModuleFix | None:
    if not isinstance(item, dict):
        return None
    module, fix = item.get("module"), item.get("fix")
    if module not in AGENT_MODULES or not isinstance(fix, str) or not fix.strip():
        return None
    return ModuleFix(module=module, fix=fix.strip())
