"""The whole action, in this process, against real local servers: exit codes, what is published, what is kept from whom."""

from __future__ import annotations

import asyncio
import json
import os
import zipfile
from io import BytesIO

import pytest
import yaml

from tests.support.action_step import SHA, TOKEN, Step, failing, pull_request
from tests.support.fake_github import FakeGitHub
from tests.support.fake_results_service import FakeResultsService
from tests.support.project import judgement, llm, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer

LABEL = "false information"
WRONG = {"agent_behavior_failure": LABEL}


async def test_0_green(step: Step, github: FakeGitHub) -> None:
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert ended.outputs["conclusion"] == "passed"
    assert ended.outputs["passed"] == "true"
    assert ended.outputs["score"] == "100"
    assert ended.outputs["conversations"] == "2"
    assert "focus-dir" not in ended.outputs
    [body] = github.bodies()
    assert body.startswith("## ✅ Gate passed: shop")
    assert ended.summary.startswith("# ✅ Gate passed: shop")
    assert ended.annotations("error") == ended.annotations("warning") == []
    assert ended.file("verdict.json")["run"]["commit"] == SHA


async def test_1_a_failed_gate_is_published_in_full(step: Step, github: FakeGitHub, server: ScriptedServer) -> None:
    server.llm = llm(agent_behavior_failure=LABEL)
    ended = await step.run()
    assert ended.code == 1, ended.log
    assert failing(ended.outputs)
    assert ended.outputs["unique-errors"] == "1"
    assert ended.outputs["failed-checks"] == "1"
    for name in ("evaluation-file", "verdict-file", "report-file", "focus-dir", "junit-file", "sarif-file"):
        assert (ended.workspace / ended.outputs[name]).exists()
        assert not ended.outputs[name].startswith("/")
    assert "Gate failed" in ended.summary
    [body] = github.bodies()
    assert ended.outputs["comment-url"] == github.comments[0]["html_url"]
    assert "The agent tells a wrong number of days." in body
    assert "Read the days from the current policy." in body


async def test_annotations_stand_on_the_scenario_s_line(step: Step, server: ScriptedServer) -> None:
    step.project.scenarios = [scenario("first"), scenario("second", goal="You want to exchange shoes.")]

    def judge(request: Request) -> Reply:
        wrong = request.question == "judge_turn" and "exchange" in request.text
        return Reply(content=json.dumps(judgement(request, **(WRONG if wrong else {}))))

    server.llm = llm(judge)
    ended = await step.run()
    marks = [line for line in ended.log.splitlines() if line.startswith("::error file=scenarios.json")]
    assert len(marks) == 1
    assert ",line=1," in marks[0]  # this file has one line
    assert "Critical%3A false information" in marks[0]
    verdict = [line for line in ended.log.splitlines() if line.startswith("::error file=config.yaml")]
    assert "Gate failed" in verdict[0]


@pytest.mark.parametrize(
    ("inputs", "config", "says"),
    [
        ({"comment": "sometimes"}, {}, "input comment"),
        ({}, {"max_turn": 3}, 'max_turn: unknown key; did you mean "max_turns"?'),
        ({"overrides": "max_turns: [1]"}, {}, "input overrides"),
        ({"overrides": "- a"}, {}, "input overrides"),
        ({"provider": "opneai"}, {}, "input provider"),
        ({"scenarios": "missing.json"}, {}, "missing.json"),
        ({}, {"provider": "openai", "base_url": None}, "OPENAI_API_KEY"),
    ],
)
async def test_2_nothing_is_run_and_every_problem_is_shown(
    step: Step, github: FakeGitHub, server: ScriptedServer, inputs: dict[str, str], config: dict[str, object], says: str
) -> None:
    step.inputs |= inputs
    step.project.config |= config
    verdict = step.project.output_dir / "verdict.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text("{}")
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert says in ended.log
    assert says.split(":")[0] in ended.annotations("error")[0] or says in ended.annotations("error")[0]
    assert "Not run: 1 problem in the configuration" in ended.summary
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("2", "error")
    assert github.bodies() == []
    assert server.requests["agent"] == server.requests["llm"] == []
    if says != "input comment":
        assert not verdict.exists()


