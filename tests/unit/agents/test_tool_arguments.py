"""What of a tool call's arguments our files keep."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arksim_ci.agents.tool_arguments import LARGEST_CHARACTERS, storable_arguments


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_ordinary_arguments_stay_as_they_are() -> None:
    arguments = {"id": 7, "tags": ["a", None, {"x": 1.5}], "note": "день"}
    assert storable_arguments(arguments) == arguments


@pytest.mark.parametrize("levels", [100, 5_000])
def test_arguments_that_nest_too_deeply_become_a_note(levels: int) -> None:
    kept = storable_arguments(nested(levels))
    assert list(kept) == ["_raw"]
    assert isinstance(kept["_raw"], str)
    json.dumps(kept, indent=2)


def test_of_arguments_that_are_too_long_the_beginning_is_kept_and_the_length() -> None:
    kept = storable_arguments({"text": "x" * 2 * LARGEST_CHARACTERS})
    assert kept["_raw"].startswith('{"text": "xxx')
    assert kept["_raw"].endswith("… (2,000,012 characters in all, cut)")
    assert len(kept["_raw"]) < 2_000


def test_numbers_that_json_does_not_know_become_text() -> None:
    assert storable_arguments({"x": float("nan")}) == {"_raw": '{"x": NaN}'}
    assert storable_arguments({"x": 10**298}) == {"x": 10**298}
    assert storable_arguments({"x": 10**400}) == {"_raw": f'{{"x": {10**400}}}'}
