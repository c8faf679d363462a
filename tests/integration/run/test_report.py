"""`report`: the same bytes again from the JSON files alone, and what became of an earlier run's errors."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.hostile import HOSTILE
from tests.support.project import Finished, Project, arksim_ci, judgement, llm, scenario
from tests.support.scripted_server import Reply, Request, Script, ScriptedServer

KEY = "sk-0123456789abcdef"
GATES = {"numeric_thresholds": {"overall_score": 0.9, "faithfulness": 4}}
REPORTS = {
    "final_report.html",
    "final_report.md",
    "agent_performance_per_convo.csv",
    "agent_performance_per_turn.csv",
    "unique_errors.csv",
    "junit.xml",
    "results.sarif",
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def report(folder: Path, *arguments: str, cwd: Path | None = None) -> Finished:
    return arksim_ci("report", str(folder), *arguments, output_dir=folder, cwd=cwd)


def faulty(*scenarios: str) -> Script:
    """A judge that finds false information in the first turn of conversations of these scenarios."""

    def judge(request: Request) -> Reply:
        wrong = any(f"goal of {name}" in request.text for name in scenarios)
        label = {"agent_behavior_failure": "false information"} if wrong else {}
        return Reply(content=json.dumps(judgement(request, **label, **({"faithfulness": 1} if wrong else {}))))

    return llm(judge)


@pytest.fixture
def project(tmp_path: Path, server: ScriptedServer) -> Project:
    made = Project(tmp_path, server)
    made.config |= GATES
    made.scenarios = [scenario(name, goal=f"You have the goal of {name}.") for name in ("fees", "returns")]
    return made


@pytest.mark.parametrize("command", ["simulate-evaluate", "simulate"])
def test_every_report_is_the_same_again(project: Project, server: ScriptedServer, command: str, tmp_path: Path) -> None:
    server.llm = faulty("fees", "returns")
    server.agent = lambda request: Reply(content=f"{' '.join(HOSTILE)} \ud83d {KEY}")
    project.config["api_key_env"] = "JUDGE_KEY"
    finished = project.run(command, environment={"JUDGE_KEY": KEY})
    assert finished.code in (0, 1), finished.err
    first = contents(project.output_dir)
    assert not any(KEY.encode() in text for text in first.values())
    assert finished.simulation.conversations[0].turns()
    assert (REPORTS if command != "simulate" else {"final_report.md", "junit.xml", "final_report.html"}) <= set(first)
    for name in REPORTS:
        (project.output_dir / name).unlink(missing_ok=True)
    again = report(project.output_dir, cwd=tmp_path.parent)
    assert again.code == 0, again.err
    second = contents(project.output_dir)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_a_moved_folder_gives_the_same_reports(project: Project, server: ScriptedServer, tmp_path: Path) -> None:
    server.llm = faulty("fees")
    project.run()
    first = contents(project.output_dir)
    moved = tmp_path / "elsewhere"
    shutil.move(project.output_dir, moved)
    assert report(moved).code == 0
    assert contents(moved) == first


def test_the_page_is_there_although_the_run_made_none(project: Project) -> None:
    project.config["generate_html_report"] = False
    project.run()
    assert not (project.output_dir / "final_report.html").exists()
    assert report(project.output_dir).code == 0
    assert (project.output_dir / "final_report.html").exists()


def test_against_an_earlier_run_each_error_is_fixed_still_there_or_not_exercised(
    project: Project, server: ScriptedServer, tmp_path: Path
) -> None:
    def apart(request: Request) -> Reply:
        """Each failure its own error."""
        if request.question == "recommend":
            fix = {"module": "Memory", "fix": "Read the policy."}
            return Reply(content=json.dumps({"module_fixes": [fix], "reasoning": "It is old.", "best": 0}))
        refs = [f"F{number}" for number in range(1, 100) if f'"F{number}"' in request.text]
        groups = [{"description": f"Cause {ref}.", "members": [ref]} for ref in refs]
        return Reply(content=json.dumps({"groups": groups}))

    project.scenarios.append(scenario("hours", goal="You have the goal of hours."))
    project.config |= {"num_conversations_per_scenario": 1, "max_turns": 1}

    def script(*scenarios: str) -> Script:
        judged = faulty(*scenarios)
        return lambda request: (
            apart(request) if request.question in ("recommend", "group_failures") else judged(request)
        )

    server.llm = script("fees", "returns", "hours")
    assert project.run().code == 1
    earlier = tmp_path / "earlier"
    shutil.move(project.output_dir, earlier)
    focus = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in (earlier / "focus").iterdir()}
    assert len(focus) == 4

    server.llm = script("returns")
    rerun = {
        "scenarios": [each for each in project.scenarios if each["scenario_id"] != "hours"],
        "schema_version": "v1",
    }
    (tmp_path / "two.json").write_text(json.dumps(rerun), encoding="utf-8")
    assert project.run("simulate-evaluate", "--scenario_file_path", str(tmp_path / "two.json")).code == 1
    compared = report(project.output_dir, "--against", str(earlier))
    assert compared.code == 0, compared.err
    lines = compared.out.splitlines()
    assert "3 unique errors before: 1 fixed, 1 still there, 1 not exercised" in lines
    listed = [line for line in lines if "critical" in line]
    assert [re.split(r"\s{2,}", line.strip())[0] for line in listed] == ["fixed", "still there", "not exercised"]
    assert "2. critical false information: Cause F2. (error 1 now: 1 place, 1 before)" in listed[1]
    assert "(not run, or not measured completely: hours)" in listed[2]


def test_a_rerun_of_a_focus_file_from_another_folder(project: Project, server: ScriptedServer, tmp_path: Path) -> None:
    server.llm = faulty("returns")
    project.run()
    earlier = tmp_path / "earlier"
    shutil.move(project.output_dir, earlier)
    server.llm = llm()
    other = tmp_path / "other folder"
    other.mkdir()
    focus, results = earlier / "focus" / "error_1.json", other / "results"
    rerun = arksim_ci(
        "simulate-evaluate",
        str(project.folder / "config.yaml"),
        "--scenario_file_path",
        str(focus),
        "--output_dir",
        "results",
        output_dir=results,
        cwd=other,
    )
    assert rerun.code == 0, rerun.err
    assert {each.scenario_id for each in rerun.simulation.conversations} == {"returns"}
    compared = report(results, "--against", str(earlier))
    assert "1 unique error before: 1 fixed" in compared.out


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: shutil.rmtree(folder), "there is no such folder; give the output_dir of a run"),
        (lambda folder: (folder / "verdict.json").unlink(), "verdict.json: there is no such file"),
        (lambda folder: (folder / "simulation.json").unlink(), "simulation.json: there is no such file"),
        (lambda folder: (folder / "evaluation.json").write_text("{"), "evaluation.json"),
        (lambda folder: (folder / "evaluation.json").write_text("[]"), "evaluation.json"),
        (lambda folder: (folder / "recommendations.json").write_text('{"recommendations": 1}'), "recommendations"),
        (lambda folder: (folder / "verdict.json").write_text('{"status": "FINE"}'), "verdict.json: "),
    ],
)
def test_what_is_missing_or_broken_is_said(project: Project, spoil: object, said: str) -> None:
    project.run()
    assert callable(spoil)
    spoil(project.output_dir)
    finished = report(project.output_dir)
    assert finished.code == 2
    assert said in finished.err
    assert "Traceback" not in finished.err


def test_files_of_different_runs_are_refused(project: Project, tmp_path: Path) -> None:
    project.run()
    old = (project.output_dir / "evaluation.json").read_bytes()
    project.run()
    (project.output_dir / "evaluation.json").write_bytes(old)
    finished = report(project.output_dir)
    assert finished.code == 2
    assert "belongs to another run than verdict.json" in finished.err


def test_a_run_that_was_only_simulated_has_nothing_to_compare(project: Project) -> None:
    project.run("simulate")
    finished = report(project.output_dir, "--against", str(project.output_dir))
    assert finished.code == 2
    assert "was only simulated" in finished.err


def test_reports_are_never_written_through_a_link(project: Project, tmp_path: Path) -> None:
    project.run()
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (project.output_dir / "junit.xml").unlink()
    (project.output_dir / "junit.xml").symlink_to(tmp_path / "precious")
    finished = report(project.output_dir)
    assert finished.code == 2
    assert "symbolic link" in finished.err
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"


def test_the_command_that_a_run_prints_reruns_what_failed(project: Project, server: ScriptedServer) -> None:
    server.llm = llm(faithfulness=1, agent_behavior_failure="false information")
    first = project.run("simulate-evaluate", "--output_dir", "out")
    folder = project.folder / "out"
    command = "arksim-ci simulate-evaluate config.yaml --scenario_file_path out/focus/error_1.json --output_dir rerun"
    assert f"Rerun only what failed: {command}" in first.out
    told = (folder / "final_report.md").read_text(encoding="utf-8")
    assert command in told
    assert "RUN_ID" not in told
    assert f"Folder  {folder}\n" in first.out
    assert first.out.count(str(folder)) == 2  # the folder, and the report's address
    assert (folder / "final_report.html").as_uri() in first.out
    assert "focus/error_1.json" in first.out

    before = contents(folder)
    again = arksim_ci(*command.split()[1:], cwd=project.folder)
    assert "Only the 2 scenarios of the focus file error_1.json ran" in again.out
    assert contents(folder) == before
    same = arksim_ci(*command.split()[1:-2], "--output_dir", "out", cwd=project.folder)
    assert "This rerun replaces the results that error_1.json came from" in same.err
    assert "This rerun replaces the results that error_1.json came from" in same.out


def test_the_folder_of_the_project_is_no_folder_of_results(project: Project) -> None:
    project.run()
    told = report(project.folder)
    assert told.code == 2
    assert "holds no results of a run; did you mean" in told.err
