"""Focus files: the scenarios that showed an error, for a rerun of just these."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from arksim_ci.schema.evaluation import ErrorScenarioMapping, UniqueError
from arksim_ci.schema.scenario import Scenario, Scenarios


def map_errors_to_scenarios(
    errors: Sequence[UniqueError], scenario_of: Mapping[str, str], scenarios: Scenarios
) -> list[ErrorScenarioMapping]:
    """Say which scenarios showed each error.

    Args:
        errors: in their documented order; `error_index` follows it.
        scenario_of: conversation id to scenario id.
        scenarios: the scenario file; an error none of whose scenarios stands in it has no entry.
    """
    known = {scenario.scenario_id for scenario in scenarios.scenarios}
    mappings: list[ErrorScenarioMapping] = []
    for error in errors:
        shown_in = {scenario_of[occurrence.conversation_id] for occurrence in error.occurrences} & known
        if shown_in:
            mappings.append(
                ErrorScenarioMapping(
                    error_index=len(mappings) + 1,
                    unique_error_id=error.unique_error_id,
                    error_description=error.unique_error_description,
                    severity=error.severity,
                    scenario_ids=sorted(shown_in),
                )
            )
    return mappings


def focus_files(mappings: Sequence[ErrorScenarioMapping], scenarios: Scenarios) -> dict[str, str]:
    """The text of each focus file by its name: `error_N.json` an error, `all_failures.json` their union.

    Empty where there is no error. The scenarios are written as they stand in the scenario file, sorted by id.
    """
    if not mappings:
        return {}
    by_id = {scenario.scenario_id: scenario for scenario in scenarios.scenarios}
    files = {
        f"error_{mapping.error_index}.json": [by_id[scenario_id] for scenario_id in mapping.scenario_ids]
        for mapping in mappings
    }
    everything = sorted({scenario_id for mapping in mappings for scenario_id in mapping.scenario_ids})
    files["all_failures.json"] = [by_id[scenario_id] for scenario_id in everything]
    return {name: _text(scenarios.schema_version, found) for name, found in files.items()}


def _text(schema_version: str, scenarios: Sequence[Scenario]) -> str:
    found = [scenario.model_dump(mode="json", exclude_unset=True) for scenario in scenarios]
    return json.dumps({"schema_version": schema_version, "scenarios": found}, indent=2, ensure_ascii=False) + "\n"
