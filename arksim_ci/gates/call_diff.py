"""The asserted tool calls against those that were made, as the lines of a diff."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.simulation import ToolCall

_LONGEST_LINE = 500


def call_diff(
    expected: Sequence[ExpectedToolCall], actual: Sequence[ToolCall], missing: Collection[int], extra: Collection[int]
) -> tuple[str, ...]:
    """Lines in the order of the calls that were made: `- ` asserted and missing, `+ ` made and not allowed, else two spaces.

    `missing` and `extra` are places in `expected` and `actual`. What is missing stands before a wrong call of the same
    tool, so that the difference in the arguments meets the eye; else at the end.
    """
    left = [expected[place] for place in sorted(missing)]
    lines: list[str] = []
    for place, call in enumerate(actual):
        if place not in extra:
            lines.append(f"  {_made(call)}")
            continue
        twin = next((wanted for wanted in left if wanted.name == call.name), None)
        if twin is not None:
            left.remove(twin)
            lines.append(f"- {_wanted(twin)}")
        lines.append(f"+ {_made(call)}")
    return (*lines, *(f"- {_wanted(wanted)}" for wanted in left))


def order_diff(
    expected: Sequence[ExpectedToolCall], actual: Sequence[ToolCall], wrong: Collection[int]
) -> tuple[str, ...]:
    """As `call_diff`, for as many calls as asserted of which some (`wrong`) are not those that are asserted at their place."""
    lines: list[str] = []
    for place, (wanted, call) in enumerate(zip(expected, actual, strict=True)):
        lines += [f"- {_wanted(wanted)}", f"+ {_made(call)}"] if place in wrong else [f"  {_made(call)}"]
    return tuple(lines)


def _wanted(call: ExpectedToolCall) -> str:
    if call.arg_match_mode == "ignore":
        return _short(f"{call.name}(…)")
    open_end = ["…"] if call.arg_match_mode == "partial" else []
    return _short(f"{call.name}({', '.join([*_pairs(call.arguments), *open_end])})")


def _made(call: ToolCall) -> str:
    return _short(f"{call.name}({', '.join(_pairs(call.arguments))})")


def _pairs(arguments: dict[str, object]) -> list[str]:
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"
