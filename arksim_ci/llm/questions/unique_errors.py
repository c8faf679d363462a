"""The analyst's questions about root causes: which failures belong together, and which groups are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arksim_ci.llm.client import ChatMessage, Question, Reading
from arksim_ci.llm.render import render
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED


@dataclass(frozen=True, slots=True)
class FailureFacts:
    """One failing turn, or one missed goal. `ref` is a short name, unique in its question (`F1`, `F2`, ...).

    Of a missed goal, `user` and `agent` are the last turn, `goal` is what the user wanted, `earlier` what went wrong before.
    """

    ref: str
    reason: str
    user: str
    agent: str
    goal: str = ""
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupingFacts:
    """Failures of one category, to be grouped by root cause."""

    category: str
    failures: tuple[FailureFacts, ...]


@dataclass(frozen=True, slots=True)
class MergingFacts:
    """Groups of one category that were made from different chunks: `refs[i]` names the group `descriptions[i]`."""

    category: str
    refs: tuple[str, ...]
    descriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """References that belong together, and the root cause in words."""

    description: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The answer to both questions. Nothing is checked yet: members may be unknown, doubled or left out."""

    groups: tuple[Group, ...]


_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "members": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["description", "members"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["groups"],
    "additionalProperties": False,
}


def ask_grouping(facts: GroupingFacts) -> Question[Grouping]:
    """Ask which failures have one root cause."""
    missed = facts.category == GOAL_NOT_COMPLETED
    variables = {"category": facts.category, "missed_goals": missed, "failures": list(map(_shown, facts.failures))}
    return _question("group_failures", render("group_failures", variables), facts)


def ask_merging(facts: MergingFacts) -> Question[Grouping]:
    """Ask which groups, made from different portions, are one."""
    groups = list(zip(facts.refs, facts.descriptions, strict=True))
    return _question("merge_groups", render("merge_groups", {"category": facts.category, "groups": groups}), facts)


def _shown(failure: FailureFacts) -> dict[str, object]:
    """A failure as the prompt has it; of a turn there is no goal and nothing earlier."""
    of_goal = {"goal": failure.goal, "failures in this conversation": failure.earlier}
    last = {"judge": failure.reason, "user": failure.user, "agent": failure.agent}
    return {"ref": failure.ref, **{key: value for key, value in of_goal.items() if value}, **last}


def _question(name: str, prompt: str, facts: GroupingFacts | MergingFacts) -> Question[Grouping]:
    return Question(
        name=name, role="analysis", messages=(ChatMessage("user", prompt),), schema=_SCHEMA, read=_read, facts=facts
    )


def _read(answer: object) -> Reading[Grouping]:
    """Take every group that has the right shape; who is in it is checked where the references are known."""
    groups = answer.get("groups") if isinstance(answer, dict) else None
    if not isinstance(groups, list):
        return Reading(None, ('The answer must be an object with the list "groups".',))
    read = [group for group in map(_read_group, groups) if group]
    problems = () if len(read) == len(groups) else ('Each group needs "description" (text) and "members" (texts).',)
    return Reading(Grouping(tuple(read)), problems)


def _read_group(item: object) -> Group | None:
    if not isinstance(item, dict):
        return None
    description, members = item.get("description"), item.get("members")
    if not isinstance(description, str) or not isinstance(members, list):
        return None
    return Group(description.strip(), tuple(member for member in members if isinstance(member, str)))