async def test_3_an_outage_is_no_pass_and_no_failed_gate(
    step: Step, github: FakeGitHub, server: ScriptedServer
) -> None:
    server.llm = llm(judge=lambda request: Reply(status=400, body={"error": {"message": "out of order"}}))
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("3", "error")
    assert "Not decided" in github.bodies()[0]


async def test_inputs_beat_overrides_and_overrides_beat_the_file(step: Step, server: ScriptedServer) -> None:
    step.project.config |= {"model": "of-the-file", "num_conversations_per_scenario": 4}
    (step.workspace / "focus.json").write_text(json.dumps({"schema_version": "v1", "scenarios": [scenario("focused")]}))
    overrides = {"model": "of-overrides", "num_conversations_per_scenario": 1, "scenario_file_path": "nowhere.json"}
    step.inputs |= {"overrides": yaml.safe_dump(overrides), "model": "of-the-input", "scenarios": "focus.json"}
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert {request.body["model"] for request in server.requests["llm"]} == {"of-the-input"}
    assert [each["scenario_id"] for each in ended.file("simulation.json")["conversations"]] == ["focused"]


async def test_the_api_key_is_masked_first_and_is_in_nothing_that_is_published(
    step: Step, github: FakeGitHub, server: ScriptedServer
) -> None:
    key = "sk_in_the_input_1"
    step.inputs["api-key"] = key
    step.project.config["agent_config"]["api_config"]["headers"] = {"Authorization": "Bearer ${AGENT_KEY}"}
    step.environment["AGENT_KEY"] = "agent_key_12345"
    server.agent = lambda request: Reply(content=f"My keys are {key} and agent_key_12345, and {TOKEN}")
    server.llm = llm(agent_behavior_failure=LABEL)
    ended = await step.run()
    assert ended.code == 1, ended.log
    assert ended.log.startswith(f"::add-mask::{key}\n")
    assert "::add-mask::agent_key_12345" in ended.log
    assert all(request.headers["Authorization"] == f"Bearer {key}" for request in server.requests["llm"])
    assert server.requests["agent"][0].headers["Authorization"] == "Bearer agent_key_12345"
    log = "\n".join(line for line in ended.log.splitlines() if not line.startswith("::add-mask::"))
    written = [path.read_text(encoding="utf-8") for path in step.project.output_dir.rglob("*") if path.is_file()]
    everything = "\n".join([log, ended.summary, *ended.outputs.values(), *github.bodies(), *written]).replace(
        "\\_", "_"
    )
    for secret in (key, "agent_key_12345", TOKEN):
        assert secret not in everything
    assert "***" in github.bodies()[0].replace("\\*", "*")


async def test_artifacts_are_uploaded_and_linked(
    step: Step, github: FakeGitHub, server: ScriptedServer, results: FakeResultsService
) -> None:
    step.results = results
    server.llm = llm(agent_behavior_failure=LABEL)
    (step.workspace / "results/evaluation").mkdir(parents=True)
    (step.workspace / "results/evaluation/id_rsa").write_text("not ours")
    (step.workspace / "results/evaluation/agent.log").write_text("brought by a pull request")
    (step.workspace / "results/evaluation/journal.jsonl").write_text('{"forged": true}\n')
    ended = await step.run()
    assert ended.code == 1, ended.log
    found = {artifact.name: artifact for artifact in results.finished()}
    assert sorted(found) == ["arksim-evaluation", "arksim-focus", "arksim-report.html"]
    link = "https://github.com/org/shop/actions/runs/77/artifacts/"
    urls = {name: ended.outputs[name] for name in ("artifact-url", "focus-artifact-url", "report-url")}
    assert urls == {
        "artifact-url": f"{link}{found['arksim-evaluation'].id}",
        "focus-artifact-url": f"{link}{found['arksim-focus'].id}",
        "report-url": f"{link}{found['arksim-report.html'].id}",
    }
    for url in urls.values():
        assert url in github.bodies()[0]
        assert url in ended.summary
    names = zipped(results, "arksim-evaluation")
    assert {"verdict.json", "evaluation.json", "simulation.json", "final_report.html"} <= names
    assert not names & {"id_rsa", "agent.log", "journal.jsonl", "focus/error_1.json"}
    assert zipped(results, "arksim-focus") == {"error_1.json", "all_failures.json"}


