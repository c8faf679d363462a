"""Unique errors: failures grouped by root cause, so that every failure stands in exactly one.

The LLM groups the failures of one category at a time, in portions of a bounded size; groups of different portions are then
merged. Its answer only ever arranges failures that we know: what it invents is dropped, what it leaves out becomes an error of
its own, and where it can't answer, failures with near-same reasons are put together instead.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from arksim_ci.evaluation.failures import Failure
from arksim_ci.llm.client import LLM, AnswerInvalid, LLMError
from arksim_ci.llm.questions.unique_errors import (
    FailureFacts,
    Grouping,
    GroupingFacts,
    MergingFacts,
    ask_grouping,
    ask_merging,
)
from arksim_ci.schema.evaluation import UniqueError
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, SEVERITIES, SEVERITY_OF

PORTION_TOKENS: Final = 8_000
"""Most tokens of failures in one request, at four characters a token."""
MERGING_ROUNDS: Final = 3
"""Most rounds in which groups are merged; it keeps the number of requests linear."""

_CHARACTERS: Final = PORTION_TOKENS * 4
_QUOTE_LIMIT: Final = 1_200
"""Most characters that are quoted of a message or a reason."""
_SHORT_QUOTE: Final = 300
"""Most characters that are quoted of a goal, and of each earlier failure, beside a missed goal."""
_EARLIER: Final = 3
"""Most earlier failures that are quoted beside a missed goal."""
_DESCRIPTION_LIMIT: Final = 600
"""Most characters of an error's description."""
_PUNCTUATION: Final = 80
"""Characters that keys and references add to each failure."""
T = TypeVar("T")

_NAMESPACE: Final = uuid.UUID("6f3f5f0a-3f0c-5d6b-9a57-0d6d5d3f7c11")


@dataclass(frozen=True, slots=True)
class Cause:
    """A root cause: its description and the failures that it explains."""

    description: str
    failures: tuple[Failure, ...]


async def find_unique_errors(failures: Sequence[Failure], llm: LLM, warn: Callable[[str], None]) -> list[UniqueError]:
    """Group failures by root cause.

    Args:
        failures: in a stable order; the errors' ids and order depend on it and on the grouping alone.
        llm: answers with the role `analysis`.
        warn: told, in a sentence for the reader, where the LLM could not group.

    Returns:
        Unique errors, most severe first. Among equals missed goals come last (they often only show what another error causes),
        then most occurrences first, then first seen. Each failure is in exactly one.
    """
    by_category: dict[str, list[Failure]] = {}
    for failure in failures:
        by_category.setdefault(failure.category, []).append(failure)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_causes(category, found, llm, warn)) for category, found in by_category.items()]
    return in_order(failures, [cause for task in tasks for cause in task.result()])


def find_unique_errors_plainly(failures: Sequence[Failure]) -> list[UniqueError]:
    """Group failures without an LLM: those of one category with near-same reasons are one error."""
    by_category: dict[str, list[Failure]] = {}
    for failure in failures:
        by_category.setdefault(failure.category, []).append(failure)
    return in_order(failures, [cause for found in by_category.values() for cause in near_same(found)])


def in_order(failures: Sequence[Failure], causes: Iterable[Cause]) -> list[UniqueError]:
    """Turn causes into unique errors, with ids that depend on their failures alone, in the documented order."""
    position = {failure.occurrence: index for index, failure in enumerate(failures)}
    keyed = []
    for cause in causes:
        category = cause.failures[0].category
        occurrences = sorted({failure.occurrence for failure in cause.failures}, key=position.__getitem__)
        name = "\n".join([category, *(f"{each.conversation_id} {each.turn_id}" for each in occurrences)])
        severity = SEVERITY_OF.get(category, "medium")
        error = UniqueError(
            unique_error_id=str(uuid.uuid5(_NAMESPACE, name)),
            behavior_failure_category=category,
            unique_error_description=_description(cause.description),
            severity=severity,
            occurrences=occurrences,
        )
        missed = category == GOAL_NOT_COMPLETED
        keyed.append(
            ((SEVERITIES.index(severity), missed, -len(occurrences), position[occurrences[0]], category), error)
        )
    return [error for _, error in sorted(keyed, key=lambda pair: pair[0])]


