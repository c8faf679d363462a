"""Recommendations by rules: what to change, per kind of failure, with the evidence at hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.offline.goal import is_only_a_consequence, spoiled_by
from arksim_ci.llm.offline.text import quote
from arksim_ci.llm.questions.recommendation import (
    Advice,
    ProposedChange,
    RecommendationFacts,
    Replacement,
    SourceExcerpt,
)
from arksim_ci.schema.recommendation import AgentModule, ModuleFix

_QUOTATION = re.compile(r'"([^"]+)"')
_FIGURES = re.compile(
    r"the answer says (?P<wrong>[^;]+); the knowledge says (?P<true>[^.;]+(?:\.\d+[^.;]*)?)\. Answer:"
)


@dataclass(frozen=True, slots=True)
class _Remedy:
    """Fixes for one category, best first, and why the first is the best. `{ground}` is what the answer was held against."""

    fixes: tuple[tuple[AgentModule, str], ...]
    why: str


_REMEDIES: Final[dict[str, _Remedy]] = {
    "false information": _Remedy(
        (
            ("Memory", "Correct the source that the agent answers from, so that it says {ground}; remove older copies of it."),
            ("Generation", "Take figures and conditions word for word from the retrieved text; where it has none, say so."),
        ),
        "The answer states something definite that differs from the knowledge, so the agent reads a wrong or outdated source; "
        "wording can't repair that.",
    ),
    "lack of specific information": _Remedy(
        (
            ("Generation", "When the question asks how long, how much or when, answer with the figure and its conditions: {ground}."),
            ("Memory", "Retrieve the whole entry on a subject, not only its first sentence, so that its figures reach the answer."),
        ),
        "The agent recognises the subject and answers on it, so it has found the entry; what it does not do is pass on the details.",
    ),
    "failure to ask for clarification": _Remedy(
        (
            ("Planning/Reasoning", "Before acting on an order, booking or account that the user has not named, ask which one is meant."),
            ("Tools/Action", "Make the identifier a required argument that must come from the user's messages; refuse the call without it."),
        ),
        "The agent goes on although a fact is missing that only the user has: the step that checks for it belongs before any lookup.",
    ),
    "disobey user request": _Remedy(
        (
            ("Orchestration", "Recognise this request and route it before the general answer is made: {ground}."),
            ("Planning/Reasoning", "Check each answer against the user's last message; where it does not deal with the request, answer again."),
        ),
        "The answer follows its usual track as if the request had not been made, so the request is lost before an answer is written.",
    ),
    "repetition": _Remedy(
        (
            ("Planning/Reasoning", "Keep track of what was already said; when the user asks for more, give what is still unsaid, or say that this is all."),
            ("Memory", "Retrieve further entries for a follow-up question instead of the one already used."),
        ),
        "The same text comes back to a different question, so the agent does not take the earlier turns into account.",
    ),
    "unsafe action": _Remedy(
        (
            ("Tools/Action", "Let tools that delete, cancel, refund or pay run only after the user asked for it and confirmed; report each error of a tool."),
            ("Orchestration", "Put a check between the plan and the call that compares the action with the user's request."),
        ),
        "The harm is done by the call itself, so the call is the place where it can be stopped for certain.",
    ),
    "unsafe state": _Remedy(
        (("Tools/Action", "Undo or finish what a failed call left half done, and tell the user how things stand."),),
        "Only the code that makes the calls knows which of them were carried out.",
    ),
    "goal not completed": _Remedy(
        (
            ("Planning/Reasoning", "Go on until each thing the user asked for is answered; still open here: {ground}."),
            ("Memory", "Add what is missing to the sources of the agent: {ground}."),
        ),
        "The conversation ends with wishes that no answer met; the agent has to notice what is still open.",
    ),
}  # fmt: skip
_OTHERWISE: Final = _Remedy(
    (("Planning/Reasoning", "Go through the quoted exchange and add the step that would have avoided it: {ground}."),),
    "There is no rule for this kind of failure; the plan is where a missing step shows first.",
)


def advise(facts: RecommendationFacts) -> Advice:
    """Fixes by the category's remedy, with the evidence filled in.

    Where the figure that is wrong stands in one line of the agent's source, that file is named and a change to the line proposed.
    """
    causes = _causes_elsewhere(facts)
    if causes:
        return _mend_first(causes)
    remedy = _REMEDIES.get(facts.category, _OTHERWISE)
    ground = quote(_ground(facts).rstrip(". "), 200)
    fixes = [ModuleFix(module=module, fix=fix.format(ground=ground)) for module, fix in remedy.fixes]
    evidence = (
        f" Evidence: the answer {quote(facts.exchanges[0][1])} to the message {quote(facts.exchanges[0][0])}."
        if facts.exchanges
        else ""
    )
    changes = _figure_changes(facts, fixes[0].module)
    if changes:
        places = ", ".join(f"{each.file}, line {each.replacements[0].start_line}" for each in changes)
        fixes[0] = fixes[0].model_copy(update={"fix": f"{fixes[0].fix} It stands in {places}."})
    return Advice(
        module_fixes=tuple(fixes),
        best=0,
        reasoning=remedy.why + evidence,
        changes=tuple(changes),
        best_change=0 if changes else None,
    )


def _causes_elsewhere(facts: RecommendationFacts) -> list[str]:
    """The categories of the failed turns through which alone a goal was missed; [] where more is open."""
    if not facts.reasons or not all(is_only_a_consequence(reason) for reason in facts.reasons):
        return []
    return sorted({cause for reason in facts.reasons for cause in spoiled_by(reason)})


def _mend_first(causes: list[str]) -> Advice:
    module = _REMEDIES.get(causes[0], _OTHERWISE).fixes[0][0]
    fix = "Mend the turns that failed in these conversations first: no other wish of their goals is open, so there is nothing of its own to change."
    return Advice(
        module_fixes=(ModuleFix(module=module, fix=fix),),
        best=0,
        reasoning="Each wish that stayed open was asked or answered in a turn that failed for itself; no other wish is open.",
    )


def _ground(facts: RecommendationFacts) -> str:
    for reason in facts.reasons:
        quoted = _QUOTATION.findall(reason)
        if quoted:
            return str(quoted[-1])
    return facts.reasons[0] if facts.reasons else facts.description


def _figure_changes(facts: RecommendationFacts, module: AgentModule) -> list[ProposedChange]:
    """A change to each source file in which exactly one line has the wrong figure of a contradicted one."""
    for reason in facts.reasons:
        match = _FIGURES.search(reason)
        if match and " or " not in match["true"]:
            by_file: dict[str, list[Replacement]] = {}
            for source in facts.sources:
                by_file.setdefault(source.file, []).extend(replacements(source, match["wrong"], match["true"]))
            changes = [ProposedChange(module, file, tuple(found)) for file, found in by_file.items() if len(found) == 1]
            if changes:
                return changes
    return []


def replacements(source: SourceExcerpt, wrong: str, true: str) -> list[Replacement]:
    """For each place in a source at which `wrong` stands as a figure of its own: `true` in its line."""
    figure = re.compile(rf"(?<![\w.]){re.escape(wrong)}(?!\w)")
    return [
        Replacement(number, line, line[: found.start()] + true + line[found.end() :])
        for number, line in enumerate(source.text.split("\n"), source.first_line)
        for found in figure.finditer(line)
    ]