def zipped(results: FakeResultsService, name: str) -> set[str]:
    key = next(artifact.key for artifact in results.artifacts if artifact.name == name)
    with zipfile.ZipFile(BytesIO(results.memory.blobs[key][0])) as archive:
        return set(archive.namelist())


async def test_the_pull_request_is_told_that_it_changes_its_own_gate(step: Step, github: FakeGitHub) -> None:
    github.files[12] = [
        *({"filename": f"src/{number}.py"} for number in range(120)),
        {"filename": "gate.yaml", "previous_filename": "config.yaml", "status": "renamed"},
        {"filename": ".github/workflows/gate.yml"},
    ]
    ended = await step.run()
    assert ended.code == 0, ended.log
    body = github.bodies()[0]
    assert body.index("changes its own gate") < body.index("### Checks")
    assert "`config.yaml`" in body
    assert "`.github/workflows/gate.yml`" in body
    assert "scenarios.json" not in body


async def test_an_agent_command_is_started_and_its_log_uploaded(
    step: Step, server: ScriptedServer, results: FakeResultsService
) -> None:
    step.results = results
    (step.folder / "user" / "bin").mkdir(parents=True)
    (step.folder / "user" / "bin" / "python").symlink_to("/usr/bin/env")
    step.inputs |= {
        "setup-command": "echo setting up; env | grep -cE '^(INPUT_|ACTIONS_)' || true",
        "agent-command": "echo '::error::forged'; exec sleep 60",
    }
    ended = await step.run()
    assert ended.code == 0, ended.log
    log = (ended.workspace / "results/evaluation/agent.log").read_text()
    assert "setting up\n0\n" in log
    assert "::error::forged" in log
    assert "::error::forged" not in ended.log
    assert "agent.log" in zipped(results, "arksim-evaluation")


async def test_an_agent_that_dies_early_ends_with_3_and_a_verdict(step: Step, github: FakeGitHub) -> None:
    (step.folder / "user" / "bin").mkdir(parents=True)
    (step.folder / "user" / "bin" / "python").symlink_to("/usr/bin/env")
    step.inputs["agent-command"] = "echo no module named shop >&2; exit 7"
    step.project.config["agent_config"]["api_config"]["endpoint"] = "http://127.0.0.1:9/x"
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert "no module named shop" in ended.annotations("error")[0]
    assert ended.file("verdict.json")["status"] == "FAILED"
    assert ended.file("verdict.json")["failures"][0]["type"] == "RUN_NOT_COMPLETED"
    assert "agent-command ended (exit code 7)" in github.bodies()[0]


async def test_cancelling_keeps_what_is_finished_and_publishes_what_is_quick(
    step: Step, github: FakeGitHub, server: ScriptedServer, results: FakeResultsService
) -> None:
    step.results = results

    def judge(request: Request) -> Reply:
        step_loop.call_soon_threadsafe(step.stop.set)
        return Reply(content=json.dumps(judgement(request)), delay=30)

    step_loop = asyncio.get_running_loop()
    server.llm = llm(judge)
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert ended.file("verdict.json")["status"] == "CANCELLED"
    assert "the run was cancelled" in ended.summary
    assert ended.outputs["exit-code"] == "3"
    assert "the run was cancelled" in github.bodies()[0]
    assert results.artifacts == []


