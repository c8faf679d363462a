"""Whether the tool calls of a conversation are those that a scenario asserts: pure matching, no judgement.

The four match modes, for the calls that the agent made ("actual") and those of the scenario ("expected"):

- `strict`: the same number of calls, each matching the expected one at its place.
- `unordered`: the same calls in any order; none missing, none besides.
- `contains`: every expected call was made; others may have been made too.
- `within`: no call but the expected ones was made; each may be left out or repeated.

An empty `expected` means that no tool may be called, in every mode: an assertion that can't fail would assert nothing.

A call matches when its name is equal and its arguments fit: `ignore` looks at none, `exact` wants the same arguments,
`partial` wants each expected argument with its value and allows others. Arguments are compared as JSON: 1 and 1.0 are
one number, `true` is not 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from arksim_ci.gates.call_diff import call_diff, order_diff
from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.simulation import ToolCall

MatchMode = Literal["strict", "unordered", "contains", "within"]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What matching found.

    `missing` are the expected calls that no actual call matches; `extra` the names of the actual calls that the mode
    does not allow. With `extra`, no later call could make the conversation match. `diff` shows both, where it did not pass.
    """

    passed: bool
    explanation: str
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


def match(expected: Sequence[ExpectedToolCall], actual: Sequence[ToolCall], mode: MatchMode) -> MatchResult:
    """Compare the calls that were made with the calls that are expected.

    Returns:
        Whether they match in this mode, and a sentence that says what is missing, too much or out of order.
    """
    if not expected:
        return _result(expected, actual, [], list(range(len(actual))), "No tool was called, as asserted.")
    if mode == "within":
        extra = [place for place, call in enumerate(actual) if not any(_call_matches(each, call) for each in expected)]
        return _result(expected, actual, [], extra, "Only expected tools were called.")

    partner = _most_pairs(expected, actual)
    taken = set(partner.values())
    missing = [place for place in range(len(expected)) if place not in partner]
    extra = [place for place in range(len(actual)) if place not in taken] if mode != "contains" else []
    if mode == "strict" and not missing and not extra:
        wrong = [place for place, wanted in enumerate(expected) if not _call_matches(wanted, actual[place])]
        if wrong:
            return MatchResult(
                False, _out_of_order(expected, actual, wrong[0]), diff=order_diff(expected, actual, wrong)
            )
    return _result(expected, actual, missing, extra, "All expected calls were made.")


def _result(
    expected: Sequence[ExpectedToolCall],
    actual: Sequence[ToolCall],
    missing: Sequence[int],
    extra: Sequence[int],
    fine: str,
) -> MatchResult:
    if not missing and not extra:
        return MatchResult(True, fine)
    missing_names = tuple(expected[place].name for place in missing)
    extra_names = tuple(actual[place].name for place in extra)
    shown = call_diff(expected, actual, missing, extra)
    return MatchResult(False, _explain(missing_names, extra_names), missing_names, extra_names, shown)


def _call_matches(expected: ExpectedToolCall, actual: ToolCall) -> bool:
    if expected.name != actual.name:
        return False
    if expected.arg_match_mode == "ignore":
        return True
    if expected.arg_match_mode == "exact":
        return _same_json(expected.arguments, actual.arguments)
    return all(
        name in actual.arguments and _same_json(value, actual.arguments[name])
        for name, value in expected.arguments.items()
    )


def _same_json(left: object, right: object) -> bool:
    # Not recursive: the agent decides how deep its arguments nest.
    pairs: list[tuple[object, object]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif isinstance(one, bool) != isinstance(other, bool) or one != other:
            return False
    return True


def _most_pairs(expected: Sequence[ExpectedToolCall], actual: Sequence[ToolCall]) -> dict[int, int]:
    """Pair as many expected calls as possible with actual calls of their own; place in `expected` → place in `actual`.

    A maximum bipartite matching by augmenting paths (Berge's theorem), so that the order in which a scenario lists a
    loose and a narrow expectation of the same tool does not matter.
    """
    fits = [[place for place, call in enumerate(actual) if _call_matches(wanted, call)] for wanted in expected]
    partner: dict[int, int] = {}
    owner: dict[int, int] = {}
    for start in range(len(expected)):
        reached_from: dict[int, int] = {}
        queue = deque([start])
        free: int | None = None
        while queue and free is None:
            wanted = queue.popleft()
            for call in fits[wanted]:
                if call in reached_from:
                    continue
                reached_from[call] = wanted
                if call not in owner:
                    free = call
                    break
                queue.append(owner[call])
        while free is not None:
            wanted = reached_from[free]
            owner[free] = wanted
            previous = partner.get(wanted)
            partner[wanted] = free
            free = previous
    return partner


def _out_of_order(expected: Sequence[ExpectedToolCall], actual: Sequence[ToolCall], place: int) -> str:
    return f"Out of order: call {place + 1} should be {expected[place].name}, it is {actual[place].name}."


def _explain(missing: tuple[str, ...], extra: tuple[str, ...]) -> str:
    parts = []
    if missing:
        parts.append(f"Missing: {', '.join(missing)}.")
    if extra:
        parts.append(f"Not expected: {', '.join(extra)}.")
    return " ".join(parts)
