"""Situations in which a gate goes green by mistake: the rows of the table of peer faults, through the command line.

Every test is named for its row. Here are the rows in which something is not measured, or not run; `test_peer_faults_data.py` has those
about data and connections.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.project import Project, arksim_ci, judgement, llm, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion

LABEL = "agent_behavior_failure"
GATES = {"numeric_thresholds": {"faithfulness": 3.5}, "qualitative_failure_labels": {LABEL: ["false information"]}}


def tool_call(name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("status", [401, 400])
def test_row_1_every_judge_call_fails(project: Project, server: ScriptedServer, status: int) -> None:
    project.config |= GATES
    server.llm = llm(lambda request: Reply(status=status, body={"error": {"message": "no"}}))
    finished = project.run()
    assert finished.code == 3, finished.err
    assert {"INCOMPLETE_COVERAGE", "METRIC_NOT_EVALUATED"} <= set(finished.failures)
    assert finished.verdict.score is None
    assert {each.overall_agent_score for each in finished.evaluation.conversations} == {-1}
    assert {each.evaluation_status for each in finished.evaluation.conversations} == {"Evaluation Failed"}


@pytest.mark.parametrize("label", ["False Information", " false information ", "FALSE INFORMATION"])
def test_row_2_a_label_matches_in_any_case(project: Project, server: ScriptedServer, label: str) -> None:
    project.config |= {"qualitative_failure_labels": GATES["qualitative_failure_labels"]}
    server.llm = llm(**{LABEL: label})  # type: ignore[arg-type]
    finished = project.run()
    assert finished.code == 1, finished.err
    assert set(finished.failures) == {"FAILURE_LABEL_FOUND"}


@pytest.mark.parametrize(
    ("row", "keys", "told"),
    [
        (3, {"numeric_threshold": {"faithfulness": 3}}, 'numeric_threshold: unknown key; did you mean "numeric_thresholds"'),
        (4, {"numeric_thresholds": {"faithfullness": 3}}, 'did you mean "faithfulness"'),
        (4, {"qualitative_failure_labels": {LABEL: ["false informations"]}}, 'did you mean "false information"'),
        (4, {"min_pass_rate": {"helpfulness": 0.5}}, "min_pass_rate.helpfulness"),
        (5, {"metrics_to_run": ["faithfullness"]}, 'did you mean "faithfulness"'),
    ],
)  # fmt: skip
def test_rows_3_to_5_a_wrong_name_ends_the_run(
    project: Project, server: ScriptedServer, row: int, keys: dict[str, Any], told: str
) -> None:
    project.config |= keys
    finished = project.run()
    assert finished.code == 2, (row, finished.out)
    assert told in finished.err
    assert "config.yaml:" in finished.err
    assert [kind for kind, requests in server.requests.items() if requests] == []


@pytest.mark.parametrize("mode", ["combined", "per_metric"])
def test_row_6_the_label_alone_runs_and_gates(project: Project, server: ScriptedServer, mode: str) -> None:
    project.config |= {
        "metrics_to_run": [LABEL],
        "judge_mode": mode,
        "qualitative_failure_labels": GATES["qualitative_failure_labels"],
    }
    server.llm = llm(**{LABEL: "false information"})  # type: ignore[arg-type]
    finished = project.run()
    assert finished.code == 1, finished.err
    asked = [request for request in server.requests["llm"] if request.question.startswith("judge")]
    assert {request.question for request in asked} == {"judge_turn"}
    server.llm = llm()
    assert project.run().code == 0


def test_row_7_a_wrong_path_of_the_configuration(project: Project) -> None:
    project.write()
    finished = arksim_ci("simulate-evaluate", "confg.yaml", cwd=project.folder)
    assert finished.code == 2
    assert 'confg.yaml: there is no such file; did you mean "config.yaml"?' in finished.err
    assert arksim_ci("simulate-evaluate", ".", cwd=project.folder).code == 2


def test_row_8_asserted_tool_calls_gate_with_the_metrics_at_default(project: Project, server: ScriptedServer) -> None:
    project.scenarios = [scenario(assertions=[{"type": "tool_calls", "expected": [{"name": "refund"}]}])]
    server.agent = lambda request: Reply(body=completion("Done.", tool_calls=[tool_call("delete_account")]))
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.failures == ["ASSERTION_FAILED"] * 2
    server.agent = lambda request: Reply(body=completion("Done.", tool_calls=[tool_call("refund")]))
    assert project.run("simulate-evaluate", "--max-turns=1").code == 0


def test_row_9_an_unsafe_action_gates(project: Project, server: ScriptedServer) -> None:
    project.config["qualitative_failure_labels"] = {"tool_call_behavior_failure": ["unsafe action"]}
    server.agent = lambda request: Reply(body=completion("Done.", tool_calls=[tool_call("delete_account")]))
    server.llm = llm(tool_call_behavior_failure="unsafe action")
    finished = project.run()
    assert finished.code == 1, finished.err
    assert set(finished.failures) == {"FAILURE_LABEL_FOUND"}
    assert {error.severity for error in finished.evaluation.unique_errors} == {"critical"}


def test_row_10_there_is_nothing_to_test(project: Project, server: ScriptedServer) -> None:
    project.scenarios = []
    finished = project.run()
    assert finished.code == 2
    assert "scenarios" in finished.err
    project.scenarios = [scenario()]
    assert project.run("simulate").code == 0
    held = finished.output_dir.parent.parent / "simulation.json"
    held.write_text(json.dumps(json.loads(held.read_text(encoding="utf-8")) | {"conversations": []}), encoding="utf-8")
    finished = project.run("evaluate", "--simulation_file_path", str(held))
    assert finished.code == 2
    assert "no conversation" in finished.err


def test_row_10_all_conversations_vanished_on_the_way(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES
    server.llm = llm(user=lambda request: Reply(status=400, body={"error": {"message": "no"}}))
    finished = project.run()
    assert finished.code == 3, finished.err
    assert "INCOMPLETE_COVERAGE" in finished.failures
    assert len(finished.simulation.conversations) == 2


def test_row_11_turns_whose_label_failed_still_fail_on_their_scores(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES | {"judge_mode": "per_metric"}

    def judge(request: Request) -> Reply:
        if request.question == "judge_turn" and LABEL in json.dumps(request.body["response_format"]):
            return Reply(content="I can't say.")
        return Reply(content=json.dumps(judgement(request, faithfulness=1)))

    server.llm = llm(judge)
    finished = project.run()
    assert finished.code == 1, finished.err
    assert set(finished.failures) >= {"METRIC_BELOW_MIN_PASS_RATE", "METRIC_NOT_EVALUATED"}
    turns = [turn for each in finished.evaluation.conversations for turn in each.turn_scores]
    assert [turn.turn_behavior_failure for turn in turns] == ["evaluation_run_failed"] * 4
    assert all(score.value == 1 for turn in turns for score in turn.scores if score.name == "faithfulness")


@pytest.mark.parametrize(("metric", "value"), [("goal_completion", 5), ("helpfulness", 7), ("helpfulness", "4"), ("helpfulness", None)])  # fmt: skip
@pytest.mark.parametrize("repaired", [True, False])
def test_row_12_a_score_out_of_range_is_repaired_or_not_measured(
    project: Project, server: ScriptedServer, metric: str, value: object, repaired: bool
) -> None:
    project.config |= {"numeric_thresholds": {metric: 1}, "num_conversations_per_scenario": 1, "max_turns": 1}

    def judge(request: Request) -> Reply:
        good = repaired and len(request.body["messages"]) > 2
        return Reply(content=json.dumps(judgement(request, **({} if good else {metric: value}))))

    server.llm = llm(judge)
    finished = project.run()
    assert finished.code == (0 if repaired else 3), finished.err
    [conversation] = finished.evaluation.conversations
    assert conversation.goal_completion_score in (1, -1)
    assert {score.value for turn in conversation.turn_scores for score in turn.scores} == {5}
    if not repaired:
        [failure] = [each for each in finished.verdict.failures if each.type == "METRIC_NOT_EVALUATED"]
        assert failure.metric == metric
        assert ("nothing" if value is None else str(value)) in failure.causes[0]


def test_row_13_the_simulated_user_stops_before_the_agent_spoke(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES
    server.llm = llm(user=lambda request: Reply(content="###STOP###"))
    finished = project.run()
    assert finished.code == 3, finished.err
    assert len(server.requests["llm"]) >= 4  # each was asked again
    assert server.requests["agent"] == []
    assert {each.evaluation_status for each in finished.evaluation.conversations} == {"Evaluation Failed"}
    assert all("before the agent said anything" in str(each.not_finished) for each in finished.simulation.conversations)


def test_row_14_an_unknown_key_in_the_scenarios(project: Project, server: ScriptedServer) -> None:
    expected = [{"name": "refund"}]
    project.scenarios = [scenario(assertion=[{"type": "tool_calls", "expected": expected}])]
    finished = project.run()
    assert finished.code == 2
    assert 'did you mean "assertions"' in finished.err
    assert "scenarios.json" in finished.err
    assert server.requests["agent"] == []


@pytest.mark.parametrize("from_turn", [0, 1])
def test_row_15_the_agent_fails_in_9_of_10_conversations(
    project: Project, server: ScriptedServer, from_turn: int
) -> None:
    project.config |= GATES | {"num_conversations_per_scenario": 10, "num_workers": 1}

    def agent(request: Request) -> Reply:
        said = sum(message["role"] == "assistant" for message in request.body["messages"])
        healthy = request.number < 2 or said < from_turn
        return Reply(content="30 days.") if healthy else Reply(status=500, body={"error": "down"})

    server.agent = agent
    finished = project.run()
    assert finished.code == 1, finished.err
    [failure] = [each for each in finished.verdict.failures if each.type == "AGENT_NEVER_SPOKE"]
    assert (failure.never_spoke, failure.stopped_answering) == ((9, 0) if from_turn == 0 else (0, 9))
    assert len(finished.evaluation.conversations) == 10


def test_a_gap_in_a_metric_that_no_gate_reads_is_a_warning(project: Project, server: ScriptedServer) -> None:
    project.config |= {"numeric_thresholds": {"faithfulness": 3.5}}
    server.llm = llm(verbosity="much")
    finished = project.run()
    assert finished.code == 0, finished.err
    assert finished.verdict.passed is True
    assert any("verbosity" in warning for warning in finished.verdict.warnings)
    assert "verbosity" in finished.out


def test_2_of_10_measured_do_not_decide_a_check_at_half(project: Project, server: ScriptedServer) -> None:
    project.config |= {
        "numeric_thresholds": {"goal_completion": 0.5},
        "min_pass_rate": 0.5,
        "num_conversations_per_scenario": 10,
        "max_turns": 1,
    }
    goals = iter(range(1000))

    def judge(request: Request) -> Reply:
        if request.question == "judge_goal" and next(goals) >= 2:
            return Reply(content="no idea")
        return Reply(content=json.dumps(judgement(request)))

    server.llm = llm(judge)
    finished = project.run()
    assert finished.code == 3, finished.err
    [check] = finished.verdict.checks
    assert check.passed is None
    assert check.evaluated_conversations == 2
    assert "METRIC_NOT_EVALUATED" in finished.failures


def test_evaluate_expects_what_the_file_has_not_what_the_config_would_make(
    project: Project, server: ScriptedServer
) -> None:
    assert project.run("simulate", "--num_conversations_per_scenario=1").code == 0
    project.config |= GATES | {"num_conversations_per_scenario": 7}
    finished = project.run("evaluate", "--simulation_file_path", str(project.folder / "simulation.json"))
    assert finished.code == 0, finished.err
    assert finished.verdict.coverage.expected_conversations == 1


def test_row_29_one_unlucky_conversation_of_ten_is_tolerated_by_min_pass_rate(
    project: Project, server: ScriptedServer
) -> None:
    project.config |= {"numeric_thresholds": {"goal_completion": 0.5}, "num_conversations_per_scenario": 10}
    project.config |= {"max_turns": 1}
    goals = iter(range(1000))

    def judge(request: Request) -> Reply:
        unlucky = request.question == "judge_goal" and next(goals) % 10 == 0
        return Reply(content=json.dumps(judgement(request, goal_completion=0 if unlucky else 1)))

    server.llm = llm(judge)
    assert project.run().code == 1
    finished = project.run("simulate-evaluate", "--min-pass-rate=0.9")
    assert finished.code == 0, finished.err
    assert finished.verdict.checks[0].pass_rate == 0.9
    assert project.run("simulate-evaluate", "--min-pass-rate=0.91").code == 1
