"""What a reader should know of a run of a focus file: it is a part of the scenarios, and it may replace what it came from."""

from __future__ import annotations

from pathlib import Path

from arksim_ci.output import FOCUS, is_focus_name


def focus_notes(scenario_file: Path | None, scenarios: int, output_dir: Path) -> list[str]:
    """Sentences about a run of a focus file; none where the scenario file is no focus file.

    Args:
        scenario_file: the scenario file, absolute.
        scenarios: how many scenarios it holds.
        output_dir: where the run writes, absolute.
    """
    if scenario_file is None or not is_focus_name(scenario_file.name):
        return []
    ran = "Only the one scenario" if scenarios == 1 else f"Only the {scenarios} scenarios"
    notes = [f"{ran} of the focus file {scenario_file.name} ran: this verdict says nothing of the others."]
    if scenario_file.parent == output_dir / FOCUS:
        notes.append(
            f"This rerun replaces the results that {scenario_file.name} came from, and the focus files with them, so they can't be "
            "compared any more. Give a rerun a folder of its own: --output_dir rerun."
        )
    return notes
