"""Machine formats against their own validators: JUnit's common XSD, and Microsoft's SARIF validator with its schema."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import xmlschema

from arksim_ci.pipeline.stored import load_results
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.junit import render_junit
from arksim_ci.reports.results import Results
from arksim_ci.reports.sarif import render_sarif
from tests.integration.golden.test_golden import FILES
from tests.support import samples
from tests.support.hostile import HOSTILE
from tests.support.tools import junit_xsd, missing, npm_tools

pytestmark = pytest.mark.timeout(900)  # the first run installs the validators

RUNS: dict[str, Callable[[], Results]] = {
    run.__name__: run
    for run in (
        samples.all_green,
        samples.gate_failed,
        samples.assertion_failed,
        samples.not_measured,
        samples.stopped,
        samples.agent_never_spoke,
        samples.no_gate,
        samples.non_latin,
        samples.five_hundred_errors,
    )
} | {
    "bank insurance": lambda: load_results(FILES / "bank-insurance"),
    "support agent": lambda: load_results(FILES / "support-agent"),
    "hostile": lambda: samples.hostile("\n".join(text for text in HOSTILE if len(text) < 3000)),
}
CONTEXT = CommentContext(scenario_path="arksim/scenarios.json")


@pytest.fixture(scope="module")
def xsd() -> Iterator[xmlschema.XMLSchema]:
    yield xmlschema.XMLSchema(str(junit_xsd()))


@pytest.mark.parametrize("name", RUNS)
def test_junit_is_valid_by_the_common_xsd(xsd: xmlschema.XMLSchema, name: str) -> None:
    xsd.validate(render_junit(RUNS[name]()))


@pytest.mark.parametrize(
    ("old", "new"),
    [('tests="', 'count="'), ("<testcase", "<case"), ('<testcase name="', '<testcase title="'), ('time="', 'time="x')],
)
def test_the_xsd_refuses_what_is_no_junit(xsd: xmlschema.XMLSchema, old: str, new: str) -> None:
    text = render_junit(samples.all_green())
    assert old in text
    assert not xsd.is_valid(text.replace(old, new))


def validated(text: str, folder: Path) -> list[str]:
    """What Microsoft's validator complains about, errors and warnings; its notes are matters of taste."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "win32"}[sys.platform]
    program = npm_tools() / "node_modules" / "@microsoft" / f"sarif-multitool-{system}" / "Sarif.Multitool"
    if not program.exists():
        missing("there is no SARIF validator for this system")
    program.chmod(0o755)
    path, findings = folder / "results.sarif", folder / "findings.sarif"
    path.write_text(text, encoding="utf-8")
    rules = ["--rule-kind", "Sarif;Ghas", "--level", "Error;Warning"]
    done = subprocess.run(
        [str(program), "validate", str(path), "--output", str(findings), "--log", "ForceOverwrite", *rules],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert findings.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    (run,) = json.loads(findings.read_text(encoding="utf-8-sig"))["runs"]
    notices = [
        notice
        for invocation in run.get("invocations", [])
        for kind in ("toolExecutionNotifications", "toolConfigurationNotifications")
        for notice in invocation.get(kind, [])
        if notice.get("level", "warning") in ("error", "warning")
    ]
    found = [each for each in run.get("results", []) if each.get("level", "warning") in ("error", "warning")]
    return [f"{each.get('ruleId')}: {each['message']}" for each in found] + [json.dumps(each) for each in notices]


@pytest.mark.parametrize("name", RUNS)
def test_sarif_is_valid(tmp_path: Path, name: str) -> None:
    text = render_sarif(RUNS[name](), CONTEXT)
    assert validated(text, tmp_path) == []
    found = json.loads(text)["runs"][0]["results"]
    assert {each["level"] for each in found} <= {"error", "warning", "note"}  # the validator lets any word pass here


def without_tool(document: dict[str, Any]) -> None:
    del document["runs"][0]["tool"]


def with_a_message_of_another_type(document: dict[str, Any]) -> None:
    document["runs"][0]["results"][0]["message"] = "text"


def with_an_unknown_property(document: dict[str, Any]) -> None:
    document["runs"][0]["results"][0]["colour"] = "red"


def with_a_wrong_index(document: dict[str, Any]) -> None:
    document["runs"][0]["results"][0]["ruleIndex"] = 99


@pytest.mark.parametrize(
    "change", [without_tool, with_a_message_of_another_type, with_an_unknown_property, with_a_wrong_index]
)
def test_the_validator_refuses_what_is_no_sarif(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(render_sarif(samples.gate_failed(), CONTEXT))
    change(document)
    assert validated(json.dumps(document), tmp_path)
