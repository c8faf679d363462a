"""The files of a run, as the contract has them: names, columns, what stands for "not measured"."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from arksim_ci.config.json_schema import SchemaKind, json_schema
from arksim_ci.schema.vocabulary import TURN_METRICS
from tests.support.project import Finished, Project, judgement, llm, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer

LABEL = "agent_behavior_failure"
METRICS = """
from arksim.evaluator import QualitativeMetric, QualResult, QuantitativeMetric, QuantResult
class Clarity(QuantitativeMetric):
    def __init__(self, llm=None): super().__init__(name="clarity", score_range=(0, 10), llm=llm)
    def score(self, score_input): return QuantResult(name="clarity", value=7.5, reason="clear")
class Suits(QuantitativeMetric):
    def __init__(self, llm=None): super().__init__(name="suits", score_range=(0, 5), llm=llm, scope="conversation")
    def score(self, score_input): return QuantResult(name="suits", value=4, reason="suits")
class Tone(QualitativeMetric):
    def __init__(self, llm=None): super().__init__(name="tone", llm=llm)
    def evaluate(self, score_input): return QualResult(name="tone", value="=formal", reason="tone")
class Needs(QualitativeMetric):
    def __init__(self, llm=None): super().__init__(name="needs", llm=llm, scope="conversation")
    def evaluate(self, score_input): return QualResult(name="needs", value="met", reason="needs")
"""
PER_CONVERSATION = "conversation_id,scenario_id,turns,goal_completion_score,turn_success_ratio,final_score,status,goal_completion_reason"
PER_TURN = (
    "conversation_id,scenario_id,turn_id,helpfulness_score,coherence_score,verbosity_score,relevance_score,"
    "faithfulness_score,turn_score,agent_behavior_failure,agent_behavior_failure_reason"
)
PER_ERROR = (
    "unique_error_id,unique_error,agent_behaviour_failure_category,severity,occurrences,scenario_ids,"
    "best_module_fix,best_module_fix_reasoning,best_code_fix_location,best_code_fix"
)
VERDICT_KEYS = {
    "schema_version": None,
    "evaluation_id": None,
    "simulation_id": None,
    "generated_at": None,
    "run": {"agent_name", "command", "commit", "started_at", "duration_seconds", "version"},
    "status": None,
    "passed": None,
    "exit_code": None,
    "score": None,
    "checks": None,
    "failures": None,
    "coverage": {
        "expected_conversations",
        "simulated_conversations",
        "evaluated_conversations",
        "expected_turns",
        "evaluated_turns",
        "expected_metric_values",
        "evaluated_metric_values",
    },
    "attempts": {"test_cases", "attempts", "silent_attempts", "retries", "still_silent"},
    "judge": {"provider", "model", "judge_mode", "prompts_hash"},
    "usage": {"simulated_user", "judge", "analysis"},
    "warnings": None,
    "metric_scales": None,
}
CHECK_KEYS = {
    "name",
    "kind",
    "threshold",
    "labels",
    "pass_rate",
    "min_pass_rate",
    "inherited",
    "passed_conversations",
    "evaluated_conversations",
    "passed",
    "failing",
}


@pytest.fixture(scope="module")
def shared() -> Iterator[ScriptedServer]:
    with ScriptedServer(llm()) as running:
        yield running


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, shared: ScriptedServer) -> Finished:
    """A run in which one scenario is fine, one has wrong answers, one is not judged, one half, and one silent."""
    project = Project(tmp_path_factory.mktemp("mixed"), shared)
    ids = ("fine", "wrong", "unjudged", "half", "silent")
    project.scenarios = [scenario(each, goal=f"You want case-{each} shoes.") for each in ids]
    (project.folder / "metrics.py").write_text(METRICS)
    project.config |= {
        "num_conversations_per_scenario": 1,
        "custom_metrics_file_paths": ["./metrics.py"],
        "numeric_thresholds": {"faithfulness": 3.5, "overall_score": 0.7, "clarity": 7},
        "qualitative_failure_labels": {LABEL: ["false information"]},
    }

    def judge(request: Request) -> Reply:
        if "case-unjudged" in request.text or ("case-half" in request.text and request.question == "judge_goal"):
            nonsense = dict.fromkeys((*TURN_METRICS, "goal_completion", LABEL), 99)
            return Reply(content=json.dumps(judgement(request, **nonsense)))
        if "case-wrong" in request.text:
            second = request.text.count('{"turn": 1') + request.text.count('"turn": 2') > 2
            labels: dict[str, object] = {LABEL: "False Information"} if not second else {}
            return Reply(content=json.dumps(judgement(request, faithfulness=2, goal_completion=0.5, **labels)))
        return Reply(content=json.dumps(judgement(request)))

    def user(request: Request) -> Reply:
        name = next(each for each in reversed(ids) if f"case-{each}" in request.text)
        said = sum(message["role"] == "assistant" for message in request.body["messages"])
        return Reply(content=f"Do you have case-{name} shoes, number {said + 1}?")

    shared.llm = llm(judge, user=user)
    shared.agent = lambda request: Reply(status=500) if "case-silent" in json.dumps(request.body) else Reply(content="Yes, for 30 days.")  # fmt: skip
    finished = project.run()
    assert finished.code == 1, finished.err
    return finished


def of(finished: Finished, scenario_id: str) -> dict[str, Any]:
    """A scenario's conversation in evaluation.json."""
    [wanted] = [each.conversation_id for each in finished.simulation.conversations if each.scenario_id == scenario_id]
    [found] = [each for each in finished.file("evaluation.json")["conversations"] if each["conversation_id"] == wanted]
    return dict(found)


