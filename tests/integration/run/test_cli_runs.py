"""What a run shows in a terminal and in a log, and what it refuses to begin."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.project import (
    Project,
    arksim_ci,
    clean_environment,
    command_line,
    judgement,
    llm,
    scenario,
    talkative,
)
from tests.support.scripted_server import Reply, Request, ScriptedServer

GATES = {
    "numeric_thresholds": {"faithfulness": 3.5},
    "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class TestProgress:
    def test_off_a_terminal_lines_are_plain_and_the_block_is_on_standard_output(self, project: Project) -> None:
        finished = project.run()
        assert "\x1b" not in finished.out + finished.err
        assert "\r" not in finished.out + finished.err
        assert finished.err.splitlines()[0] == "Checking the provider ..."
        assert "2 of 2 conversations finished, 4 turns" in finished.err.splitlines()[-1]
        assert "Question number" not in finished.err + finished.out

    def test_a_long_run_says_every_few_seconds_how_far_it_is(self, project: Project, server: ScriptedServer) -> None:
        project.config |= {"num_workers": 1, "num_conversations_per_scenario": 6, "max_turns": 1}
        server.agent = lambda request: Reply(content="30 days.", delay=1.0)
        finished = project.run()
        lines = [line for line in finished.err.splitlines() if " of 6 conversations finished, " in line]
        assert 2 <= len(lines) <= 4, finished.err

    def test_verbose_prints_the_conversations_safely(self, project: Project, server: ScriptedServer) -> None:
        server.agent = lambda request: Reply(content="30 days.\n::error::forged\n\x1b[2J##[group]x\u202e")
        finished = project.run("simulate-evaluate", "--verbose")
        assert finished.code == 0, finished.err
        assert "Question number 1" in finished.err
        assert "30 days." in finished.err
        assert "[returns] turn 2" in finished.err
        assert not {"\x1b", "\u202e"} & set(finished.err)
        starts = [line.lstrip() for line in finished.err.splitlines()]
        assert not [line for line in starts if line.startswith(("::", "##["))]

    def test_on_a_terminal_there_are_colours_and_a_bar(self, project: Project, server: ScriptedServer) -> None:
        server.agent = lambda request: Reply(content="30 days.", delay=0.5)
        code, shown = on_a_terminal(project, {"TERM": "xterm-256color"})
        assert code == 0, shown
        assert "\x1b[1;32mGate passed" in shown or "\x1b[1;32m" in shown
        assert "━" in shown
        assert "conversations" in ANSI.sub("", shown)

    @pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
    def test_a_terminal_that_wants_no_colours_gets_none(self, project: Project, variables: dict[str, str]) -> None:
        code, shown = on_a_terminal(project, variables)
        assert code == 0, shown
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)


def on_a_terminal(project: Project, variables: dict[str, str]) -> tuple[int, str]:
    """Run on a pseudo-terminal; returns the exit code and what it showed."""
    project.config |= GATES
    config = project.write()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command_line("simulate-evaluate", str(config)),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean_environment(variables),
        close_fds=True,
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(10), shown.decode("utf-8", "replace")


class TestClosingBlock:
    def test_it_says_the_verdict_the_checks_the_errors_the_files_and_the_cost(
        self, project: Project, server: ScriptedServer
    ) -> None:
        prices = {"scripted-1": {"input": 1.0, "cached_input": 0.5, "output": 2.0}}
        project.config |= GATES | {"prices": prices}
        server.llm = llm(faithfulness=2, agent_behavior_failure="false information")
        finished = project.run()
        assert finished.code == 1
        out = finished.out
        assert out.startswith("Gate failed")
        for part in ("\nWhy\n", "\nChecks\n", "\nUnique errors\n", "\nFiles\n", "faithfulness", "critical", "Fix: "):
            assert part in out, out
        assert re.search(r"\$0\.\d+", out), out
        for name in ("verdict.json", "evaluation.json", "simulation.json", "final_report.html", "junit.xml"):
            assert re.search(rf"^  In it +.*\b{re.escape(name)}\b", out, re.M), out
        assert Path(re.findall(r"Report +file://(/.*)", out)[0]).is_file()

    def test_what_was_not_measured_is_said_with_its_cause(self, project: Project, server: ScriptedServer) -> None:
        project.config |= GATES
        server.llm = llm(lambda request: Reply(content="I'd rather not."))
        finished = project.run()
        assert finished.code == 3
        assert finished.out.startswith("Not decided")
        assert "not JSON" in finished.out

    def test_the_simulation_says_what_it_is(self, project: Project) -> None:
        finished = project.run("simulate")
        assert finished.code == 0
        assert "2 conversations" in finished.out
        assert "Checks" not in finished.out


class TestEvaluate:
    """The contract's rules for `evaluate`."""

    @pytest.fixture
    def simulated(self, project: Project) -> Project:
        project.scenarios = [scenario("returns"), scenario("exchange")]
        finished = project.run("simulate")
        assert finished.code == 0, finished.err
        project.config |= {"simulation_file_path": "./simulation.json", "agent_config": None}
        return project

    def test_a_scenario_that_the_file_lacks_is_exit_2(self, simulated: Project) -> None:
        simulated.scenarios = [scenario("returns")]
        finished = simulated.run("evaluate")
        assert finished.code == 2
        assert "exchange" in finished.err

    def test_a_scenario_without_a_conversation_is_a_warning(self, simulated: Project) -> None:
        simulated.scenarios.append(scenario("refund"))
        finished = simulated.run("evaluate")
        assert finished.code == 0, finished.err
        assert any("refund" in warning for warning in finished.verdict.warnings)
        assert finished.verdict.coverage.expected_conversations == 4

    def test_the_number_of_repetitions_is_ignored(self, simulated: Project) -> None:
        finished = simulated.run("evaluate", "--num_conversations_per_scenario=9")
        assert finished.code == 0, finished.err
        assert finished.verdict.coverage.evaluated_conversations == 4

    def test_no_conversation_no_file_and_no_path_are_exit_2(self, simulated: Project) -> None:
        file = simulated.folder / "simulation.json"
        document = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps(document | {"conversations": []}), encoding="utf-8")
        finished = simulated.run("evaluate")
        assert (finished.code, "no conversation" in finished.err) == (2, True)
        finished = simulated.run("evaluate", "--simulation_file_path=nowhere.json")
        assert (finished.code, "nowhere.json" in finished.err) == (2, True)
        finished = simulated.run("evaluate", "--simulation_file_path=null")
        assert (finished.code, "simulation_file_path" in finished.err) == (2, True)
        assert not simulated.output_dir.joinpath("evaluation.json").exists()

    def test_a_broken_file_is_exit_2_with_its_line(self, simulated: Project) -> None:
        file = simulated.folder / "simulation.json"
        file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
        finished = simulated.run("evaluate")
        assert finished.code == 2
        assert re.search(r"simulation\.json:\d+", finished.err), finished.err

    def test_the_simulation_file_is_read_and_not_written(self, simulated: Project, server: ScriptedServer) -> None:
        file = simulated.folder / "simulation.json"
        before = (file.read_bytes(), file.stat().st_mtime_ns)
        server.requests["agent"].clear()
        finished = simulated.run("evaluate")
        assert finished.code == 0, finished.err
        assert (file.read_bytes(), file.stat().st_mtime_ns) == before
        assert json.loads(file.read_text(encoding="utf-8")) == finished.file("simulation.json")
        assert server.requests["agent"] == []

    def test_the_results_of_the_simulation_may_be_the_input(self, simulated: Project) -> None:
        copy = simulated.output_dir / "simulation.json"
        finished = simulated.run("evaluate", "--simulation_file_path", str(copy))
        assert finished.code == 0, finished.err
        assert copy.is_file()


