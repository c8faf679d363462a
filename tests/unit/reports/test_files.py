"""Tables, JUnit, SARIF, and all files together."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.junit import render_junit
from arksim_ci.reports.results import Results
from arksim_ci.reports.sarif import render_sarif
from arksim_ci.reports.tables import conversations_csv, errors_csv, turns_csv
from arksim_ci.reports.write import REPORT_FILES, render_all
from arksim_ci.schema.evaluation import Evaluation, QualResult, QuantResult
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.simulation import Simulation
from arksim_ci.schema.verdict import Verdict
from tests.support import samples
from tests.support.hostile import HOSTILE
from tests.support.snapshots import assert_matches

SNAPSHOTS = Path(__file__).parent / "snapshots"
CONTEXT = CommentContext(scenario_path="arksim/scenarios.json")
RUNS: tuple[Callable[[], Results], ...] = (
    samples.all_green,
    samples.gate_failed,
    samples.assertion_failed,
    samples.not_measured,
    samples.stopped,
    samples.agent_never_spoke,
    samples.no_gate,
    samples.non_latin,
)
EVERY_RUN = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_tables_of_a_failed_gate() -> None:
    results = samples.gate_failed()
    assert_matches(conversations_csv(results), SNAPSHOTS / "agent_performance_per_convo.csv")
    assert_matches(turns_csv(results), SNAPSHOTS / "agent_performance_per_turn.csv")
    assert_matches(errors_csv(results), SNAPSHOTS / "unique_errors.csv")


def test_columns_are_the_contracts() -> None:
    results = samples.gate_failed()
    assert conversations_csv(results).splitlines()[0] == (
        "conversation_id,scenario_id,turns,goal_completion_score,turn_success_ratio,final_score,status,goal_completion_reason"
    )
    assert turns_csv(results).splitlines()[0] == (
        "conversation_id,scenario_id,turn_id,helpfulness_score,coherence_score,verbosity_score,relevance_score,"
        "faithfulness_score,turn_score,agent_behavior_failure,agent_behavior_failure_reason"
    )
    assert errors_csv(results).splitlines()[0] == (
        "unique_error_id,unique_error,agent_behaviour_failure_category,severity,occurrences,scenario_ids,best_module_fix,"
        "best_module_fix_reasoning,best_code_fix_location,best_code_fix"
    )


def test_what_was_not_measured_is_an_empty_cell() -> None:
    results = samples.not_measured()
    conversation = rows(conversations_csv(results))[-1]
    assert conversation["status"] == "Evaluation Failed"
    assert (conversation["goal_completion_score"], conversation["turn_success_ratio"], conversation["final_score"]) == (
        "",
        "",
        "",
    )
    turn = rows(turns_csv(results))[-1]
    assert (turn["faithfulness_score"], turn["turn_score"], turn["agent_behavior_failure"]) == ("", "", "")
    for table in (conversations_csv(results), turns_csv(results)):
        assert all("-1" not in row.values() for row in rows(table))


def test_custom_metrics_are_columns() -> None:
    results = samples.all_green()
    assert results.evaluation is not None
    first = results.evaluation.conversations[0]
    first.convo_scores.append(QuantResult(name="suitability", value=0.123456, scope="conversation"))
    first.convo_qual_scores.append(QualResult(name="status", value="complete", scope="conversation"))
    first.turn_scores[0].scores.append(QuantResult(name="clarity", value=4))
    first.turn_scores[1].qual_scores.append(QualResult(name="prohibited_statements", value="=violated"))
    conversation = rows(conversations_csv(results))
    assert (conversation[0]["suitability"], conversation[0]["status"], conversation[0]["status (metric)"]) == (
        "0.1235",
        "Done",
        "complete",
    )
    assert conversation[1]["suitability"] == ""
    turns = rows(turns_csv(results))
    assert (turns[0]["clarity"], turns[0]["prohibited_statements"]) == ("4", "")
    assert (turns[1]["clarity"], turns[1]["prohibited_statements"]) == ("", "'=violated")


@pytest.mark.parametrize("text", [text for text in HOSTILE if len(text) < 5000], ids=lambda text: repr(text[:20]))
def test_hostile_text_forges_no_row_and_no_formula(text: str) -> None:
    results = samples.hostile(text)
    for table in (conversations_csv(results), turns_csv(results), errors_csv(results)):
        found = list(csv.reader(io.StringIO(table, newline="")))
        assert len(found) == 2
        assert len(found[0]) == len(found[1])
        for each in (*found[0], *found[1]):
            assert each.lstrip(" \n")[:1] not in tuple("=+-@\t＝")


@EVERY_RUN
def test_junit_is_red_exactly_when_the_verdict_is(run: Callable[[], Results]) -> None:
    results = run()
    root = ElementTree.fromstring(render_junit(results))
    red = root.findall(".//failure") + root.findall(".//error")
    assert bool(red) == (results.verdict.exit_code != 0)
    if results.verdict.exit_code == 1:
        assert root.findall(".//failure")
    for suite in root.findall("testsuite"):
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
        assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
        assert len({case.get("name") for case in cases}) == len(cases)
        assert set(suite.keys()) <= {"name", "tests", "failures", "errors", "skipped"}
    assert {suite.get("name") for suite in root} == {
        "gate",
        *(each.scenario_id for each in results.simulation.conversations),
    }


def test_a_case_a_check_and_conversation() -> None:
    root = ElementTree.fromstring(render_junit(samples.gate_failed()))
    case = root.find(".//testcase[@name='overdraft-rate #1: faithfulness']")
    assert case is not None
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "3, at least 3.5 is needed"
    assert failure.text is not None
    assert "The tariff says 14.9% a year" in failure.text
    passed = root.find(".//testcase[@name='lost-card: faithfulness']")
    assert passed is not None
    assert len(passed) == 0


def test_a_tolerated_failure_is_skipped_with_its_reason() -> None:
    results = samples.gate_failed()
    check = results.verdict.checks[1].model_copy(update={"passed": True, "min_pass_rate": 0.4})
    verdict = results.verdict.model_copy(update={"checks": [check], "failures": [], "passed": True, "exit_code": 0})
    root = ElementTree.fromstring(render_junit(Results(verdict, results.simulation, results.evaluation)))
    skipped = root.find(".//testcase[@name='overdraft-rate #1: faithfulness']/skipped")
    assert skipped is not None
    assert skipped.get("message") == "tolerated by min_pass_rate: 3, at least 3.5 is needed"
    assert not root.findall(".//failure")


def test_what_was_not_measured_is_an_error_never_a_pass() -> None:
    root = ElementTree.fromstring(render_junit(samples.not_measured()))
    assert root.find(".//testcase[@name='hotline: faithfulness']/error") is not None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_breaks_neither_xml_nor_sarif(text: str) -> None:
    results = samples.hostile(text)
    root = ElementTree.fromstring(render_junit(results))
    assert len(root.findall(".//testcase")) == 3
    assert len(render_junit(results)) < 1_000_000
    assert sarif_results(render_sarif(results, CONTEXT))


def sarif_results(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["runs"][0]["results"]
    return found


def test_sarif_of_a_failed_gate() -> None:
    document = json.loads(render_sarif(samples.gate_failed(), CONTEXT))
    run = document["runs"][0]
    assert document["version"] == "2.1.0"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["disobey-user-request", "failure-to-ask-for-clarification", "false-information", "repetition"]
    results = run["results"]
    assert [each["level"] for each in results] == ["error", "error", "warning", "note"]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in results)
    assert results[0]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "agent/tariffs.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 12, "endLine": 14},
    }
    assert results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "arksim/scenarios.json"
    assert "Recommended fix: Memory: Look the rate up" in results[0]["message"]["text"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_fingerprints_survive_new_words_and_tell_errors_apart() -> None:
    before = sarif_results(render_sarif(samples.gate_failed(), CONTEXT))
    reworded = samples.gate_failed()
    assert reworded.evaluation is not None
    for error in reworded.evaluation.unique_errors:
        error.unique_error_description = f"In other words: {error.unique_error_description}"
        error.unique_error_id += "-new"
    for mapping in reworded.evaluation.error_scenario_mappings:
        mapping.unique_error_id += "-new"
    after = sarif_results(render_sarif(reworded, CONTEXT))
    prints = [each["partialFingerprints"]["arksimUniqueError/v1"] for each in before]
    assert prints == [each["partialFingerprints"]["arksimUniqueError/v1"] for each in after]
    assert len(set(prints)) == len(prints)
    many = sarif_results(render_sarif(samples.five_hundred_errors(), CONTEXT))
    assert len({each["partialFingerprints"]["arksimUniqueError/v1"] for each in many}) == 500


@pytest.mark.parametrize("run", [samples.gate_failed, samples.five_hundred_errors], ids=lambda run: run.__name__)
def test_a_renumbered_error_keeps_its_fingerprint(run: Callable[[], Results]) -> None:
    def prints(results: Results) -> dict[str, str]:
        found = sarif_results(render_sarif(results, CONTEXT))
        return {
            each["properties"]["uniqueErrorId"]: each["partialFingerprints"]["arksimUniqueError/v1"] for each in found
        }

    before = prints(run())
    assert prints(run()) == before
    renumbered = run()
    assert renumbered.evaluation is not None
    mappings = renumbered.evaluation.error_scenario_mappings
    for mapping in mappings:
        mapping.error_index = len(mappings) + 1 - mapping.error_index
    renumbered.evaluation.unique_errors.reverse()
    assert [each.number for each in renumbered.errors] == list(range(1, len(mappings) + 1))
    assert list(prints(renumbered)) == list(reversed(before))
    assert prints(renumbered) == before


def test_cases_have_the_same_names_when_conversations_have_other_ids() -> None:
    def names(results: Results) -> list[str | None]:
        return [case.get("name") for case in ElementTree.fromstring(render_junit(results)).iter("testcase")]

    before, after = samples.gate_failed(), samples.gate_failed()
    text = after.simulation.model_dump_json()
    for conversation in before.simulation.conversations:
        text = text.replace(f'"{conversation.conversation_id}"', f'"{conversation.conversation_id}-of-today"')
    renamed = Results(after.verdict, Simulation.model_validate_json(text), after.evaluation)
    answers = [name for name in names(before) if name and name.endswith("the agent answers")]
    assert answers == [name for name in names(renamed) if name and name.endswith("the agent answers")]
    assert "overdraft-rate #2: the agent answers" in answers


@EVERY_RUN
def test_everything_renders_the_same_from_the_json_files_alone(run: Callable[[], Results]) -> None:
    results = run()
    first = render_all(results, CONTEXT)
    assert set(first) == set(REPORT_FILES)
    again = Results(
        Verdict.model_validate_json(results.verdict.model_dump_json()),
        Simulation.model_validate_json(results.simulation.model_dump_json()),
        Evaluation.model_validate_json(results.evaluation.model_dump_json()) if results.evaluation else None,
        None,
        Recommendations.model_validate_json(results.recommendations.model_dump_json())
        if results.recommendations
        else None,
    )
    assert render_all(again, CONTEXT) == first
    for text in first.values():
        text.encode("utf-8")


def test_after_simulate_there_is_a_report_and_no_table() -> None:
    results = samples.all_green()
    run = results.verdict.run.model_copy(update={"command": "simulate"})
    verdict = results.verdict.model_copy(update={"run": run, "checks": [], "passed": None})
    files = render_all(Results(verdict, results.simulation), CONTEXT, html=False)
    assert set(files) == {"final_report.md", "junit.xml"}
    assert "Simulated, not judged" in files["final_report.md"]
