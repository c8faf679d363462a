"""The limits of a run: time, calls and cost, in every phase; what is finished is kept, and the total is bounded."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.support.project import Finished, Project, judgement, llm, scenario, talkative
from tests.support.scripted_server import Reply, Request, ScriptedServer

HANGS = 120.0
NO_ANALYSIS = ("", "judge_turn", "judge_goal")


def timed(project: Project, command: str = "simulate-evaluate") -> tuple[Finished, float]:
    started = time.monotonic()
    finished = project.run(command)
    return finished, time.monotonic() - started


def asked_of(server: ScriptedServer) -> int:
    return len(server.requests["llm"])


def calls_of(finished: Finished) -> int:
    usage = finished.verdict.usage
    return usage.simulated_user.calls + usage.judge.calls + usage.analysis.calls


@pytest.mark.parametrize("who", ["models", "agent", "user", "judge_turn", "judge_goal", "analysis"])
def test_the_run_ends_at_its_deadline_whoever_hangs(project: Project, server: ScriptedServer, who: str) -> None:
    project.config |= {"run_timeout_seconds": 3, "num_conversations_per_scenario": 1}
    answer = llm(agent_behavior_failure="false information")

    def hangs(request: Request) -> Reply:
        reply = answer(request)
        kind = {"": "user"}.get(request.question, request.question)
        if kind == who or (who == "analysis" and request.question not in NO_ANALYSIS):
            reply.delay = HANGS
        return reply

    server.llm = hangs
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if who == "agent" else 0)
    server.models = lambda request: Reply(body={"id": "scripted-1"}, delay=HANGS if who == "models" else 0)
    finished, seconds = timed(project)
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "TIMED_OUT"
    assert finished.failures[0] == "RUN_NOT_COMPLETED"
    assert seconds < 3 + 5
    turns = len(finished.simulation.conversations[0].turns())
    assert turns == (0 if who in ("models", "agent", "user") else 2)
    assert "run_timeout_seconds was over" in json.dumps(finished.file("verdict.json"))


def test_row_23_whoever_hangs_costs_its_own_conversation_only(project: Project, server: ScriptedServer) -> None:
    """The agent hangs in one conversation and the judge in another; nothing else is lost, and both say so."""
    project.scenarios = [scenario("agent", goal="AGENT"), scenario("judge", goal="JUDGE"), scenario("fine")]
    project.config |= {
        "num_conversations_per_scenario": 1,
        "max_turns": 1,
        "llm_timeout_seconds": 1.5,
        "agent_timeout_seconds": 1.5,
        "max_no_response_retries": 0,
        "run_timeout_seconds": 8,
    }

    def user(request: Request) -> Reply:
        if "AGENT" in request.text:
            return Reply(content="AGENT, hello?")
        return Reply(content=talkative(request).content, delay=1.2 if "JUDGE" in request.text else 0)

    def judge(request: Request) -> Reply:
        return Reply(content=json.dumps(judgement(request)), delay=HANGS if "JUDGE" in request.text else 0)

    server.llm = llm(judge, user)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if "AGENT" in request.text else 0)
    finished, seconds = timed(project)
    assert seconds < 8 + 5
    assert finished.code == 1, finished.err
    assert {"RUN_NOT_COMPLETED", "AGENT_NEVER_SPOKE"} <= set(finished.failures)
    silent, unjudged, fine = finished.simulation.conversations
    assert silent.agent_silence is not None
    assert "1.5" in silent.agent_silence.cause
    assert (len(unjudged.turns()), len(fine.turns())) == (1, 1)
    states = {each.conversation_id: each.evaluation_status for each in finished.evaluation.conversations}
    assert states[fine.conversation_id] == "Done", finished.verdict.warnings
    assert states[unjudged.conversation_id] == "Evaluation Failed"


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 6, 7, 12])
def test_never_more_calls_than_allowed_and_no_green_before_all_is_measured(
    project: Project, server: ScriptedServer, limit: int
) -> None:
    """One conversation of two turns takes 5 calls, its root cause and the advice 2 more."""
    project.config |= {"max_llm_calls": limit, "num_conversations_per_scenario": 1}
    server.llm = llm(agent_behavior_failure="false information")
    finished = project.run()
    assert asked_of(server) <= limit
    assert calls_of(finished) == asked_of(server)
    if limit < 7:
        assert finished.code == 3, finished.err
        assert finished.verdict.status == "BUDGET_REACHED"
        assert asked_of(server) == limit
        assert f"max_llm_calls reached: {limit} request" in json.dumps(finished.file("verdict.json"))
    else:
        assert finished.code == 0, finished.err
        assert finished.verdict.status == "COMPLETED"


def test_no_conversation_is_begun_once_the_budget_is_used_up(project: Project, server: ScriptedServer) -> None:
    project.config |= {"max_llm_calls": 5, "num_workers": 1, "num_conversations_per_scenario": 20}
    finished = project.run()
    assert finished.code == 3, finished.err
    begun = [each for each in finished.simulation.conversations if each.conversation_history]
    assert len(finished.simulation.conversations) == 20
    assert len(begun) <= 2
    assert {each.attempts for each in finished.simulation.conversations[3:]} == {0}


def test_at_most_what_is_in_flight_exceeds_the_cost(project: Project, server: ScriptedServer) -> None:
    """Every answer of the scripted server costs 100 input and 10 output tokens."""
    price = {"input": 1000, "cached_input": 1000, "output": 0}
    project.config |= {
        "prices": {"scripted-1": price},
        "max_cost_usd": 0.5,
        "num_workers": 2,
        "num_conversations_per_scenario": 5,
    }
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "BUDGET_REACHED"
    assert 5 <= asked_of(server) <= 5 + 2
    usage = finished.verdict.usage
    cost = sum(role.cost_usd or 0 for role in (usage.simulated_user, usage.judge, usage.analysis))
    assert cost == pytest.approx(0.1 * asked_of(server))
    assert "max_cost_usd reached" in json.dumps(finished.file("verdict.json"))


def test_a_failed_gate_is_1_at_a_limit_too(project: Project, server: ScriptedServer) -> None:
    project.config |= {
        "max_llm_calls": 12,
        "num_workers": 1,
        "num_conversations_per_scenario": 5,
        "numeric_thresholds": {"faithfulness": 3.5},
    }
    server.llm = llm(faithfulness=1)
    finished = project.run()
    assert finished.code == 1, finished.err
    assert finished.verdict.status == "BUDGET_REACHED"
    assert {"RUN_NOT_COMPLETED", "METRIC_BELOW_MIN_PASS_RATE"} <= set(finished.failures)


METRIC = """
from arksim.evaluator import QuantitativeMetric, QuantResult