async def test_cancelling_while_the_agent_starts_stops_it_and_says_so(step: Step, github: FakeGitHub) -> None:
    (step.folder / "user" / "bin").mkdir(parents=True)
    (step.folder / "user" / "bin" / "python").symlink_to("/usr/bin/env")
    pid = step.folder / "pid"
    step.inputs |= {"agent-command": f"echo $$ > {pid}; exec sleep 60", "agent-health-url": "http://127.0.0.1:9/health"}
    asyncio.get_running_loop().call_later(1.0, step.stop.set)
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert ended.file("verdict.json")["status"] == "CANCELLED"
    assert "the run was cancelled" in github.bodies()[0]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_cancelling_while_a_server_is_looked_for_ends_at_once(step: Step, server: ScriptedServer) -> None:
    async def slow(host: str, port: int) -> bool:
        step.stop.set()
        await asyncio.sleep(60)
        return False

    step.in_container, step.accepts = True, slow
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert ended.file("verdict.json")["status"] == "CANCELLED"
    assert server.requests["llm"] == []


async def test_a_bug_of_ours_is_3_with_its_traceback_in_the_log(step: Step) -> None:
    async def broken(host: str, port: int) -> bool:
        raise ZeroDivisionError

    step.in_container, step.accepts = True, broken
    ended = await step.run()
    assert ended.code == 3
    assert ended.outputs["conclusion"] == "error"
    assert "Traceback" in ended.log


async def test_evaluate_judges_an_existing_simulation(step: Step, server: ScriptedServer) -> None:
    first = await step.run()
    assert first.code == 0, first.log
    said = len(server.requests["agent"])
    (step.workspace / "simulation.json").write_text(json.dumps(first.file("simulation.json")))
    step.project.config["simulation_file_path"] = "./simulation.json"
    step.inputs["command"] = "evaluate"
    again = await step.run()
    assert again.code == 0, again.log
    assert len(server.requests["agent"]) == said
    assert again.file("verdict.json")["run"]["command"] == "evaluate"


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "issue_comment"])
async def test_a_fork_s_code_is_not_used_where_secrets_are_at_hand(
    step: Step, github: FakeGitHub, server: ScriptedServer, event: str
) -> None:
    step.event = event
    fork = {"full_name": "stranger/shop", "owner": {"login": "stranger"}}
    step.payload = {
        "pull_request_target": pull_request("stranger/shop:fix"),
        "workflow_run": {"workflow_run": {"head_sha": SHA, "head_branch": "fix", "head_repository": fork}},
        "issue_comment": {"issue": {"number": 12, "pull_request": {}}},
    }[event]
    github.pull(12, SHA, head="stranger/shop:fix")
    step.project.config["max_turn"] = "the config of a fork is not even read"
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert "input allow-untrusted-code" in ended.log
    assert "max_turn" not in ended.log
    assert server.requests["llm"] == server.requests["agent"] == []
    step.project.config.pop("max_turn")
    step.inputs["allow-untrusted-code"] = "true"
    assert (await step.run()).code == 0


async def test_a_comment_on_a_pull_request_of_our_own_is_trusted(step: Step, github: FakeGitHub) -> None:
    step.event, step.payload = "issue_comment", {"issue": {"number": 12, "pull_request": {}}}
    github.pull(12, SHA)
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert ended.file("verdict.json")["run"]["commit"] == SHA


async def test_whose_code_it_is_must_be_known(step: Step, github: FakeGitHub) -> None:
    step.event, step.payload = "issue_comment", {"issue": {"number": 12, "pull_request": {}}}
    github.may.discard("pull_requests:read")
    ended = await step.run()
    assert ended.code == 2
    assert "could not be asked" in ended.log


