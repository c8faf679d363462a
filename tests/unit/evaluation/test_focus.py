"""Focus files: the scenarios of each error, numbered as the errors are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.config.scenarios import load_scenarios
from arksim_ci.evaluation.focus import focus_files, map_errors_to_scenarios
from arksim_ci.schema.evaluation import Occurrence, UniqueError
from arksim_ci.schema.scenario import Scenarios

DOCUMENT = {
    "schema_version": "v1",
    "scenarios": [
        {
            "scenario_id": name,
            "user_id": "u",
            "goal": "Grüße, you want to know the fee.",
            "agent_context": "A shop.",
            "user_profile": "Friendly.",
            "knowledge": [{"content": "It is free."}],
            "origin": {"target_capability": "fees"},
        }
        for name in ("a", "b", "c")
    ],
}
SCENARIOS = Scenarios.model_validate(DOCUMENT)
SCENARIO_OF = {"1": "a", "2": "b", "3": "c", "4": "elsewhere"}


def error(name: str, *conversations: str) -> UniqueError:
    return UniqueError(
        unique_error_id=name,
        behavior_failure_category="repetition",
        unique_error_description=f"About {name}.",
        severity="low",
        occurrences=[Occurrence(conversation_id=each, turn_id=0) for each in conversations],
    )


ERRORS = [error("second first", "2", "1", "2"), error("unknown", "4"), error("third", "3", "4")]


def test_errors_are_numbered_in_their_order_with_their_scenarios_sorted() -> None:
    mappings = map_errors_to_scenarios(ERRORS, SCENARIO_OF, SCENARIOS)
    assert [(each.error_index, each.unique_error_id, each.scenario_ids) for each in mappings] == [
        (1, "second first", ["a", "b"]),
        (2, "third", ["c"]),
    ]
    assert (mappings[0].error_description, mappings[0].severity) == ("About second first.", "low")


def test_each_error_has_its_file_and_all_failures_the_union_once(tmp_path: Path) -> None:
    files = focus_files(map_errors_to_scenarios([*ERRORS, error("again", "1")], SCENARIO_OF, SCENARIOS), SCENARIOS)
    ids = {name: [each["scenario_id"] for each in json.loads(text)["scenarios"]] for name, text in files.items()}
    assert ids == {
        "error_1.json": ["a", "b"],
        "error_2.json": ["c"],
        "error_3.json": ["a"],
        "all_failures.json": ["a", "b", "c"],
    }
    (tmp_path / "focus.json").write_text(files["all_failures.json"], encoding="utf-8")
    assert load_scenarios(tmp_path / "focus.json") == SCENARIOS


def test_a_scenario_is_written_as_it_stood_without_keys_that_it_did_not_have() -> None:
    files = focus_files(map_errors_to_scenarios(ERRORS, SCENARIO_OF, SCENARIOS), SCENARIOS)
    (written,) = json.loads(files["error_2.json"])["scenarios"]
    assert written == DOCUMENT["scenarios"][2]
    assert "Grüße" in files["error_2.json"]


@pytest.mark.parametrize("errors", [[], [error("unknown", "4")]])
def test_without_an_error_of_a_known_scenario_there_is_no_file(errors: list[UniqueError]) -> None:
    assert focus_files(map_errors_to_scenarios(errors, SCENARIO_OF, SCENARIOS), SCENARIOS) == {}


def test_the_same_errors_give_the_same_bytes() -> None:
    first, second = (focus_files(map_errors_to_scenarios(ERRORS, SCENARIO_OF, SCENARIOS), SCENARIOS) for _ in range(2))
    assert list(first.items()) == list(second.items())
