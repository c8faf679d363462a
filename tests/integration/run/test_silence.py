"""Agents that fall silent: attempts are made again and counted, and too much silence is a failure of its own (rows 13, 15, 16, 22)."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest

from tests.support.project import Project, llm, scenario, talkative
from tests.support.scripted_server import Reply, Request, ScriptedServer

SILENCES = {
    "error status": Reply(status=500, body={"error": "down"}),
    "empty answer": Reply(content=""),
    "white space": Reply(content=" \n"),
    "null content": Reply(content=None),
    "no JSON": Reply(body=b"<html>Bad gateway</html>"),
    "cut off": Reply(drop=True),
}


def named(request: Request) -> Reply:
    """A user who says which scenario it is from."""
    goal = next(word for word in request.text.split() if word.startswith("CASE"))
    return Reply(content=f"{goal} {talkative(request).content}")


def cases(project: Project, count: int) -> None:
    project.scenarios = [
        scenario(f"s{number}", goal=f"You want to know about CASE{number:02d} only.") for number in range(count)
    ]
    project.config["num_conversations_per_scenario"] = 1


def case_of(request: Request) -> int:
    return int(request.text.split("CASE")[1][:2])


def turn_of(request: Request) -> int:
    return sum(message["role"] == "assistant" for message in request.body["messages"])


@pytest.mark.parametrize("kind", SILENCES)
def test_an_attempt_without_a_word_is_made_again_and_counted(
    project: Project, server: ScriptedServer, kind: str
) -> None:
    """The first attempt of each of two test cases is silent, the second is not."""
    cases(project, 2)
    server.llm = llm(user=named)
    seen: Counter[int] = Counter()

    def agent(request: Request) -> Reply:
        seen[case_of(request)] += 1
        return SILENCES[kind] if seen[case_of(request)] == 1 else Reply(content="Within 30 days.")

    server.agent = agent
    finished = project.run()
    assert finished.code == 0, finished.err
    attempts = finished.verdict.attempts
    assert (attempts.test_cases, attempts.attempts, attempts.silent_attempts) == (2, 4, 2)
    assert (attempts.retries, attempts.still_silent) == (2, 0)
    assert {each.attempts for each in finished.simulation.conversations} == {2}
    openings = [request.text for request in server.requests["agent"] if turn_of(request) == 0]
    assert len(openings) == 4
    assert len(set(openings)) == 2  # a test case starts with the same words each time


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_it_is_made_again_as_often_as_configured_and_no_more(
    project: Project, server: ScriptedServer, retries: int
) -> None:
    project.config |= {"max_no_response_retries": retries, "num_conversations_per_scenario": 1}
    server.agent = lambda request: Reply(status=500, body={"error": "no model loaded"})
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.failures == ["AGENT_NEVER_SPOKE"]
    attempts = finished.verdict.attempts
    assert (attempts.attempts, attempts.retries, attempts.still_silent) == (retries + 1, retries, 1)
    assert len(server.requests["agent"]) == retries + 1
    [conversation] = finished.simulation.conversations
    assert conversation.agent_silence is not None
    assert conversation.agent_silence.kind == "never_spoke"
    assert "no model loaded" in conversation.agent_silence.cause
    assert [message.role for message in conversation.conversation_history] == ["simulated_user"]


def test_before_another_attempt_the_backoff_is_waited_for(project: Project, server: ScriptedServer) -> None:
    project.config |= {"no_response_retry_backoff_seconds": 1.2, "num_conversations_per_scenario": 1}
    times: list[float] = []

    def agent(request: Request) -> Reply:
        times.append(time.monotonic())
        return Reply(content="" if len(times) == 1 else "Within 30 days.")

    server.agent = agent
    assert project.run().code == 0
    assert times[1] - times[0] >= 1.2


def test_nobody_listens_at_the_endpoint(project: Project) -> None:
    project.config["agent_config"]["api_config"]["endpoint"] = "http://127.0.0.1:9/agent"
    finished = project.run()
    assert finished.code == 1, finished.err
    [failure] = finished.verdict.failures
    assert failure.type == "AGENT_NEVER_SPOKE"
    assert (failure.never_spoke, failure.test_cases) == (2, 2)
    assert "127.0.0.1:9" in json.dumps(finished.file("simulation.json"))


@pytest.mark.parametrize("since", [0, 1])
@pytest.mark.parametrize("gated", [True, False])
def test_row_15_nine_of_ten_test_cases_fall_silent(
    project: Project, server: ScriptedServer, since: int, gated: bool
) -> None:
    cases(project, 10)
    project.config["max_no_response_retries"] = 0
    if gated:
        project.config["numeric_thresholds"] = {"faithfulness": 3}
    server.llm = llm(user=named)

    def agent(request: Request) -> Reply:
        silent = case_of(request) != 4 and turn_of(request) >= since
        return Reply(status=500, body={"error": "down"}) if silent else Reply(content="Within 30 days.")

    server.agent = agent
    finished = project.run()
    assert finished.code == 1, finished.err
    [failure] = finished.verdict.failures
    assert failure.type == "AGENT_NEVER_SPOKE"
    counts = (failure.never_spoke, failure.stopped_answering, failure.test_cases)
    assert counts == ((9, 0, 10) if since == 0 else (0, 9, 10))
    states = [each.evaluation_status for each in finished.evaluation.conversations]
    assert states == ["Evaluation Failed" if number != 4 else "Done" for number in range(10)]
    turns = [len(each.turn_scores) for each in finished.evaluation.conversations]
    assert turns == [since if number != 4 else 2 for number in range(10)]


@pytest.mark.parametrize(("share", "code"), [(0.19, 1), (0.2, 0)])
def test_a_tolerated_share_leaves_checks_and_coverage_but_stays_in_the_files(
    project: Project, server: ScriptedServer, share: float, code: int
) -> None:
    """One of ten never speaks, one stops after its first turn, which is judged badly."""
    cases(project, 10)
    project.config |= {
        "max_never_spoke_share": share,
        "max_no_response_retries": 0,
        "numeric_thresholds": {"faithfulness": 3},
    }
    answer = llm(user=named)

    def judge(request: Request) -> Reply:
        bad = request.question == "judge_turn" and "CASE07" in request.text
        return (llm(faithfulness=1) if bad else answer)(request)

    def agent(request: Request) -> Reply:
        silent = case_of(request) == 3 or (case_of(request) == 7 and turn_of(request) > 0)
        return Reply(content="" if silent else "Within 30 days.")

    server.llm, server.agent = judge, agent
    finished = project.run()
    assert finished.code == code, finished.err
    assert finished.failures == ([] if code == 0 else ["AGENT_NEVER_SPOKE"])
    check = finished.verdict.checks[0]
    assert (check.passed_conversations, check.evaluated_conversations) == (8, 8)
    assert finished.verdict.coverage.expected_conversations == 8
    assert len(finished.evaluation.conversations) == 10
    silent = [each.agent_silence.kind for each in finished.simulation.conversations if each.agent_silence]
    assert silent == ["never_spoke", "stopped_answering"]
    assert finished.evaluation.conversations[7].turn_scores[0].scores


def test_row_13_a_user_that_stops_before_the_agent_spoke_is_no_result(project: Project, server: ScriptedServer) -> None:
    server.llm = llm(user=lambda request: Reply(content="###STOP###"))
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.failures == ["INCOMPLETE_COVERAGE"]
    assert server.requests["agent"] == []
    assert {each.overall_agent_score for each in finished.evaluation.conversations} == {-1}


AGENT = """
from arksim.simulation_engine.agent.base import BaseAgent

