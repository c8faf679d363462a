"""A run that is told to stop: within five seconds every file is there, what is finished is kept, and it can be resumed."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest

from tests.support.project import Finished, Project, judgement, llm, scenario, talkative
from tests.support.running import Running
from tests.support.scripted_server import Reply, Request, ScriptedServer, wait_until

SIGNALS = [signal.SIGTERM, signal.SIGINT]
HANGS = 120.0
FILES = {
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
}


def two_scenarios(project: Project) -> Project:
    """One conversation that comes to its end, and one in which somebody hangs."""
    project.scenarios = [scenario("quick"), scenario("stuck", goal="You want to know what is STUCK.")]
    project.config |= {"num_conversations_per_scenario": 1, "num_workers": 4}
    return project


def stuck(request: Request) -> bool:
    return "STUCK" in request.text


def user(request: Request) -> Reply:
    reply = talkative(request)
    return Reply(content=f"{'STUCK: ' if stuck(request) else ''}{reply.content}")


def stopped(project: Project, name: signal.Signals, when: Any, command: str = "simulate-evaluate") -> Finished:
    """Start a run, send the signal when the time has come, and hold the end to five seconds."""
    running = Running(project, command)
    wait_until(when, 30)
    running.send(name)
    seconds = running.seconds_until_the_end()
    finished = running.finish()
    assert seconds < 5, finished.err
    return finished


def judged_and_hanging(server: ScriptedServer, role: str, count: int) -> Any:
    """Whether the quick conversation is judged and so many stuck requests hang."""

    def condition() -> bool:
        goals = [request for request in server.requests["llm"] if request.question == "judge_goal"]
        return bool(goals) and server.in_flight[role] == count

    return condition


def in_order(finished: Finished, files: set[str] = FILES) -> None:
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "CANCELLED"
    assert finished.failures[0] == "RUN_NOT_COMPLETED"
    assert set(finished.files) == files
    assert "Traceback" not in finished.err


@pytest.mark.parametrize("name", SIGNALS)
def test_while_the_agent_hangs(project: Project, server: ScriptedServer, name: signal.Signals) -> None:
    two_scenarios(project)
    server.llm = llm(user=user)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if stuck(request) else 0)
    finished = stopped(project, name, judged_and_hanging(server, "agent", 1))
    in_order(finished)
    quick, broken = finished.simulation.conversations
    assert (len(quick.turns()), quick.not_finished) == (2, None)
    assert (len(broken.turns()), broken.not_finished) == (0, "it was told to stop")
    assert finished.evaluation.conversations[0].evaluation_status == "Done"

    server.agent = lambda request: Reply(content="Within 30 days.")
    server.requests["agent"].clear()
    before = finished.evaluation.simulation_id
    resumed = project.run()
    assert resumed.code == 0, resumed.err
    assert resumed.verdict.simulation_id == before
    assert all(stuck(request) for request in server.requests["agent"])
    assert resumed.simulation.conversations[0] == quick
    assert resumed.simulation.conversations[1].conversation_id != broken.conversation_id


@pytest.mark.parametrize("asked", ["", "judge_turn", "judge_goal"])
def test_while_the_llm_hangs(project: Project, server: ScriptedServer, asked: str) -> None:
    two_scenarios(project)
    answer = llm(user=user)

    def hangs(request: Request) -> Reply:
        reply = answer(request)
        if stuck(request) and request.question == asked:
            reply.delay = HANGS
        return reply

    server.llm = hangs
    finished = stopped(project, signal.SIGTERM, judged_and_hanging(server, "llm", 2 if asked == "judge_turn" else 1))
    in_order(finished)
    assert finished.evaluation.conversations[0].evaluation_status == "Done"
    turns = [len(each.turns()) for each in finished.simulation.conversations]
    assert turns == ([2, 0] if asked == "" else [2, 2])


@pytest.mark.parametrize("asked", ["find_unique_errors", "recommend"])
def test_while_root_causes_are_looked_for(project: Project, server: ScriptedServer, asked: str) -> None:
    answer = llm(agent_behavior_failure="false information")

    def hangs(request: Request) -> Reply:
        reply = answer(request)
        if request.question not in ("", "judge_turn", "judge_goal"):
            recommends = request.question == "recommend"
            reply.delay = HANGS if recommends == (asked == "recommend") else 0
        return reply

    server.llm = hangs

    def waits() -> bool:
        analysis = [each for each in server.requests["llm"] if each.question not in ("", "judge_turn", "judge_goal")]
        return server.in_flight["llm"] == 1 and len(analysis) == (2 if asked == "recommend" else 1)

    finished = stopped(project, signal.SIGTERM, waits)
    in_order(finished, {*FILES, "focus/error_1.json", "focus/all_failures.json"})
    assert len(finished.evaluation.unique_errors) == 1
    assert finished.file("recommendations.json")["recommendations"] == []


def test_while_the_provider_is_checked(project: Project, server: ScriptedServer) -> None:
    server.models = lambda request: Reply(body={"id": "scripted-1"}, delay=HANGS)
    finished = stopped(project, signal.SIGTERM, lambda: server.in_flight["models"] == 1)
    in_order(finished)
    assert server.requests["llm"] == server.requests["agent"] == []


def test_a_failed_gate_is_1_also_of_a_run_that_was_cancelled(project: Project, server: ScriptedServer) -> None:
    two_scenarios(project).config["numeric_thresholds"] = {"faithfulness": 3.5}
    server.llm = llm(user=user, faithfulness=1)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if stuck(request) else 0)
    finished = stopped(project, signal.SIGTERM, judged_and_hanging(server, "agent", 1))
    assert finished.code == 1, finished.err
    assert finished.verdict.status == "CANCELLED"
    assert "METRIC_BELOW_MIN_PASS_RATE" in finished.failures


def test_simulate_and_evaluate_stop_in_the_same_way(project: Project, server: ScriptedServer) -> None:
    two_scenarios(project)
    server.llm = llm(user=user)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if stuck(request) else 0)
    finished = stopped(
        project,
        signal.SIGINT,
        lambda: len(server.requests["agent"]) == 3 and server.in_flight["agent"] == 1,
        "simulate",
    )
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "CANCELLED"
    assert [len(each.turns()) for each in finished.simulation.conversations] == [2, 0]

    server.agent = lambda request: Reply(content="Within 30 days.")
    assert project.run("simulate").code == 0
    project.config["simulation_file_path"] = "./simulation.json"

    def judge(request: Request) -> Reply:
        hangs = request.question == "judge_turn" and stuck(request)
        return Reply(content=json.dumps(judgement(request)), delay=HANGS if hangs else 0)

    server.llm = llm(judge)
    finished = stopped(project, signal.SIGTERM, judged_and_hanging(server, "llm", 2), "evaluate")
    in_order(finished)
    assert finished.evaluation.conversations[0].evaluation_status == "Done"


AGENT = """
import asyncio, time
from arksim.simulation_engine.agent.base import BaseAgent

