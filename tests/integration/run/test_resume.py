"""An interrupted run goes on where it was: nothing that is finished is paid for twice, and the result is that of an undisturbed one."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Finished, Project, judgement, llm, scenario
from tests.support.running import Running
from tests.support.scripted_server import Reply, Request, ScriptedServer, wait_until

SCENARIOS = 16
TURNS = 3
KILLS = 12
WRONG = {("S02", 1), ("S05", 2), ("S05", 0)}

Work = tuple[str, str, int | None]
"""Who is asked (user, agent, judge), in which scenario, about which turn (None for the whole conversation)."""


def name_of(text: str) -> str:
    found = re.search(r"S\d\d", text)
    assert found, text
    return found.group()


def last_turn(text: str) -> int:
    return max(int(number) for number in re.findall(r"question (\d+)", text))


def slow(delay: float) -> dict[str, Any]:
    """Scripts whose answers depend on what they are asked alone."""

    def user(request: Request) -> Reply:
        said = sum(message["role"] == "assistant" for message in request.body["messages"])
        return Reply(content=f"{name_of(request.text)} question {said}, please?", delay=delay)

    def judge(request: Request) -> Reply:
        if request.question == "judge_goal":
            return Reply(content=json.dumps(judgement(request)), delay=delay)
        wrong = (name_of(request.text), last_turn(request.text)) in WRONG
        label = "false information" if wrong else "no failure"
        return Reply(content=json.dumps(judgement(request, agent_behavior_failure=label)), delay=delay)

    def agent(request: Request) -> Reply:
        asked = request.body["messages"][-1]["content"]
        return Reply(content=f"{name_of(asked)} answer {last_turn(asked)}.", delay=delay)

    return {"llm": llm(judge, user), "agent": agent}


def prepared(project: Project, server: ScriptedServer, delay: float = 0.02) -> Project:
    scripts = slow(delay)
    server.llm, server.agent = scripts["llm"], scripts["agent"]
    project.scenarios = [
        scenario(f"S{number:02d}", goal=f"You want to know of S{number:02d}.") for number in range(SCENARIOS)
    ]
    project.config |= {"num_conversations_per_scenario": 1, "max_turns": TURNS, "num_workers": 2}
    return project


def work_of(server: ScriptedServer) -> Counter[Work]:
    """What was asked, and how often."""
    done: Counter[Work] = Counter()
    for request in server.requests["agent"]:
        text = request.body["messages"][-1]["content"]
        done["agent", name_of(text), last_turn(text)] += 1
    for request in server.requests["llm"]:
        if request.question == "judge_goal":
            done["judge", name_of(request.text), None] += 1
        elif request.question == "judge_turn":
            done["judge", name_of(request.text), last_turn(request.text)] += 1
        elif request.question == "":
            said = sum(message["role"] == "assistant" for message in request.body["messages"])
            done["user", name_of(request.text), said] += 1
    return done


def forget(server: ScriptedServer) -> None:
    for requests in server.requests.values():
        requests.clear()


def finished_work(folder: Path) -> set[Work]:
    """What the journal says is finished, whole lines only."""
    path = folder / "journal.jsonl"
    if not path.exists():
        return set()
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    scenario_of = {
        line["conversation"]["conversation"]["conversation_id"]: line["conversation"]["conversation"]["scenario_id"]
        for line in lines
        if "conversation" in line
    }
    done: set[Work] = set()
    for name in scenario_of.values():
        done |= {(who, name, turn) for who in ("user", "agent") for turn in range(TURNS)}
    for line in lines:
        found = line.get("judgement")
        if found and found["conversation_id"] in scenario_of:
            done.add(("judge", scenario_of[found["conversation_id"]], found["turn_id"]))
    return done


def comparable(finished: Finished) -> tuple[Any, Any]:
    """Evaluation and verdict without what differs between any two runs: ids and times."""
    text = json.dumps([finished.file("evaluation.json"), finished.file("verdict.json")])
    for index, each in enumerate(finished.evaluation.conversations):
        text = text.replace(each.conversation_id, f"conversation {index}")
    for index, error in enumerate(finished.evaluation.unique_errors):
        text = text.replace(error.unique_error_id, f"error {index}")
    evaluation, verdict = json.loads(text)
    for document in (evaluation, verdict):
        for key in ("generated_at", "evaluation_id", "simulation_id", "run", "usage", "warnings"):
            document.pop(key, None)
    return evaluation, verdict


@pytest.fixture
def undisturbed(tmp_path: Path, server: ScriptedServer) -> Finished:
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    finished = prepared(Project(folder, server), server).run()
    assert finished.code == 0, finished.err
    assert finished.evaluation.unique_errors
    forget(server)
    return finished


def test_killed_again_and_again_nothing_finished_is_paid_for_twice(
    project: Project, server: ScriptedServer, undisturbed: Finished
) -> None:
    prepared(project, server, delay=0.03)
    rand = random.Random(4)
    reused = False
    for _ in range(KILLS):
        done = finished_work(project.output_dir)
        running = Running(project)
        enough = rand.randint(2, 30)

        def served(enough: int = enough) -> bool:
            return len(server.requests["llm"]) + len(server.requests["agent"]) >= enough

        wait_until(lambda run=running, is_enough=served: run.over or is_enough(), 30)  # type: ignore[misc]
        assert not running.over
        running.kill()
        assert not done & work_of(server).keys()
        reused = reused or bool(done)
        forget(server)
    assert reused

    done = finished_work(project.output_dir)
    finished = project.run()
    assert finished.code == 0, finished.err
    assert not done & work_of(server).keys()
    assert comparable(finished) == comparable(undisturbed)
    [told] = [warning for warning in finished.verdict.warnings if "were reused" in warning]
    assert "finished conversation" in told
    assert told in finished.err
    assert finished.verdict.usage.judge.calls < SCENARIOS * (TURNS + 1)


def test_a_run_that_used_up_its_budget_is_finished_by_starting_it_again(
    project: Project, server: ScriptedServer, undisturbed: Finished
) -> None:
    prepared(project, server).config |= {"max_llm_calls": 30, "num_workers": 1}
    simulation_ids = set()
    for _ in range(8):
        finished = project.run()
        simulation_ids.add(finished.verdict.simulation_id)
        if finished.code != 3:
            break
        assert finished.verdict.status == "BUDGET_REACHED"
    assert finished.code == 0, finished.err
    assert len(simulation_ids) == 1
    assert comparable(finished)[0] == comparable(undisturbed)[0]


def test_what_only_the_judge_did_not_measure_costs_only_the_judge(project: Project, server: ScriptedServer) -> None:
    project.config |= {"numeric_thresholds": {"goal_completion": 0.5}}

    def judge(request: Request) -> Reply:
        if request.question == "judge_goal":
            return Reply(content="I would rather not.")
        return Reply(content=json.dumps(judgement(request)))

    server.llm = llm(judge)
    before = project.run()
    assert before.code == 3, before.err
    ids = ids_of(before)
    forget(server)
    server.llm = llm()
    after = project.run()
    assert after.code == 0, after.err
    assert {request.question for request in server.requests["llm"]} == {"judge_goal"}
    assert server.requests["agent"] == []
    assert ids_of(after) == ids
    assert "2 finished conversations and 4 judgements were reused" in after.verdict.warnings[0]


def test_evaluate_is_resumed_too(project: Project, server: ScriptedServer) -> None:
    assert project.run("simulate").code == 0
    project.config |= {"simulation_file_path": "./simulation.json", "max_llm_calls": 3, "num_workers": 1}
    before = project.run("evaluate")
    assert before.code == 3, before.err
    forget(server)
    after = project.run("evaluate")
    assert after.code == 0, after.err
    assert len(server.requests["llm"]) == 3
    assert "3 judgements were reused" in after.verdict.warnings[0]


def ids_of(finished: Finished) -> tuple[str, ...]:
    """The ids of a run, read off its files now: the next run overwrites them."""
    evaluation = finished.evaluation
    conversations = [each.conversation_id for each in evaluation.conversations]
    return (evaluation.simulation_id, evaluation.evaluation_id, *conversations)


def simulation_id(finished: Finished) -> str:
    return finished.verdict.simulation_id


def interrupted(project: Project, environment: dict[str, str] | None = None) -> str:
    """A run that came through two of its three conversations. Returns its simulation id."""
    project.config |= {"max_llm_calls": 11, "num_workers": 1, "num_conversations_per_scenario": 3}
    finished = project.run(environment=environment)
    assert finished.code == 3, finished.err
    assert finished.verdict.status == "BUDGET_REACHED"
    return simulation_id(finished)


def test_a_complete_run_is_never_resumed(project: Project, server: ScriptedServer) -> None:
    first = simulation_id(project.run())
    asked = len(server.requests["llm"])
    forget(server)
    second = project.run()
    assert second.code == 0, second.err
    assert len(server.requests["llm"]) == asked
    assert simulation_id(second) != first
    assert not any("reused" in warning for warning in second.verdict.warnings)


def test_a_run_with_a_silent_agent_is_complete(project: Project, server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(status=500, body={"error": "down"})
    first = project.run()
    assert first.code == 1
    first_id = simulation_id(first)
    server.agent = lambda request: Reply(content="Within 30 days.")
    second = project.run()
    assert second.code == 0
    assert simulation_id(second) != first_id


def test_fresh_starts_anew(project: Project) -> None:
    before = interrupted(project)
    after = project.run("simulate-evaluate", "--fresh")
    assert simulation_id(after) != before
    assert not any("reused" in warning for warning in after.verdict.warnings)


def test_one_byte_of_the_agents_source_makes_it_another_run(project: Project, server: ScriptedServer) -> None:
    source = project.folder / "agent.py"
    source.write_text("DAYS = 30\n", encoding="utf-8")
    project.config["code_paths"] = ["./agent.py"]
    before = interrupted(project)
    source.write_text("DAYS = 31\n", encoding="utf-8")
    forget(server)
    after = project.run()
    assert simulation_id(after) != before
    assert "set aside: changed since then: the agent's source." in after.err
    assert not any("reused" in warning for warning in after.verdict.warnings)
    assert len(server.requests["llm"]) == 11


def test_other_output_paths_are_no_other_inputs(project: Project) -> None:
    before = interrupted(project)
    project.config["output_file_path"] = "./elsewhere.json"
    assert simulation_id(project.run()) == before


def test_the_python_door_never_reads_a_journal_that_it_finds(project: Project) -> None:
    from arksim_ci.api import run

    before = interrupted(project)
    assert run(project.write()).verdict.simulation_id != before


def test_a_torn_end_is_mended_and_garbage_is_ignored(project: Project) -> None:
    before = interrupted(project)
    path = project.output_dir / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(2, b"\xff\xfe garbage {\n")
    lines.insert(3, b'{"judgement":{"conversation_id":"x","turn_id":0,"measured":[{"metric":"m","value":NaN}]}}\n')
    lines.insert(4, b'{"conversation":' + b"[" * 100_000 + b"\n")
    path.write_bytes(b"".join(lines) + b'{"judgement":{"conversation_id":"')
    after = project.run()
    assert after.code == 0, after.err
    assert simulation_id(after) == before
    assert any("3 lines of journal.jsonl can't be read" in warning for warning in after.verdict.warnings)
    last = path.read_bytes().splitlines()[-1]
    assert json.loads(last) == {"complete": True}


def test_a_header_of_somebody_else_is_no_journal(project: Project) -> None:
    project.output_dir.mkdir(parents=True)
    (project.output_dir / "journal.jsonl").write_text('{"run": 7}\nhello\n', encoding="utf-8")
    finished = project.run()
    assert finished.code == 0, finished.err


@pytest.mark.parametrize("kind", ["link", "dangling link", "fifo"])
def test_what_is_no_file_is_replaced_and_not_followed(project: Project, tmp_path: Path, kind: str) -> None:
    project.output_dir.mkdir(parents=True)
    path, target = project.output_dir / "journal.jsonl", tmp_path / "precious.txt"
    if kind == "fifo":
        import os

        os.mkfifo(path)
    else:
        path.symlink_to(target)
    if kind == "link":
        target.write_text("precious", encoding="utf-8")
    finished = project.run()
    assert finished.code == 0, finished.err
    assert not path.is_symlink()
    assert path.is_file()
    assert (target.read_text(encoding="utf-8") if target.exists() else None) == ("precious" if kind == "link" else None)


def test_no_secret_is_in_the_journal_and_the_run_goes_on_all_the_same(project: Project, server: ScriptedServer) -> None:
    secret = "tok-91d0c7aa35"
    project.config["agent_config"]["api_config"]["headers"] = {"Authorization": "Bearer ${AGENT_TOKEN}"}
    server.agent = lambda request: Reply(content=f"My token is {request.headers['Authorization']}.")
    environment = {"AGENT_TOKEN": secret}
    before = interrupted(project, environment)
    journal = (project.output_dir / "journal.jsonl").read_text(encoding="utf-8")
    assert secret not in journal
    assert "My token is" in journal
    after = project.run(environment={"AGENT_TOKEN": "tok-another-one"})
    assert after.code == 0, after.err
    assert simulation_id(after) == before
