"""A run of a focus file says that it is a part, and that it replaces what it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.pipeline.focus_run import focus_notes

FOLDER = Path("/project/results/evaluation")


@pytest.mark.parametrize("name", ["scenarios.json", "error_0.json", "my_error_1.json", "error_1.yaml"])
def test_a_scenario_file_is_a_whole(name: str) -> None:
    assert focus_notes(FOLDER / "focus" / name, 3, FOLDER) == []
    assert focus_notes(None, 3, FOLDER) == []


def test_a_focus_file_is_a_part() -> None:
    assert focus_notes(FOLDER / "focus" / "error_1.json", 1, Path("/project/rerun")) == [
        "Only the one scenario of the focus file error_1.json ran: this verdict says nothing of the others."
    ]
    (note,) = focus_notes(Path("/elsewhere/all_failures.json"), 3, FOLDER)
    assert note.startswith("Only the 3 scenarios of the focus file all_failures.json ran")


def test_a_rerun_into_the_same_folder_is_warned_of() -> None:
    _, warning = focus_notes(FOLDER / "focus" / "error_1.json", 1, FOLDER)
    assert "replaces the results that error_1.json came from" in warning
    assert "--output_dir rerun" in warning