class Sleepy(BaseAgent):
    async def get_chat_id(self):
        return "c"

    async def execute(self, user_query, **kwargs):
        print("asked", flush=True)
        {hang}
        return "Hello"

    async def close(self):
        {hang}
"""


@pytest.mark.parametrize("hang", ["await asyncio.sleep(120)", "time.sleep(120)"])
def test_while_a_custom_agent_hangs_and_its_close_does_too(project: Project, server: ScriptedServer, hang: str) -> None:
    (project.folder / "agent.py").write_text(AGENT.format(hang=hang), encoding="utf-8")
    project.config["agent_config"] = {
        "agent_type": "custom",
        "agent_name": "sleepy",
        "custom_config": {"module_path": "./agent.py"},
    }
    project.config["num_conversations_per_scenario"] = 1
    running = Running(project)
    wait_until(lambda: len(server.requests["llm"]) == 1 and server.in_flight["llm"] == 0, 30)
    running.send(signal.SIGTERM)
    seconds = running.seconds_until_the_end()
    finished = running.finish()
    assert seconds < 5, finished.err
    in_order(finished)


def test_while_the_users_python_is_loaded_there_is_nothing_to_write(project: Project) -> None:
    (project.folder / "metric.py").write_text(
        "import time\nopen('loading', 'w').close()\ntime.sleep(120)\n", encoding="utf-8"
    )
    project.config["custom_metrics_file_paths"] = ["./metric.py"]
    running = Running(project)
    wait_until(lambda: (project.folder / "loading").exists(), 30)
    running.send(signal.SIGTERM)
    assert running.seconds_until_the_end() < 5
    finished = running.finish()
    assert finished.code == 3
    assert "cancelled before the run began; nothing was written" in finished.err
    assert not project.output_dir.exists()


def test_signals_that_come_together_are_one(project: Project, server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(content="Hello", delay=HANGS)
    running = Running(project)
    wait_until(lambda: server.in_flight["agent"] > 0, 30)
    running.send(signal.SIGINT)
    running.send(signal.SIGINT)
    running.send(signal.SIGTERM)
    finished = running.finish()
    in_order(finished)


def test_a_second_signal_later_ends_the_process_at_once(project: Project, server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(content="Hello", delay=HANGS)
    running = Running(project)
    wait_until(lambda: server.in_flight["agent"] > 0, 30)
    running.send(signal.SIGTERM)
    time.sleep(1.3)
    running.send(signal.SIGTERM)
    assert running.seconds_until_the_end() < 0.7
    assert running.finish().code == -signal.SIGTERM
    assert (project.output_dir / "journal.jsonl").exists()


def test_what_is_shown_says_how_far_it_came_and_how_it_goes_on(project: Project, server: ScriptedServer) -> None:
    two_scenarios(project)
    server.llm = llm(user=user)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if stuck(request) else 0)
    finished = stopped(project, signal.SIGINT, judged_and_hanging(server, "agent", 1))
    assert "The run was cancelled: it was told to stop." in finished.out
    assert "1 of 2 conversations finished, " in finished.err.splitlines()[-1]
    assert "Start the same command again to go on where this run stopped" in finished.out
    server.agent = lambda request: Reply(content="Within 30 days.")
    assert "Start the same command again" not in project.run().out


def test_a_run_that_goes_on_from_nothing_says_so(project: Project, server: ScriptedServer) -> None:
    two_scenarios(project)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS)
    stopped(project, signal.SIGTERM, lambda: server.in_flight["agent"] == 2)
    server.agent = lambda request: Reply(content="Within 30 days.")
    again = project.run()
    assert "was interrupted before anything was finished: all is done anew." in again.err
    assert not again.verdict.warnings


def test_a_second_run_in_the_same_folder_is_refused_and_takes_nothing_from_the_first(
    project: Project, server: ScriptedServer
) -> None:
    two_scenarios(project)
    server.llm = llm(user=user)
    server.agent = lambda request: Reply(content="Within 30 days.", delay=HANGS if stuck(request) else 0)
    first = Running(project)
    wait_until(judged_and_hanging(server, "agent", 1), 30)
    second = project.run()
    assert second.code == 2
    assert "another run writes to it now; wait for its end, or choose another folder" in second.err
    first.send(signal.SIGTERM)
    in_order(first.finish())
