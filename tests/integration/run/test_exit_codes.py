"""Every exit code and every failure type, through the command line and over real HTTP."""

from __future__ import annotations

import json

from tests.support.project import Project, judgement, llm, scenario, talkative
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion

GATES = {
    "numeric_thresholds": {"faithfulness": 3.5, "goal_completion": 0.8, "overall_score": 0.7},
    "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
}


def test_0_when_everything_was_measured_and_every_gate_passed(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES
    finished = project.run()
    assert finished.code == 0, finished.err
    assert finished.verdict.passed is True
    assert finished.failures == []
    assert finished.verdict.score == 100
    assert "Gate passed" in finished.out
    assert finished.files == [
        "agent_performance_per_convo.csv",
        "agent_performance_per_turn.csv",
        "evaluation.json",
        "final_report.html",
        "final_report.md",
        "journal.jsonl",
        "junit.xml",
        "recommendations.json",
        "results.sarif",
        "simulation.json",
        "unique_errors.csv",
        "verdict.json",
    ]
    usage = finished.verdict.usage
    asked = len(server.requests["llm"])
    assert usage.judge.calls + usage.simulated_user.calls + usage.analysis.calls == asked
    assert usage.judge.input_tokens == 100 * usage.judge.calls


def test_0_without_gates_where_everything_was_measured(project: Project) -> None:
    finished = project.run()
    assert finished.code == 0, finished.err
    assert finished.verdict.passed is None


def test_1_when_a_threshold_is_missed(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES
    server.llm = llm(faithfulness=2)
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.failures == ["METRIC_BELOW_MIN_PASS_RATE"]
    assert finished.verdict.passed is False
    assert "faithfulness" in finished.out


def test_1_when_a_forbidden_label_is_found_with_its_unique_error_fix_and_focus_file(
    project: Project, server: ScriptedServer
) -> None:
    project.config |= GATES
    project.scenarios = [scenario("returns"), scenario("exchange")]

    def judge(request: Request) -> Reply:
        wrong = "exchange" in request.text and request.question == "judge_turn"
        label = "False Information " if wrong else "no failure"
        return Reply(content=json.dumps(judgement(request, agent_behavior_failure=label)))

    project.scenarios[1]["goal"] = "You want to exchange shoes."
    server.llm = llm(judge)
    finished = project.run()
    assert finished.code == 1, finished.err
    assert set(finished.failures) == {"FAILURE_LABEL_FOUND", "METRIC_BELOW_MIN_PASS_RATE"}
    [error] = finished.evaluation.unique_errors
    assert error.severity == "critical"
    assert len(error.occurrences) == 4
    assert [mapping.scenario_ids for mapping in finished.evaluation.error_scenario_mappings] == [["exchange"]]
    assert [each["scenario_id"] for each in finished.file("focus/error_1.json")["scenarios"]] == ["exchange"]
    [advice] = finished.file("recommendations.json")["recommendations"]
    assert advice["best_module_fix"] == "Memory: Read the days from the current policy."


def test_1_when_an_assertion_fails(project: Project, server: ScriptedServer) -> None:
    expected = [{"name": "cancel_order", "arguments": {"id": 7}, "arg_match_mode": "exact"}]
    project.scenarios = [scenario(assertions=[{"type": "tool_calls", "expected": expected}])]
    call = {"id": "1", "type": "function", "function": {"name": "refund", "arguments": '{"id": 7}'}}
    server.agent = lambda request: Reply(body=completion(None, tool_calls=[call]))
    finished = project.run()
    assert finished.code == 1, finished.err
    assert set(finished.failures) == {"ASSERTION_FAILED"}
    assert finished.simulation.conversations[0].turns()[0].agent.tool_calls[0].name == "refund"  # type: ignore[index]


def test_1_when_the_agent_never_spoke(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES
    server.agent = lambda request: Reply(status=500, body={"error": "down"})
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.failures[0] == "AGENT_NEVER_SPOKE"
    attempts = finished.verdict.attempts
    assert (attempts.test_cases, attempts.attempts, attempts.still_silent) == (2, 4, 2)
    assert {each.evaluation_status for each in finished.evaluation.conversations} == {"Evaluation Failed"}
    assert "HTTP 500" in json.dumps(finished.file("simulation.json"))


def test_1_when_the_agent_stops_answering_and_its_turns_are_still_judged(
    project: Project, server: ScriptedServer
) -> None:
    def agent(request: Request) -> Reply:
        first = len(request.body["messages"]) == 1
        return Reply(content="Within 30 days.") if first else Reply(status=500, body={"error": "down"})

    server.agent = agent
    finished = project.run()
    assert finished.code == 1, finished.err
    [failure] = finished.verdict.failures
    assert failure.type == "AGENT_NEVER_SPOKE"
    assert (failure.never_spoke, failure.stopped_answering) == (0, 2)
    for conversation in finished.simulation.conversations:
        assert [message.role for message in conversation.conversation_history] == [
            "simulated_user",
            "assistant",
            "simulated_user",
        ]
    for evaluated in finished.evaluation.conversations:
        assert evaluated.evaluation_status == "Evaluation Failed"
        assert [score.value for score in evaluated.turn_scores[0].scores] == [5.0] * 5


def test_2_when_the_configuration_is_wrong_and_an_old_verdict_is_gone(project: Project) -> None:
    assert project.run().code == 0
    project.config["numeric_threshold"] = {"faithfulness": 3}
    finished = project.run()
    assert finished.code == 2
    assert 'did you mean "numeric_thresholds"' in finished.err
    assert not (project.output_dir / "verdict.json").exists()


def test_2_when_the_key_is_refused_before_anything_is_spent(project: Project, server: ScriptedServer) -> None:
    project.config["api_key_env"] = "JUDGE_KEY"
    server.models = lambda request: Reply(status=401, body={"error": {"message": "Incorrect API key provided"}})
    finished = project.run(environment={"JUDGE_KEY": "sk-0123456789abcdef"})
    assert finished.code == 2
    assert "JUDGE_KEY" in finished.err
    assert "sk-0123456789abcdef" not in finished.err + finished.out
    assert server.requests["llm"] == server.requests["agent"] == []
    assert not (project.output_dir / "verdict.json").exists()


def test_2_when_the_model_is_unknown(project: Project, server: ScriptedServer) -> None:
    error = {"message": "The model `scripted-1` does not exist", "code": "model_not_found"}
    server.models = lambda request: Reply(status=404, body={"error": error})
    finished = project.run()
    assert finished.code == 2
    assert "set `model`" in finished.err
    assert server.requests["llm"] == []


def test_3_when_the_judge_fails_everywhere(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES
    server.llm = llm(lambda request: Reply(content="I would rather not."))
    finished = project.run()
    assert finished.code == 3, finished.err
    assert "INCOMPLETE_COVERAGE" in finished.failures
    assert "METRIC_NOT_EVALUATED" in finished.failures
    assert finished.verdict.passed is False
    turn = finished.evaluation.conversations[0].turn_scores[0]
    assert (turn.scores, turn.turn_score, turn.turn_behavior_failure) == ([], -1, "evaluation_run_failed")
    assert {each.overall_agent_score for each in finished.evaluation.conversations} == {-1}


def test_3_when_a_limit_is_reached_and_what_is_finished_is_kept(project: Project) -> None:
    project.config |= {"max_llm_calls": 5, "num_workers": 1}
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "BUDGET_REACHED"
    assert finished.failures[0] == "RUN_NOT_COMPLETED"
    assert len(finished.simulation.conversations) == 2
    assert sum(len(each.turns()) for each in finished.simulation.conversations) >= 1


def test_3_when_the_time_is_over(project: Project, server: ScriptedServer) -> None:
    project.config |= {"run_timeout_seconds": 4, "max_turns": 5}

    def slow(request: Request) -> Reply:
        reply = talkative(request)
        return Reply(content=reply.content, delay=0.0 if len(request.body["messages"]) < 4 else 30.0)

    server.llm = llm(user=slow)
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "TIMED_OUT"
    assert {len(each.turns()) for each in finished.simulation.conversations} == {1}
    assert all("run_timeout_seconds" in str(each.not_finished) for each in finished.simulation.conversations)


def test_3_when_the_provider_is_down(project: Project, server: ScriptedServer) -> None:
    project.config["base_url"] = "http://127.0.0.1:9/v1"
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "FAILED"
    assert finished.failures[0] == "RUN_NOT_COMPLETED"
    assert server.requests["agent"] == []


def test_a_failed_gate_wins_over_what_was_not_measured(project: Project, server: ScriptedServer) -> None:
    project.config |= GATES

    def judge(request: Request) -> Reply:
        if request.question == "judge_goal":
            return Reply(content="no")
        return Reply(content=json.dumps(judgement(request, faithfulness=1)))

    server.llm = llm(judge)
    finished = project.run()
    assert finished.code == 1, finished.err
    assert {"METRIC_BELOW_MIN_PASS_RATE", "METRIC_NOT_EVALUATED"} <= set(finished.failures)


def test_simulate_then_evaluate_are_the_two_halves(project: Project, server: ScriptedServer) -> None:
    simulated = project.run("simulate")
    assert simulated.code == 0, simulated.err
    assert (project.folder / "simulation.json").is_file()
    assert {request.question for request in server.requests["llm"]} == {""}
    project.config |= {"simulation_file_path": "./simulation.json", **GATES}
    server.requests["agent"].clear()
    evaluated = project.run("evaluate")
    assert evaluated.code == 0, evaluated.err
    assert server.requests["agent"] == []
    assert evaluated.verdict.simulation_id == simulated.file("simulation.json")["simulation_id"]
    assert evaluated.verdict.coverage.evaluated_conversations == 2


def test_a_refused_key_takes_no_earlier_result_away_but_the_verdict(project: Project, server: ScriptedServer) -> None:
    assert project.run().code == 0
    before = set(project.run().files)
    server.models = lambda request: Reply(status=401, body={"error": {"message": "Incorrect API key provided"}})
    finished = project.run()
    assert finished.code == 2
    assert set(finished.files) == before - {"verdict.json"}