def near_same(failures: Sequence[Failure]) -> list[Cause]:
    """Put failures together whose reasons are the same but for figures, quotations, case and punctuation."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(_gist(failure.reason), []).append(failure)
    return [Cause(_plain_description(found[0]), tuple(found)) for found in groups.values()]


def arrange(known: dict[str, T], grouping: Grouping) -> tuple[list[tuple[str, list[T]]], list[T]]:
    """Hold an answer's groups to the references that are known.

    Returns:
        The groups with their members, unknown and repeated references dropped and empty groups left out; and the members
        that no group names.
    """
    left = dict(known)
    groups = []
    for group in grouping.groups:
        members = [left.pop(ref) for ref in dict.fromkeys(group.members) if ref in left]
        if members:
            groups.append((group.description, members))
    return groups, list(left.values())


async def _causes(category: str, failures: Sequence[Failure], llm: LLM, warn: Callable[[str], None]) -> list[Cause]:
    portions = list(_portions(failures, _size))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_group(category, portion, llm, warn)) for portion in portions]
    causes = [cause for task in tasks for cause in task.result()]
    return await _merge(category, causes, llm, warn) if len(portions) > 1 else causes


async def _group(category: str, failures: Sequence[Failure], llm: LLM, warn: Callable[[str], None]) -> list[Cause]:
    known = {f"F{number}": failure for number, failure in enumerate(failures, 1)}
    facts = tuple(_facts(ref, failure) for ref, failure in known.items())
    try:
        answer = await llm.ask(ask_grouping(GroupingFacts(category, facts)))
        groups, left_out = arrange(known, answer.value)
        if not groups:
            raise AnswerInvalid("the answer names none of them")
    except LLMError as error:
        warn(
            f'The {len(failures)} failures "{category}" could not be grouped by root cause ({error}); '
            "those with near-same reasons stand together instead."
        )
        return near_same(failures)
    causes = [Cause(text or _plain_description(found[0]), tuple(found)) for text, found in groups]
    return causes + [Cause(_plain_description(failure), (failure,)) for failure in left_out]


async def _merge(category: str, causes: list[Cause], llm: LLM, warn: Callable[[str], None]) -> list[Cause]:
    """Join causes that different portions found alike. Near-same descriptions are asked about together."""
    for _ in range(MERGING_ROUNDS):
        causes = sorted(causes, key=lambda cause: _gist(cause.description))
        portions = list(_portions(causes, lambda cause: min(len(cause.description), _QUOTE_LIMIT)))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_merge_portion(category, portion, llm, warn)) for portion in portions]
        merged = [cause for task in tasks for cause in task.result()]
        if len(portions) == 1 or len(merged) == len(causes):
            return merged
        causes = merged
    return causes


async def _merge_portion(category: str, causes: Sequence[Cause], llm: LLM, warn: Callable[[str], None]) -> list[Cause]:
    if len(causes) == 1:
        return list(causes)
    known = {f"G{number}": cause for number, cause in enumerate(causes, 1)}
    facts = MergingFacts(category, tuple(known), tuple(_quote(cause.description) for cause in causes))
    try:
        answer = await llm.ask(ask_merging(facts))
    except LLMError as error:
        warn(f'Groups of failures "{category}" could not be merged ({error}); the same cause may stand twice.')
        return list(causes)
    groups, left_out = arrange(known, answer.value)
    joined = [
        Cause(text or found[0].description, tuple(failure for cause in found for failure in cause.failures))
        for text, found in groups
    ]
    return joined + left_out


def _portions(items: Sequence[T], size: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """Cut a list into runs whose quoted text fits the budget of one request."""
    portion: list[T] = []
    used = 0
    for item in items:
        characters = size(item) + _PUNCTUATION
        if portion and used + characters > _CHARACTERS:
            yield portion
            portion, used = [], 0
        portion.append(item)
        used += characters
    if portion:
        yield portion


def _facts(ref: str, failure: Failure) -> FailureFacts:
    return FailureFacts(
        ref,
        _quote(failure.reason),
        _quote(failure.user),
        _quote(failure.agent),
        _quote(failure.goal, _SHORT_QUOTE),
        tuple(_quote(text, _SHORT_QUOTE) for text in failure.earlier[:_EARLIER]),
    )


def _size(failure: Failure) -> int:
    facts = _facts("", failure)
    return sum(map(len, (facts.reason, facts.user, facts.agent, facts.goal, *facts.earlier)))


def _quote(text: str, limit: int = _QUOTE_LIMIT) -> str:
    return text if len(text) <= limit else text[:limit] + " ..."


def _description(text: str) -> str:
    """A description on one line, as long as a reader can take in."""
    return _quote(" ".join(text.split()), _DESCRIPTION_LIMIT)


def _gist(text: str) -> str:
    """A text without what differs from turn to turn: quotations, figures, case, punctuation."""
    text = re.sub(r"\"[^\"]*\"|“[^”]*”|`[^`]*`", " ", text.casefold())
    text = re.sub(r"\d+", "0", text)
    return " ".join(re.findall(r"\w+", text))


def _plain_description(failure: Failure) -> str:
    return _quote(failure.reason.strip()) or f"The agent's answer shows: {failure.category}."