class Curious(QuantitativeMetric):
    def __init__(self):
        super().__init__(name="curious", score_range=(0, 5))

    def score(self, score_input):
        {body}
        return QuantResult(name="curious", value=5, reason="r")
"""


def with_metric(project: Project, body: str, **config: Any) -> None:
    (project.folder / "metric.py").write_text(METRIC.format(body=body), encoding="utf-8")
    project.config |= {
        "custom_metrics_file_paths": ["./metric.py"],
        "metrics_to_run": ["helpfulness"],
        "num_conversations_per_scenario": 1,
        **config,
    }


@pytest.mark.parametrize("limit", [4, 5, 6])
def test_the_questions_of_a_custom_metric_count(project: Project, server: ScriptedServer, limit: int) -> None:
    """Two turns: two questions of the user, two of the judge, two of the metric."""
    with_metric(project, 'self.llm.call("How curious?")', max_llm_calls=limit)
    server.llm = lambda request: Reply(content="Very.") if "How curious?" in request.text else llm()(request)
    finished = project.run()
    assert asked_of(server) == limit
    assert calls_of(finished) == limit
    if limit < 6:
        assert finished.code == 3, finished.err
        assert finished.verdict.status == "BUDGET_REACHED"
    else:
        assert finished.code == 0, finished.err


def test_a_metric_that_swallows_the_limit_does_not_hide_it(project: Project) -> None:
    body = "\n        ".join(["try:", "    for n in range(50): self.llm.call(str(n))", "except Exception:", "    pass"])
    with_metric(project, body, max_llm_calls=20)
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "BUDGET_REACHED"


def test_the_offline_provider_is_held_to_the_calls_too(project: Project) -> None:
    project.config |= {"provider": "offline", "base_url": None, "model": None, "max_llm_calls": 3}
    finished = project.run()
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "BUDGET_REACHED"
    assert calls_of(finished) == 3


def test_a_cost_limit_needs_no_price_where_nothing_costs(project: Project) -> None:
    project.config |= {"provider": "offline", "base_url": None, "model": None, "max_cost_usd": 5}
    assert project.run("validate").code == 0
    finished = project.run()
    assert finished.code == 0, finished.err
    assert finished.verdict.status == "COMPLETED"


def test_validate_and_the_run_agree_on_a_cost_limit_without_a_price(project: Project) -> None:
    project.config |= {"provider": "ollama", "base_url": None, "model": "llama-x", "max_cost_usd": 5}
    for command in ("validate", "simulate-evaluate"):
        finished = project.run(command)
        assert finished.code == 2
        assert 'max_cost_usd: needs the price of the model "llama-x"' in finished.err