class TestFolders:
    def test_after_exit_2_nothing_is_written_and_an_old_verdict_is_gone(self, project: Project) -> None:
        first = project.run()
        before = {name: (first.output_dir / name).read_bytes() for name in first.files}
        finished = project.run("simulate-evaluate", "--max_turns=0")
        assert finished.code == 2
        after = {name: (first.output_dir / name).read_bytes() for name in finished.files}
        assert after == {name: content for name, content in before.items() if name != "verdict.json"}

    def test_a_refused_key_writes_nothing(self, project: Project, server: ScriptedServer) -> None:
        server.models = lambda request: Reply(status=401, body={"error": {"message": "no"}})
        finished = project.run()
        assert finished.code == 2
        assert not project.output_dir.exists() or finished.files == []

    def test_a_file_in_the_way_of_the_folder_is_exit_2(self, project: Project, server: ScriptedServer) -> None:
        (project.folder / "taken").write_text("")
        finished = project.run("simulate-evaluate", f"--output_dir={project.folder / 'taken' / 'results'}")
        assert finished.code == 2
        assert "is a file" in finished.err
        assert server.requests["llm"] == []

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_can_not_be_written_to_is_exit_2(self, project: Project, server: ScriptedServer) -> None:
        locked = project.folder / "locked"
        locked.mkdir(mode=0o500)
        self._is_refused(project, server, locked)

    def test_a_folder_of_the_system_that_can_not_be_written_to_is_exit_2(
        self, project: Project, server: ScriptedServer
    ) -> None:
        self._is_refused(project, server, Path("/proc/results"))

    def _is_refused(self, project: Project, server: ScriptedServer, folder: Path) -> None:
        finished = project.run("simulate-evaluate", f"--output_dir={folder}")
        assert finished.code == 2, finished.err
        assert str(folder) in finished.err
        assert "Traceback" not in finished.err
        assert server.requests["llm"] == []

    def test_the_simulation_file_may_not_overwrite_what_the_run_reads(self, project: Project) -> None:
        finished = project.run("simulate", f"--output_file_path={project.folder / 'scenarios.json'}")
        assert finished.code == 2
        assert "would overwrite" in finished.err


