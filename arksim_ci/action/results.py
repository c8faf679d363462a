"""What the action makes of a run's results before they are shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.files import MAX_DATA_BYTES, read_text
from arksim_ci.config.json_text import scan
from arksim_ci.gates.exit_codes import EXIT_EVAL_FAILED, EXIT_INTERNAL_ERROR, EXIT_OK
from arksim_ci.schema.verdict import Verdict

_INCOMPLETE = {"RUN_NOT_COMPLETED", "INCOMPLETE_COVERAGE", "METRIC_NOT_EVALUATED"}


def exit_code_of_step(verdict: Verdict, exit_code: int, *, fail_on_gate: bool, written: bool = True) -> int:
    """What the step ends with: `fail-on-gate: false` turns a failed gate into success, where the run was complete.

    Args:
        verdict: the gate's decision.
        exit_code: of the run.
        fail_on_gate: the input.
        written: whether all results were written; a run without its files was not complete.
    """
    if exit_code != EXIT_EVAL_FAILED or fail_on_gate:
        return exit_code
    incomplete = (
        not written
        or verdict.status != "COMPLETED"
        or any(failure.type in _INCOMPLETE for failure in verdict.failures)
        or any(check.passed is None for check in verdict.checks)
    )
    return EXIT_INTERNAL_ERROR if incomplete else EXIT_OK


def scenario_lines(path: Path | None) -> Mapping[str, int]:
    """Scenario id → the line of the scenario file at which it stands; empty where the file can't be read."""
    if path is None:
        return {}
    try:
        text = read_text(path, MAX_DATA_BYTES)
        listed = json.loads(text).get("scenarios", [])
        lines, _ = scan(text)
    except (ConfigError, ValueError, AttributeError, RecursionError):
        return {}
    if not isinstance(listed, list):
        return {}
    return {
        str(item.get("scenario_id")): lines[("scenarios", index, "scenario_id")]
        for index, item in enumerate(listed)
        if isinstance(item, dict) and ("scenarios", index, "scenario_id") in lines
    }