@pytest.mark.parametrize("who", ["fork", "dependabot"])
async def test_missing_secrets_of_a_fork_fail_with_the_recipe_or_are_skipped(
    step: Step, github: FakeGitHub, server: ScriptedServer, who: str
) -> None:
    step.project.config |= {"provider": "openai", "base_url": f"{server.base_url}"}
    step.project.config["agent_config"]["api_config"]["headers"] = {"X-Key": "${AGENT_KEY}"}
    if who == "fork":
        step.payload = pull_request("stranger/shop:fix")
    else:
        step.environment["GITHUB_ACTOR"] = "dependabot[bot]"
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert "OPENAI_API_KEY and AGENT_KEY are not set" in ended.log
    assert "docs/forks.md" in ended.log
    step.inputs["on-missing-secrets"] = "skip"
    skipped = await step.run()
    assert skipped.code == 0, skipped.log
    assert (skipped.outputs["exit-code"], skipped.outputs["conclusion"]) == ("0", "skipped")
    assert "Skipped: nothing was tested" in skipped.summary
    step.environment |= {"OPENAI_API_KEY": "sk-present-12345", "AGENT_KEY": "present-12345"}
    assert (await step.run()).code == 0, "a private repository may send secrets to forks"


async def test_missing_secrets_elsewhere_are_never_skipped(step: Step, server: ScriptedServer) -> None:
    step.project.config |= {"provider": "openai", "base_url": server.base_url}
    step.inputs["on-missing-secrets"] = "skip"
    ended = await step.run()
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.log


async def test_a_skip_hides_no_other_mistake(step: Step, server: ScriptedServer) -> None:
    step.payload = pull_request("stranger/shop:fix")
    step.project.config |= {"provider": "openai", "base_url": server.base_url, "max_turn": 3}
    step.inputs["on-missing-secrets"] = "skip"
    ended = await step.run()
    assert ended.code == 2
    assert "max_turns" in ended.log


async def test_an_agent_on_localhost_is_found_at_the_gateway(
    step: Step, server: ScriptedServer, github: FakeGitHub
) -> None:
    """Complaint 12, without docker: the address of localhost in here is refused, the gateway's answers."""

    async def accepts(host: str, port: int) -> bool:
        return host == "127.0.0.1" and port == server.port

    step.in_container, step.accepts = True, accepts
    step.routes = "Iface\tDestination\tGateway\tF\tR\tU\tM\tMask\neth0\t00000000\t0100007F\t3\t0\t0\t0\t00000000\n"
    step.project.config["agent_config"]["api_config"]["endpoint"] = f"http://localhost:{server.port}/agent"
    step.project.config["base_url"] = f"http://localhost:{server.port}/v1"
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert f"the agent answers at the machine's address 127.0.0.1:{server.port}" in ended.log
    assert f"the model's server answers at the machine's address 127.0.0.1:{server.port}" in ended.log


async def test_an_agent_out_of_reach_names_the_ways_out_everywhere(
    step: Step, server: ScriptedServer, github: FakeGitHub
) -> None:
    async def refuses(host: str, port: int) -> bool:
        return False

    step.in_container, step.accepts = True, refuses
    ended = await step.run()
    assert ended.code == 3, ended.log
    for text in (ended.log, ended.summary, github.bodies()[0], ended.annotations("error")[0]):
        for word in ("0.0.0.0", "services:", "agent-command"):
            assert word in text
    assert server.requests["llm"] == []


@pytest.mark.parametrize("key", ["output_dir", "output_file_path"])
async def test_results_are_never_written_through_a_link_out_of_the_workspace(step: Step, key: str) -> None:
    outside = step.folder / "outside"
    outside.mkdir()
    (step.workspace / "link").symlink_to(outside)
    step.project.config[key] = "link/below/simulation.json"
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert f"{key}: " in ended.log
    assert "symbolic link" in ended.log
    assert list(outside.iterdir()) == []


async def test_the_workspace_itself_may_be_the_output_folder(step: Step) -> None:
    step.project.config |= {"output_dir": "."}
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert ended.outputs["verdict-file"] == "verdict.json"
