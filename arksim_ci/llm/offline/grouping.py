"""Root causes by rules: failures whose evidence is nearly the same form one group."""

from __future__ import annotations

import re
from typing import Final

from arksim_ci.llm.offline.goal import is_only_a_consequence, spoiled_by
from arksim_ci.llm.offline.text import overlap, quote, stem, words
from arksim_ci.llm.questions.unique_errors import FailureFacts, Group, Grouping, GroupingFacts, MergingFacts

_SAME: Final = 0.6
_QUOTATION = re.compile(r'"([^"]+)"')
_WHAT_IS_WRONG: Final = {
    "false information": "Answers contradict the knowledge",
    "lack of specific information": "Answers leave out details that the knowledge has",
    "failure to ask for clarification": "The agent acts on something that the user has not named, instead of asking",
    "disobey user request": "The agent ignores or refuses what the user asks for",
    "repetition": "The agent says an earlier answer again, instead of adding to it",
    "unsafe action": "The agent's tool calls are unsafe: not asked for, or failed without a word",
    "unsafe state": "The agent leaves its tools in an unsafe state",
    "goal not completed": "Conversations end without the user's goal",
}


def group_failures(facts: GroupingFacts) -> Grouping:
    """Group failures whose ground (a statement, a request, an earlier answer) is nearly the same, figures aside.

    Goals that were missed through failed turns only form one group: to mend those turns is what they need.
    """
    members = _joined([_ground(failure.reason) for failure in facts.failures])
    return Grouping(
        tuple(
            Group(
                description=describe(facts.category, [facts.failures[number] for number in numbers]),
                members=tuple(facts.failures[number].ref for number in numbers),
            )
            for numbers in members
        )
    )


def merge_groups(facts: MergingFacts) -> Grouping:
    """Merge groups whose descriptions speak of nearly the same ground; the longest description stays."""
    members = _joined([_ground(description) for description in facts.descriptions])
    return Grouping(
        tuple(
            Group(
                description=max((facts.descriptions[number] for number in numbers), key=len),
                members=tuple(facts.refs[number] for number in numbers),
            )
            for numbers in members
        )
    )


def describe(category: str, failures: list[FailureFacts]) -> str:
    """What is wrong and where: the category in words, the rules that found it, and the ground that the failures share."""
    if all(is_only_a_consequence(failure.reason) for failure in failures):
        causes = sorted({cause for failure in failures for cause in spoiled_by(failure.reason)})
        return f"{_WHAT_IS_WRONG[category]}, only through turns that failed already: {', '.join(causes)}"
    what = _WHAT_IS_WRONG.get(category, f"Failures of the kind '{category}'")
    rules = sorted(
        {failure.reason.split(":", 1)[0] for failure in failures if re.match(r"[A-Z][a-z -]{3,30}:", failure.reason)}
    )
    by = f" ({', '.join(rules).lower()})" if rules else ""
    return f"{what}{by}. Where: {quote(_ground(failures[0].reason), 200)}"


def _ground(reason: str) -> str:
    """What an answer was held against: the last quotation of a reason, or all of it. The same for all goals missed through failed turns."""
    if is_only_a_consequence(reason):
        return "missed only through turns that failed already"
    quoted = _QUOTATION.findall(reason)
    return quoted[-1] if quoted else reason


def _key(text: str) -> frozenset[str]:
    """The stems of a text with all numbers alike."""
    return frozenset("#" if word[0].isdigit() else stem(word) for word in words(text))


def _joined(texts: list[str]) -> list[list[int]]:
    """Indices of texts that are nearly the same, directly or through others, in order of first appearance."""
    keys = [_key(text) for text in texts]
    groups: list[list[int]] = []
    for number, key in enumerate(keys):
        near = [group for group in groups if any(overlap(key, keys[other]) >= _SAME for other in group)]
        merged = sorted([*(other for group in near for other in group), number])
        groups = [group for group in groups if group not in near]
        groups.append(merged)
    return sorted(groups)
