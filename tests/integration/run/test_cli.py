"""The command line: help, arguments, and the commands that do no run."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from arksim_ci import __version__
from arksim_ci.config.help import config_keys_help
from tests.support.project import Project, arksim_ci, command_line, llm
from tests.support.scripted_server import Reply, ScriptedServer, completion

COMMANDS = ("simulate", "evaluate", "simulate-evaluate", "validate", "report", "demo", "init", "schema", "show-prompts")
SCHEMAS = ("config", "scenarios", "simulation", "evaluation", "verdict", "recommendations")
KEY = {"OPENAI_API_KEY": "sk-0123456789abcdef"}


class TestHelp:
    def test_the_programs_help_names_every_command_and_the_exit_codes(self) -> None:
        finished = arksim_ci("--help")
        assert finished.code == 0
        assert all(f"\n    {command}" in finished.out for command in COMMANDS)
        told = " ".join(finished.out.split())
        assert "0 every gate passed, 1 a gate failed, 2 the configuration is wrong, 3 the run could not be" in told
        assert "{simulate" not in finished.out

    @pytest.mark.parametrize("command", COMMANDS)
    def test_a_commands_help_names_its_exit_codes_and_where_they_may_follow_all_keys(self, command: str) -> None:
        finished = arksim_ci(command, "--help")
        assert finished.code == 0
        assert finished.err == ""
        assert "exit codes:\n  0 " in finished.out
        takes_keys = command in ("simulate", "evaluate", "simulate-evaluate", "validate")
        for key in config_keys_help():
            assert (f"\n  --{key.key}  " in finished.out) == takes_keys, key.key
            if takes_keys and key.default:
                assert f"(default: {key.default})" in finished.out
        if takes_keys and command != "validate":
            assert "--verbose" in finished.out
            assert all(f"\n  {code} " in finished.out for code in range(4))
        assert max(map(len, finished.out.splitlines())) < 160

    @pytest.mark.parametrize("option", ["--version", "-v"])
    def test_the_version(self, option: str) -> None:
        finished = arksim_ci(option)
        assert (finished.code, finished.out) == (0, f"arksim-ci {__version__}\n")


class TestArguments:
    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("frobnicate",),
            ("simulate",),
            ("schema", "nope"),
            ("schema",),
            ("show-prompts", "--max_turns", "3"),
            ("demo", "a", "b"),
            ("report",),
            ("init", "--forc"),
            ("--frobnicate",),
        ],
    )
    def test_what_is_not_understood_is_exit_2_with_the_usage(self, arguments: tuple[str, ...]) -> None:
        finished = arksim_ci(*arguments)
        assert finished.code == 2
        assert "usage: arksim-ci" in finished.err
        assert "Traceback" not in finished.err
        assert finished.out == ""

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--max_turns", "3"),
            ("--max_turns=3",),
            ("--max-turns", "3"),
            ("--max-turns=3",),
            ("--verbose", "--max_turns", "3"),
            ("--max_turns", "1", "--max_turns", "3"),
        ],
    )
    def test_a_key_is_overridden_in_every_spelling(self, project: Project, arguments: tuple[str, ...]) -> None:
        command = ("simulate", *arguments) if "--verbose" in arguments else ("validate", *arguments)
        if "--verbose" in arguments:
            finished = project.run(*command)
            assert {len(each.turns()) for each in finished.simulation.conversations} == {3}
            return
        finished = project.run(*command)
        assert finished.code == 0, finished.err
        assert "of up to 3 turns" in finished.out

    def test_dots_reach_nested_keys_and_commas_separate_lists(self, project: Project, server: ScriptedServer) -> None:
        project.config["agent_config"]["api_config"]["endpoint"] = "http://127.0.0.1:9/nobody"
        finished = project.run(
            "simulate-evaluate",
            "--agent_config.api_config.endpoint",
            server.agent_url,
            "--agent-config.api-config.headers.X-Team=blue",
            "--metrics_to_run=faithfulness,goal_completion",
            "--numeric_thresholds.faithfulness",
            "3.5",
            '--qualitative_failure_labels={"agent_behavior_failure": ["repetition"]}',
            "--metrics_to_run",
            "faithfulness, goal_completion, agent_behavior_failure",
            "--generate-html-report",
            "false",
        )
        assert finished.code == 0, finished.err
        assert server.requests["agent"][0].headers["X-Team"] == "blue"
        assert {check.name for check in finished.verdict.checks} == {"faithfulness", "agent_behavior_failure"}
        assert {score.name for score in finished.evaluation.conversations[0].turn_scores[0].scores} == {"faithfulness"}
        assert "final_report.html" not in finished.files

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--max_turn", "3"), 'the command line: max_turn: unknown key; did you mean "max_turns"?'),
            (("--Max-Turns", "3"), "Max_Turns: unknown key"),
            (("--max_turns", "many"), "the command line: max_turns: "),
            (("--max_turns", "0"), "at least 1"),
            (("--max_turns=2.5",), "max_turns"),
            (("--min_pass_rate", "1.5"), "min_pass_rate"),
            (("--provider", "opanai"), 'did you mean "openai"'),
            (("--generate_html_report", "perhaps"), "generate_html_report"),
            (("--max_turns",), "max_turns"),
            (("extra",), 'unexpected argument "extra"'),
            (("--numeric_thresholds.faithfulness", "six"), "numeric_thresholds.faithfulness"),
            (("--agent_config.api_config.endpont", "x"), 'did you mean "endpoint"'),
            (("--code_paths=./nowhere",), "code_paths"),
            (("--", "x"), "unexpected argument"),
        ],
    )
    def test_a_wrong_override_is_exit_2_and_says_what_is_allowed(
        self, project: Project, server: ScriptedServer, arguments: tuple[str, ...], told: str
    ) -> None:
        finished = project.run("simulate-evaluate", *arguments)
        assert finished.code == 2, finished.out
        assert told in finished.err
        assert "Traceback" not in finished.err
        assert not project.output_dir.exists()
        assert [kind for kind, requests in server.requests.items() if requests] == []

    def test_every_problem_is_told_at_once(self, project: Project) -> None:
        project.config |= {"max_turn": 3, "num_workers": 0}
        finished = project.run("validate", "--provder=x", "--model", "")
        assert finished.code == 2
        assert "4 problems" in finished.err
        for key in ("max_turn", "num_workers", "provder", "model"):
            assert f"{key}: " in finished.err
        assert finished.out == ""

    def test_paths_of_the_file_start_from_it_and_those_of_the_command_line_from_here(
        self, project: Project, tmp_path: Path
    ) -> None:
        here = tmp_path / "elsewhere"
        here.mkdir()
        config = project.write()
        finished = arksim_ci("simulate-evaluate", str(config), "--output_dir", "out", cwd=here)
        assert finished.code == 0, finished.err
        assert sorted(path.name for path in here.iterdir()) == ["out"]
        assert (here / "out" / "simulation.json").is_file()
        assert sorted(path.name for path in project.folder.iterdir() if path != here) == [
            "config.yaml",
            "scenarios.json",
        ]
        finished = arksim_ci("simulate-evaluate", str(config), cwd=here)
        assert finished.code == 0, finished.err
        assert (project.folder / "results" / "evaluation" / "verdict.json").is_file()
        assert (project.folder / "simulation.json").is_file()
        assert sorted(path.name for path in here.iterdir()) == ["out"]

    def test_hostile_text_in_a_problem_stays_text(self, project: Project) -> None:
        project.config["a\n::error::forged \x1b[31m"] = 1
        finished = project.run("validate")
        assert finished.code == 2
        assert "\x1b" not in finished.err
        assert not [line for line in finished.err.splitlines() if line.lstrip().startswith("::")]


class TestValidate:
    def test_it_calls_nobody_and_writes_nothing(self, project: Project, server: ScriptedServer) -> None:
        finished = project.run("validate")
        assert finished.code == 0, finished.err
        assert "1 scenario, 2 conversations of up to 2 turns" in finished.out
        assert [kind for kind, requests in server.requests.items() if requests] == []
        assert sorted(path.name for path in project.folder.iterdir()) == ["config.yaml", "scenarios.json"]

    def test_a_missing_key_names_its_variable(self, project: Project) -> None:
        finished = project.run("validate", "--provider=openai", "--base_url=null")
        assert finished.code == 2
        assert "OPENAI_API_KEY" in finished.err


class TestInit:
    def test_what_it_writes_is_valid(self, tmp_path: Path) -> None:
        finished = arksim_ci("init", cwd=tmp_path)
        assert finished.code == 0, finished.err
        assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == {
            ".github/workflows/agent-gate.yml",
            "arksim/.gitignore",
            "arksim/config.yaml",
            "arksim/scenarios.json",
        }
        assert (tmp_path / "arksim/.gitignore").read_text() == "results/\n"
        checked = arksim_ci("validate", "arksim/config.yaml", cwd=tmp_path, environment=KEY)
        assert checked.code == 0, checked.err
        assert yaml.safe_load((tmp_path / ".github/workflows/agent-gate.yml").read_text(encoding="utf-8"))["jobs"]
        assert "At most 44 LLM calls: 20 for the simulated users, 24 for the judge" in checked.out
        keyless = arksim_ci("validate", "arksim/config.yaml", cwd=tmp_path)
        assert keyless.code == 2
        assert "or try it without a key: provider offline" in keyless.err
        told = re.findall(r"without a key: arksim-ci (.*)", finished.out)
        assert arksim_ci(*told[0].split(), cwd=tmp_path).code == 0

    def test_it_overwrites_only_by_force(self, tmp_path: Path) -> None:
        mine = tmp_path / "arksim" / "config.yaml"
        mine.parent.mkdir()
        mine.write_text("mine")
        finished = arksim_ci("init", str(tmp_path))
        assert finished.code == 2
        assert "--force" in finished.err
        assert "configuration" not in finished.err
        assert mine.read_text() == "mine"
        assert not (tmp_path / ".github").exists()
        assert arksim_ci("init", str(tmp_path), "--force").code == 0
        assert mine.read_text() != "mine"

    def test_a_folder_that_is_a_file_is_exit_2(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("")
        finished = arksim_ci("init", str(tmp_path / "x"))
        assert finished.code == 2
        assert "Traceback" not in finished.err


class TestSchema:
    @pytest.mark.parametrize("kind", SCHEMAS)
    def test_each_is_a_valid_json_schema(self, kind: str) -> None:
        finished = arksim_ci("schema", kind)
        assert finished.code == 0
        document = json.loads(finished.out)
        jsonschema.Draft202012Validator.check_schema(document)
        assert document["$schema"].endswith("2020-12/schema")

    def test_an_editor_finds_a_wrong_key(self, project: Project) -> None:
        validator = jsonschema.Draft202012Validator(json.loads(arksim_ci("schema", "config").out))
        assert validator.is_valid(project.config)
        assert not validator.is_valid(project.config | {"numeric_threshold": {}})
        assert not validator.is_valid(project.config | {"max_turns": 0})


class TestShowPrompts:
    def test_everything_that_was_sent_is_shown(self, project: Project, server: ScriptedServer) -> None:
        """Every line of every prompt, apart from what the run put in, stands in `show-prompts`."""
        plain = llm(agent_behavior_failure="false information", goal_completion=0)
        spoiled = iter(["{"])
        said = 0

        def script(request: Any) -> Reply:
            nonlocal said
            if request.question == "judge_turn" and next(spoiled, None):
                return Reply(content="{")
            if request.question == "":
                said += 1
                return Reply(content="" if said == 1 else f"How many days, asked {said} times?")
            return plain(request)

        server.llm = script
        server.agent = lambda request: Reply(body=completion("It is 99 days."))
        assert project.run().code == 0
        shown = arksim_ci("show-prompts")
        assert shown.code == 0
        literal = {part.strip() for line in shown.out.splitlines() for part in re.split(_VARIABLE, line)}
        sent = {
            line.strip()
            for request in server.requests["llm"]
            for message in request.body["messages"]
            if message["role"] != "assistant"
            for line in str(message["content"]).splitlines()
        }
        data = {text for text in project.scenarios[0].values() if isinstance(text, str)}
        data.add(project.scenarios[0]["knowledge"][0]["content"])
        unknown = [line for line in sent - data if not line.startswith(("{", "[")) and _unknown_words(line, literal)]
        assert unknown == []
        assert project.run().verdict.judge.prompts_hash in shown.out
        kinds = {request.question for request in server.requests["llm"]}
        assert kinds >= {"", "judge_turn", "judge_goal", "recommend"}


_VARIABLE = r"\{\{.*?\}\}|\{%.*?%\}"


def _unknown_words(line: str, literal: set[str]) -> bool:
    """Whether more than a few words of a line that was sent stand in no template, so that nobody could read them before."""
    for part in sorted(literal, key=len, reverse=True):
        if len(part) > 2:
            line = line.replace(part, " ")
    return len(line.split()) > 6


@pytest.mark.parametrize("command", [["show-prompts"], ["schema", "config"]])
def test_a_reader_that_has_enough_is_no_failure(command: list[str]) -> None:
    process = subprocess.Popen(command_line(*command), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0
