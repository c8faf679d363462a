"""The analyst's questions about root causes: which failures belong together, and which groups are one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailureFacts:
    """One failing turn, or one missed goal. `ref` is a short name, unique in its question (`F1`, `F2`, ...)."""

    ref: str
    reason: str
    user: str
    agent: str


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
