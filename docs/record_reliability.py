"""Run the fault matrix and the tests of the situations, and write `docs/reliability.json`, which `make docs` makes a page of.

Needs what the tests need, and a few minutes. `python -m bench.soak` measures the page's last section.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
RECORD = HERE / "reliability.json"
TESTS = (
    "tests/integration/faults/test_matrix.py",
    "tests/integration/run/test_peer_faults.py",
    "tests/integration/run/test_peer_faults_data.py",
)


class Recorder:
    """Collects what the tests say of how their runs ended."""

    def __init__(self) -> None:
        self.matrix: dict[str, dict[str, dict[str, int]]] = {}
        self.rows: dict[int, set[int]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each phase of a test; the last one has all properties."""
        if report.when != "teardown":
            return
        properties: dict[str, Any] = dict(report.user_properties)
        if "cell" in properties:
            role, fault, share, gated, code = properties["cell"]
            name = share.lower() if gated else f"{share.lower()}_ungated"
            self.matrix.setdefault(fault, {}).setdefault(role, {})[name] = code
        for row in rows_of(report.nodeid):
            self.rows.setdefault(row, set()).update(properties.get("exit_codes", ()))


def rows_of(nodeid: str) -> list[int]:
    """The situations that a test is named for: `test_row_7_...`, or `test_rows_3_to_5_...[4-...]`."""
    if found := re.search(r"::test_row_(\d+)_", nodeid):
        return [int(found[1])]
    if found := re.search(r"::test_rows_\d+_to_\d+_\w+\[(\d+)-", nodeid):
        return [int(found[1])]
    return []


def main() -> int:
    """Run the tests and write the record. Nothing is written where one of them fails."""
    recorder = Recorder()
    failed = pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", *TESTS], plugins=[recorder])
    if failed:
        return int(failed)
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    record["codes"] = {str(row): sorted(codes) for row, codes in sorted(recorder.rows.items())}
    record["matrix"] = recorder.matrix
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
