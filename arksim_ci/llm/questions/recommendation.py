"""The analyst's questions about one unique error: what should be changed, and how does a refused change become right?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from arksim_ci.llm.client import ChatMessage, Question, Reading
from arksim_ci.llm.render import render
from arksim_ci.schema.recommendation import AGENT_MODULES, AgentModule, ModuleFix


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """A part of the agent's source. `first_line` counts from 1; `file` is relative to the repository."""

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
class Replacement:
    """Put `new` in place of `old`, which stands at about `start_line` (from 1) of a file."""

    start_line: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A code fix as proposed, unchecked: text to be replaced in one file."""

    module: AgentModule
    file: str
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer. `best` is an index into `module_fixes`, `best_change` one into `changes`."""

    module_fixes: tuple[ModuleFix, ...]
    best: int
    reasoning: str
    changes: tuple[ProposedChange, ...] = ()
    best_change: int | None = None


@dataclass(frozen=True, slots=True)
class RepairFacts:
    """Changes that were refused, each with the reason, and what they were proposed for."""

    about: RecommendationFacts
    refused: tuple[tuple[ProposedChange, str], ...]


@dataclass(frozen=True, slots=True)
class Repairs:
    """The answer: the place of a refused change in the question, and the change that replaces it."""

    changes: Mapping[int, ProposedChange]


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(item: object) -> dict[str, Any]:
    return {"type": "array", "items": item}


_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_MODULE: Final = {"type": "string", "enum": list(AGENT_MODULES)}
_ADVICE: Final = {
    "module_fixes": _list_of(_object(module=_MODULE, fix=_TEXT)),
    "reasoning": _TEXT,
    "best": _WHOLE,
}
_CHANGE: Final = {
    "module": _MODULE,
    "file": _TEXT,
    "replacements": _list_of(_object(start_line=_WHOLE, old=_TEXT, new=_TEXT)),
}
_CHANGE_NEEDS: Final = (
    f'Each change needs "module" (one of: {", ".join(AGENT_MODULES)}), "file" (text) and "replacements", a list of objects '
    'with "start_line" (a whole number), "old" and "new" (texts).'
)


def ask_recommendation(facts: RecommendationFacts) -> Question[Advice]:
    """Ask what to change so that a unique error does not happen again; in the source, too, where there is some."""
    schema = _object(**_ADVICE)
    if facts.sources:
        schema = _object(**_ADVICE, changes=_list_of(_object(**_CHANGE)), best_change=_WHOLE)
    prompt = render("recommend", {"failure": _failure(facts), **_code(facts)})
    return Question(
        name="recommend",
        role="analysis",
        messages=(ChatMessage("user", prompt),),
        schema=schema,
        read=_read_with_changes if facts.sources else _read,
        facts=facts,
    )


def ask_repair(facts: RepairFacts) -> Question[Repairs]:
    """Ask for other changes in place of refused ones."""
    refused = [
        {
            "number": number,
            "refused because": reason,
            "module": change.module,
            "file": change.file,
            "replacements": [{"start_line": r.start_line, "old": r.old, "new": r.new} for r in change.replacements],
        }
        for number, (change, reason) in enumerate(facts.refused)
    ]
    variables = {"failure": _failure(facts.about), "refused": refused, **_code(facts.about)}
    return Question(
        name="repair_changes",
        role="analysis",
        messages=(ChatMessage("user", render("recommend_repair", variables)),),
        schema=_object(changes=_list_of(_object(number=_WHOLE, **_CHANGE))),
        read=_read_repairs,
        facts=facts,
    )


def _failure(facts: RecommendationFacts) -> dict[str, object]:
    return {
        "category": facts.category,
        "severity": facts.severity,
        "description": facts.description,
        "judge": facts.reasons,
        "exchanges": [{"user": user, "agent": agent} for user, agent in facts.exchanges],
        "what the agent is": facts.agent_context,
        "knowledge": facts.knowledge,
    }


def _code(facts: RecommendationFacts) -> dict[str, object]:
    sources = [
        {"file": source.file, "lines": list(enumerate(source.text.split("\n"), source.first_line))}
        for source in facts.sources
    ]
    return {"sources": sources, "entry_function": facts.entry_function}


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
    if not _is_whole(best) or not 0 <= best < len(offered) or not offered[best]:
        problems.append('"best" must be the number of one of the fixes, counted from 0.')
        return Reading(Advice(fixes, 0, reasoning.strip()), tuple(problems))
    return Reading(Advice(fixes, sum(1 for fix in offered[:best] if fix), reasoning.strip()), tuple(problems))


def _read_with_changes(answer: object) -> Reading[Advice]:
    """Take the fixes, and every change that has the right shape; whether it can be made is checked where the files are known."""
    reading = _read(answer)
    if reading.value is None or not isinstance(answer, dict):
        return reading
    problems = list(reading.problems)
    listed = answer.get("changes")
    if not isinstance(listed, list):
        problems.append('The answer must have the list "changes"; it may be empty.')
        listed = []
    offered = [_read_change(item) for item in listed]
    changes = tuple(change for change in offered if change)
    if len(changes) < len(offered):
        problems.append(_CHANGE_NEEDS)
    best, best_change = answer.get("best_change"), None
    if _is_whole(best) and 0 <= best < len(offered) and offered[best]:
        best_change = sum(1 for change in offered[:best] if change)
    advice = reading.value
    read = Advice(advice.module_fixes, advice.best, advice.reasoning, changes, best_change)
    return Reading(read, tuple(problems))


def _read_repairs(answer: object) -> Reading[Repairs]:
    """Take every change that has the right shape and a number; whether the number is known is checked where it was given."""
    listed = answer.get("changes") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return Reading(None, ('The answer must be an object with the list "changes".',))
    offered = [(item.get("number") if isinstance(item, dict) else None, _read_change(item)) for item in listed]
    changes = {number: change for number, change in reversed(offered) if _is_whole(number) and change}
    problems = () if len(changes) == len(offered) else (f'{_CHANGE_NEEDS} Its "number" is that of the refused change.',)
    return Reading(Repairs(changes), problems)


def _read_fix(item: object) -> ModuleFix | None:
    if not isinstance(item, dict):
        return None
    module, fix = item.get("module"), item.get("fix")
    if module not in AGENT_MODULES or not isinstance(fix, str) or not fix.strip():
        return None
    return ModuleFix(module=module, fix=fix.strip())


def _read_change(item: object) -> ProposedChange | None:
    if not isinstance(item, dict):
        return None
    module, file, listed = item.get("module"), item.get("file"), item.get("replacements")
    if module not in AGENT_MODULES or not isinstance(file, str) or not isinstance(listed, list):
        return None
    replacements = tuple(read for each in listed if (read := _read_replacement(each)))
    return ProposedChange(module, file, replacements) if len(replacements) == len(listed) else None


def _read_replacement(item: object) -> Replacement | None:
    if not isinstance(item, dict):
        return None
    line, old, new = item.get("start_line"), item.get("old"), item.get("new")
    if not _is_whole(line) or not isinstance(old, str) or not isinstance(new, str):
        return None
    return Replacement(line, old, new)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