def rows(finished: Finished, name: str) -> list[dict[str, str]]:
    text = (finished.output_dir / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_the_folder_holds_the_documented_files_and_no_other(mixed: Finished) -> None:
    documented = {
        "evaluation.json",
        "verdict.json",
        "simulation.json",
        "recommendations.json",
        "final_report.html",
        "final_report.md",
        "agent_performance_per_convo.csv",
        "agent_performance_per_turn.csv",
        "unique_errors.csv",
        "junit.xml",
        "results.sarif",
        "focus/all_failures.json",
    }
    found = set(mixed.files)
    numbered = {f"focus/error_{number}.json" for number in range(1, len(mixed.evaluation.unique_errors) + 1)}
    assert found - {"journal.jsonl"} == documented | numbered


@pytest.mark.parametrize("kind", ["simulation", "evaluation", "verdict", "recommendations"])
def test_every_json_file_holds_to_its_schema(mixed: Finished, kind: SchemaKind) -> None:
    jsonschema.Draft202012Validator(json_schema(kind)).validate(mixed.file(f"{kind}.json"))


def test_focus_files_are_scenario_files(mixed: Finished) -> None:
    validator = jsonschema.Draft202012Validator(json_schema("scenarios"))
    for path in (mixed.output_dir / "focus").iterdir():
        validator.validate(json.loads(path.read_text(encoding="utf-8")))


def test_files_end_with_a_line_break_and_can_be_read_by_everyone(mixed: Finished) -> None:
    for name in mixed.files:
        path = mixed.output_dir / name
        assert path.read_bytes().endswith((b"\n", b"</html>")), name
        assert path.stat().st_mode & 0o777 == 0o644 or name == "journal.jsonl", name


def test_a_good_conversation(mixed: Finished) -> None:
    fine = of(mixed, "fine")
    assert (fine["goal_completion_score"], fine["turn_success_ratio"], fine["overall_agent_score"]) == (1, 1, 1)
    assert fine["evaluation_status"] == "Done"
    assert [turn["turn_id"] for turn in fine["turn_scores"]] == [0, 1]
    for turn in fine["turn_scores"]:
        assert {score["name"] for score in turn["scores"]} == {
            "helpfulness",
            "coherence",
            "verbosity",
            "relevance",
            "faithfulness",
            "clarity",
        }
        # The mean of five times 5, and 7.5 of 0-10, which is 4 on 1-5.
        assert turn["turn_score"] == pytest.approx((5 * 5 + 4) / 6)
        assert turn["turn_behavior_failure"] == "no failure"
        assert [(label["name"], label["value"]) for label in turn["qual_scores"] if label["name"] == "tone"] == [
            ("tone", "=formal")
        ]
        assert turn["unique_error_ids"] == []
    assert [(score["name"], score["value"]) for score in fine["convo_scores"]] == [("suits", 4)]
    assert [(label["name"], label["value"]) for label in fine["convo_qual_scores"]] == [("needs", "met")]


def test_a_wrong_conversation_and_its_formula(mixed: Finished) -> None:
    wrong = of(mixed, "wrong")
    failing = [turn["turn_behavior_failure"] for turn in wrong["turn_scores"]].count("false information")
    ratio = 1 - failing / 2
    assert wrong["turn_success_ratio"] == ratio
    assert wrong["overall_agent_score"] == pytest.approx(0.75 * ratio + 0.25 * 0.5)
    assert wrong["evaluation_status"] == "Failed"
    category = {error.unique_error_id: error.behavior_failure_category for error in mixed.evaluation.unique_errors}
    named = [
        name
        for turn in wrong["turn_scores"]
        for name in turn["unique_error_ids"]
        if category[name] == "false information"
    ]
    assert failing == len(named) > 0


def test_what_was_not_measured_is_absent_or_minus_1(mixed: Finished) -> None:
    unjudged = of(mixed, "unjudged")
    assert {unjudged[key] for key in ("goal_completion_score", "turn_success_ratio", "overall_agent_score")} == {-1}
    assert unjudged["evaluation_status"] == "Evaluation Failed"
    for turn in unjudged["turn_scores"]:
        assert {score["name"] for score in turn["scores"]} == {"clarity"}
        assert turn["turn_behavior_failure"] == "evaluation_run_failed"
        assert turn["turn_behavior_failure_reason"]
    half = of(mixed, "half")
    assert (half["goal_completion_score"], half["turn_success_ratio"], half["overall_agent_score"]) == (-1, 1, -1)
    assert half["evaluation_status"] == "Evaluation Failed"
    assert half["goal_completion_reason"]
    silent = of(mixed, "silent")
    assert silent["evaluation_status"] == "Evaluation Failed"
    assert (silent["turn_scores"], silent["overall_agent_score"]) == ([], -1)
    [held] = [each for each in mixed.simulation.conversations if each.scenario_id == "silent"]
    assert [message.role for message in held.conversation_history] == ["simulated_user"]


def test_verdict_has_the_documented_fields(mixed: Finished) -> None:
    verdict = mixed.file("verdict.json")
    assert verdict.keys() == VERDICT_KEYS.keys()
    for key, inner in VERDICT_KEYS.items():
        if inner:
            assert verdict[key].keys() >= inner, key
    assert all(check.keys() == CHECK_KEYS for check in verdict["checks"])
    assert {place for check in verdict["checks"] for each in check["failing"] for place in each} == {
        "conversation_id",
        "scenario_id",
        "turn_id",
        "value",
    }
    role = {"calls", "retries", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"}
    assert all(usage.keys() == role for usage in verdict["usage"].values())
    rates = [check["pass_rate"] for check in verdict["checks"]]
    assert verdict["score"] == pytest.approx(100 * sum(rates) / len(rates))
    assert (verdict["passed"], verdict["exit_code"], verdict["status"]) == (False, 1, "COMPLETED")
    assert verdict["coverage"]["expected_conversations"] == 4  # the silent one leaves the expectation
    assert verdict["evaluation_id"] == mixed.evaluation.evaluation_id
    assert verdict["simulation_id"] == mixed.simulation.simulation_id == mixed.evaluation.simulation_id


def test_the_csv_of_conversations(mixed: Finished) -> None:
    text = (mixed.output_dir / "agent_performance_per_convo.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == f"{PER_CONVERSATION},needs,suits"
    table = {row["scenario_id"]: row for row in rows(mixed, "agent_performance_per_convo.csv")}
    assert list(table) == ["fine", "wrong", "unjudged", "half", "silent"]
    assert (table["fine"]["turns"], table["fine"]["final_score"], table["fine"]["status"]) == ("2", "1", "Done")
    assert (table["fine"]["suits"], table["fine"]["needs"]) == ("4", "met")
    for key in ("goal_completion_score", "turn_success_ratio", "final_score"):
        assert table["unjudged"][key] == ""
    assert (table["half"]["goal_completion_score"], table["half"]["turn_success_ratio"]) == ("", "1")
    assert table["silent"]["turns"] == "0"


def test_the_csv_of_turns(mixed: Finished) -> None:
    text = (mixed.output_dir / "agent_performance_per_turn.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == f"{PER_TURN},clarity,tone"
    table = rows(mixed, "agent_performance_per_turn.csv")
    assert len(table) == 8
    fine = next(row for row in table if row["scenario_id"] == "fine")
    assert (fine["turn_id"], fine["helpfulness_score"], fine["agent_behavior_failure"]) == ("0", "5", "no failure")
    assert (fine["clarity"], fine["tone"]) == ("7.5", "'=formal")
    unjudged = next(row for row in table if row["scenario_id"] == "unjudged")
    assert {unjudged[key] for key in ("helpfulness_score", "faithfulness_score", "agent_behavior_failure")} == {""}
    assert "-1" not in [cell for row in table for cell in row.values()]


def test_the_csv_of_unique_errors(mixed: Finished) -> None:
    text = (mixed.output_dir / "unique_errors.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == PER_ERROR
    table = rows(mixed, "unique_errors.csv")
    assert [row["unique_error_id"] for row in table] == [
        error.unique_error_id for error in mixed.evaluation.unique_errors
    ]
    assert table[0]["severity"] == "critical"
    assert table[0]["best_module_fix"].startswith("Memory: ")
    assert table[0]["scenario_ids"] == "wrong"


def test_mappings_are_in_the_order_of_severity_and_name_scenarios(mixed: Finished) -> None:
    mappings = mixed.evaluation.error_scenario_mappings
    assert [each.error_index for each in mappings] == list(range(1, len(mappings) + 1))
    assert [each.unique_error_id for each in mappings] == [
        error.unique_error_id for error in mixed.evaluation.unique_errors
    ]
    order = ["critical", "high", "medium", "low"]
    assert [order.index(each.severity) for each in mappings] == sorted(order.index(each.severity) for each in mappings)
    for mapping in mappings:
        focus = mixed.file(f"focus/error_{mapping.error_index}.json")
        assert sorted(each["scenario_id"] for each in focus["scenarios"]) == mapping.scenario_ids


def test_recommendations_name_the_errors(mixed: Finished) -> None:
    recommendations = mixed.file("recommendations.json")["recommendations"]
    assert {each["unique_error_id"] for each in recommendations} <= {
        error.unique_error_id for error in mixed.evaluation.unique_errors
    }
    assert recommendations[0].keys() == {
        "unique_error_id",
        "module_fixes",
        "best_module_fix",
        "best_module_fix_reasoning",
        "code_fixes",
        "code_fix_entry_function",
        "best_code_fix_location",
        "best_code_fix",
        "dropped",
    }


def test_junit_and_sarif_can_be_parsed(mixed: Finished) -> None:
    suites = ET.parse(mixed.output_dir / "junit.xml").getroot()
    assert suites.tag == "testsuites"
    assert suites.findall(".//failure")
    assert mixed.file("results.sarif")["version"] == "2.1.0"


def test_a_metric_that_was_not_chosen_leaves_its_figures_out(project: Project, tmp_path: Path) -> None:
    project.config["metrics_to_run"] = ["faithfulness", "goal_completion"]
    [first, *_] = project.run().file("evaluation.json")["conversations"]
    assert (first["turn_success_ratio"], first["overall_agent_score"]) == (-1, -1)
    project.config["metrics_to_run"] = ["faithfulness", LABEL]
    [first, *_] = project.run().file("evaluation.json")["conversations"]
    assert (first["goal_completion_score"], first["overall_agent_score"]) == (-1, 1)
    assert first["evaluation_status"] == "Done"
    project.config |= {"metrics_to_run": ["faithfulness"], "numeric_thresholds": {"overall_score": 0.5}}
    assert project.run().code == 2


@pytest.mark.parametrize(("goal", "status"), [(1, "Done"), (0.9, "Partial Failure"), (0, "Partial Failure")])
def test_the_status_follows_the_score(project: Project, server: ScriptedServer, goal: float, status: str) -> None:
    server.llm = llm(goal_completion=goal)
    server.agent = lambda request: Reply(content="30 days.")
    [first, *_] = project.run().file("evaluation.json")["conversations"]
    assert first["overall_agent_score"] == pytest.approx(0.75 + 0.25 * goal)
    assert first["evaluation_status"] == status