class TestFiles:
    def test_a_focus_file_runs_as_a_scenario_file(self, project: Project, server: ScriptedServer) -> None:
        project.scenarios = [scenario("returns"), scenario("exchange", goal="You want to exchange shoes.")]

        def judge(request: Request) -> Reply:
            wrong = "exchange" in request.text and request.question == "judge_turn"
            label = "repetition" if wrong else "no failure"
            return Reply(content=json.dumps(judgement(request, agent_behavior_failure=label)))

        server.llm = llm(judge)
        first = project.run()
        focus = first.output_dir / "focus" / "error_1.json"
        again = project.run("simulate-evaluate", f"--scenario_file_path={focus}", "--output_dir", "rerun")
        assert again.code == 0, again.err
        verdict = json.loads((project.folder / "rerun" / "verdict.json").read_text(encoding="utf-8"))
        assert verdict["coverage"]["expected_conversations"] == 2
        assert (project.folder / "rerun" / "focus" / "error_1.json").is_file()


class TestDemo:
    def test_it_finds_the_planted_faults_and_names_none_in_clean_scenarios(self, tmp_path: Path) -> None:
        finished = arksim_ci("demo", str(tmp_path / "demo"), environment={"LLM_PROVIDER": "openai"})
        assert finished.code == 0, finished.err
        assert "Traceback" not in finished.err
        assert len(finished.err.splitlines()) < 15, finished.err
        [found] = (tmp_path / "demo").rglob("evaluation.json")
        evaluation = json.loads(found.read_text(encoding="utf-8"))
        found_in: dict[str, set[str]] = {}
        categories = {
            error["unique_error_id"]: error["behavior_failure_category"] for error in evaluation["unique_errors"]
        }
        for mapping in evaluation["error_scenario_mappings"]:
            for scenario_id in mapping["scenario_ids"]:
                found_in.setdefault(scenario_id, set()).add(categories[mapping["unique_error_id"]])
        assert {name: kinds - {"goal not completed"} for name, kinds in found_in.items()} == {
            "refund_time": {"false information"},
            "jacket_care": {"repetition"},
            "speak_to_human": {"disobey user request"},
            "boot_warranty": {"lack of specific information"},
            "order_status": {"failure to ask for clarification"},
        }
        scenarios = json.loads((tmp_path / "demo" / "scenarios.json").read_text(encoding="utf-8"))["scenarios"]
        assert len(scenarios) > len(found_in)
        assert "As a gate, this run would end with exit code 1." in finished.out
        assert "rules" in finished.out

    def test_it_overwrites_no_file_of_another_project(self, tmp_path: Path) -> None:
        (tmp_path / "config.yaml").write_text("mine")
        finished = arksim_ci("demo", ".", cwd=tmp_path)
        assert finished.code == 2
        assert "config.yaml" in finished.err
        assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]

    def test_a_folder_that_is_a_file_is_exit_2(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("")
        finished = arksim_ci("demo", str(tmp_path / "x"))
        assert finished.code == 2, finished.err
        assert "Traceback" not in finished.err


def test_the_user_that_talks_is_asked_as_often_as_it_talks(project: Project, server: ScriptedServer) -> None:
    server.llm = llm(user=talkative)
    finished = project.run("simulate")
    assert finished.verdict.usage.simulated_user.calls == len(server.requests["llm"]) == 4
    assert finished.verdict.usage.judge.calls == 0
