"""The page on reliability holds every cell of the fault matrix and every situation, with the exit codes that are right there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.faults.cells import Cell, cells

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "docs" / "reliability.json").read_text(encoding="utf-8")
)
PEER_FAULTS = Path(__file__).parents[4] / "shared" / "peer-faults.md"


def recorded(cell: Cell) -> int:
    share = cell.share.name.lower() + ("" if cell.gated else "_ungated")
    code: int = RECORD["matrix"][cell.fault.value][cell.role.value][share]
    return code


def test_every_cell_is_recorded_and_right() -> None:
    assert [str(cell) for cell in cells() if recorded(cell) not in cell.codes] == []


def test_without_gates_the_codes_are_the_same_as_the_page_says() -> None:
    pairs = [shares for roles in RECORD["matrix"].values() for shares in roles.values() if "always_ungated" in shares]
    assert pairs
    assert [shares for shares in pairs if shares["always"] != shares["always_ungated"]] == []


def test_every_situation_is_recorded() -> None:
    assert list(RECORD["situations"]) == [str(row) for row in range(1, 31)]
    assert all(RECORD["codes"][row] for row in RECORD["situations"])


def test_the_situations_are_those_that_were_found() -> None:
    if not PEER_FAULTS.exists():
        pytest.skip("the list of situations is not beside this checkout")
    text = PEER_FAULTS.read_text(encoding="utf-8")
    for row, texts in RECORD["situations"].items():
        assert f"| {row} | {texts['situation']} | {texts['there']} | {texts['here']} |" in text


def test_a_fault_is_never_green_where_a_gate_reads_what_was_lost() -> None:
    for fault, roles in RECORD["matrix"].items():
        if fault not in ("fenced JSON", "JSON inside of prose", "another fault with every retry"):
            assert {code for role in ("judge", "simulated user", "agent") for name, code in roles.get(role, {}).items() if name.startswith("always")} <= {1, 3}, fault  # fmt: skip