class Moody(BaseAgent):
    async def get_chat_id(self):
        return "c"

    async def execute(self, user_query, **kwargs):
        if "CASE01" in user_query:
            {failure}
        return "Within 30 days."
"""


@pytest.mark.parametrize("failure", ["return None", "raise RuntimeError('no')", "import os; os._exit(3)", "return ''"])
def test_row_16_a_custom_agent_that_fails_costs_its_own_conversation(
    project: Project, server: ScriptedServer, failure: str
) -> None:
    cases(project, 3)
    server.llm = llm(user=named)
    (project.folder / "agent.py").write_text(AGENT.format(failure=failure), encoding="utf-8")
    custom: dict[str, Any] = {"module_path": "./agent.py"}
    project.config["agent_config"] = {"agent_type": "custom", "agent_name": "moody", "custom_config": custom}
    project.config |= {"max_no_response_retries": 1, "num_workers": 1}
    finished = project.run()
    assert finished.code == 1, finished.err
    [failed] = finished.verdict.failures
    assert failed.type == "AGENT_NEVER_SPOKE"
    assert (failed.never_spoke, failed.stopped_answering) == (1, 0)
    assert [len(each.turns()) for each in finished.simulation.conversations] == [2, 0, 2]
    assert [each.evaluation_status for each in finished.evaluation.conversations] == [
        "Done",
        "Evaluation Failed",
        "Done",
    ]
    assert finished.verdict.attempts.attempts == 4


def test_a_test_case_in_which_the_agent_never_spoke_is_held_again_by_a_resumed_run(
    project: Project, server: ScriptedServer
) -> None:
    """The agent was down, and the judge too, so that the run was not complete; both are up again."""
    cases(project, 3)
    project.config |= {"max_no_response_retries": 0, "num_workers": 1}
    answer = llm(user=named)
    server.llm = lambda request: Reply(content="no") if request.question == "judge_goal" else answer(request)
    server.agent = lambda request: Reply(content="" if case_of(request) == 1 else "Within 30 days.")
    before = project.run()
    assert before.code == 1, before.err
    assert {"AGENT_NEVER_SPOKE", "INCOMPLETE_COVERAGE"} <= set(before.failures)
    before_id = before.verdict.simulation_id
    server.llm, server.agent = answer, lambda request: Reply(content="Within 30 days.")
    server.requests["agent"].clear()
    after = project.run()
    assert after.code == 0, after.err
    assert after.verdict.simulation_id == before_id
    assert {case_of(request) for request in server.requests["agent"]} == {1}
