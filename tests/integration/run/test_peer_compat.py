"""Files go both ways between us and ArkSim 0.3.8, which is installed in a venv of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Simulation
from tests.support.project import Finished, Project, clean_environment, judgement, llm, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion
from tests.support.tools import missing

PEER = os.environ.get("ARKSIM_PEER_PYTHON", "")

LOAD = """
import json, sys
from pathlib import Path
from arksim.evaluator import Evaluation, check_numeric_thresholds, check_qualitative_failure_labels
from arksim.scenario import Scenarios
from arksim.simulation_engine import Simulation
from arksim.utils.output import load_json_file
folder = Path(sys.argv[1])
simulation = Simulation.model_validate(load_json_file(str(folder / "simulation.json")))
evaluation = Evaluation.model_validate(load_json_file(str(folder / "evaluation.json")))
focus = {path.name: Scenarios.load(str(path)).model_dump() for path in sorted((folder / "focus").iterdir())}
gates = {
    "low": check_numeric_thresholds(evaluation, {"helpfulness": 4.9, "goal_completion": 0.9}),
    "high": check_numeric_thresholds(evaluation, {"faithfulness": 3.5}),
    "labels": check_qualitative_failure_labels(evaluation, {"agent_behavior_failure": ["false information"]}),
    "tools": check_qualitative_failure_labels(evaluation, {"tool_call_behavior_failure": ["unsafe action"]}),
}
print(json.dumps({
    "simulation": simulation.model_dump(mode="json"),
    "evaluation": evaluation.model_dump(mode="json"),
    "focus": focus,
    "gates": gates,
}))
"""


@pytest.fixture(scope="module")
def peer() -> Path:
    if not PEER:
        missing("ARKSIM_PEER_PYTHON does not name the Python of a venv with arksim 0.3.8")
    return Path(PEER)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(both) as running:
        yield running


def both(request: Request) -> Reply:
    """Answers our questions and those of ArkSim."""
    return arksim(request) if request.path.endswith("/responses") else ours(request)


def judge(request: Request) -> Reply:
    if request.question == "judge_turn" and "exchange" in request.text:
        labels = {"agent_behavior_failure": "false information", "tool_call_behavior_failure": "unsafe action"}
        return Reply(content=json.dumps(judgement(request, faithfulness=2, **labels)))
    return Reply(content=json.dumps(judgement(request)))


ours = llm(judge)


def arksim(request: Request) -> Reply:
    """Answers to the questions of ArkSim 0.3.8, by the name of the schema that it sends."""
    if request.question == "":
        said = sum(message["role"] == "assistant" for message in request.body["input"])
        return Reply(content=f"How many days do I have, asked {said} times?")
    answers: dict[str, object] = {
        "UserIntent": {"thought": "More to know.", "result": "ask"},
        "ScoreSchema": {"score": 1 if "1 for success" in request.text else 4, "reason": "It is 30 days. 👟"},
        "QualSchema": {"label": "false information", "reason": "It is 30 days."},
        "UniqueErrorsSchema": {
            "unique_errors": [
                {
                    "agent_behavior_failure_category": "false information",
                    "unique_error_description": "Wrong number of days.",
                    "occurrences": [],
                }
            ]
        },
    }
    return Reply(content=json.dumps(answers[request.question]))


def shop(request: Request) -> Reply:
    """An agent that calls a tool in its first answer."""
    if len(request.body["messages"]) > 1:
        return Reply(body=completion("Within 30 days. 👟 退货"))
    call = {"id": "c1", "type": "function", "function": {"name": "policy", "arguments": '{"topic": "returns"}'}}
    return Reply(body=completion("Let me see.", tool_calls=[call]))


def two_scenarios() -> list[dict[str, Any]]:
    return [scenario("returns"), scenario("exchange", goal="You want to exchange shoes.", origin={"any": [1]})]


@pytest.fixture(scope="module")
def our_run(tmp_path_factory: pytest.TempPathFactory, server: ScriptedServer) -> Finished:
    project = Project(tmp_path_factory.mktemp("ours"), server)
    project.scenarios = two_scenarios()
    server.agent = shop
    finished = project.run("simulate-evaluate", "--qualitative_failure_labels.agent_behavior_failure=repetition")
    assert finished.code == 0, finished.err
    return finished


@pytest.fixture(scope="module")
def loaded(peer: Path, our_run: Finished) -> dict[str, Any]:
    """Our files as ArkSim's models read them."""
    done = run_peer([str(peer), "-c", LOAD, str(our_run.output_dir)], our_run.output_dir, {})
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document


def run_peer(command: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=100, check=False, cwd=cwd, env=clean_environment(environment)
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def holds(whole: object, part: object) -> bool:
    """Whether everything that `part` says, `whole` says too; what only `whole` has, and nulls, do not count."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(value is None or (key in whole and holds(whole[key], value)) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(whole) == len(part) and all(map(holds, whole, part))
    return whole == part


def test_the_peer_reads_our_simulation_file_and_loses_only_what_is_ours(
    loaded: dict[str, Any], our_run: Finished
) -> None:
    ours = our_run.file("simulation.json")
    assert holds(ours, loaded["simulation"])
    assert [len(each["conversation_history"]) for each in loaded["simulation"]["conversations"]] == [4] * 4
    first = loaded["simulation"]["conversations"][0]
    assert first["conversation_history"][1]["tool_calls"][0]["arguments"] == {"topic": "returns"}
    assert first["simulated_user_prompt"]["variables"].keys() >= {
        "scenario.agent_context",
        "scenario.goal",
        "scenario.knowledge",
        "scenario.user_profile",
    }
    theirs = {key for each in loaded["simulation"]["conversations"] for key in each}
    assert {key for each in ours["conversations"] for key in each} - theirs <= {
        "agent_silence",
        "not_finished",
        "attempts",
    }


def test_the_peer_reads_our_evaluation_file_whole(loaded: dict[str, Any], our_run: Finished) -> None:
    written = our_run.file("evaluation.json")
    assert holds(written, loaded["evaluation"])
    assert holds(loaded["evaluation"], written)
    assert loaded["evaluation"]["schema_version"] == "v1.1"
    assert {error["severity"] for error in loaded["evaluation"]["unique_errors"]} == {"critical"}
    assert loaded["evaluation"]["error_scenario_mappings"][0]["scenario_ids"] == ["exchange"]


def test_the_peer_reads_our_focus_files(loaded: dict[str, Any], our_run: Finished) -> None:
    assert loaded["focus"].keys() >= {"all_failures.json", "error_1.json"}
    for focus in loaded["focus"].values():
        assert [each["scenario_id"] for each in focus["scenarios"]] == ["exchange"]
        assert focus["scenarios"][0]["origin"] == {"any": [1]}


def test_the_peers_gates_decide_on_our_evaluation_as_ours_do(loaded: dict[str, Any]) -> None:
    assert loaded["gates"] == {"low": True, "high": False, "labels": False, "tools": False}


def test_the_peer_judges_conversations_that_we_held(
    peer: Path, our_run: Finished, server: ScriptedServer, tmp_path: Path
) -> None:
    config = {
        "scenario_file_path": str(our_run.output_dir / "focus" / "all_failures.json"),
        "simulation_file_path": str(our_run.output_dir / "simulation.json"),
        "output_dir": str(tmp_path / "theirs"),
        "num_workers": 4,
    }
    evaluate(peer, server, tmp_path, config)
    theirs = json.loads((tmp_path / "theirs" / "evaluation.json").read_text(encoding="utf-8"))
    held = our_run.simulation.conversations
    assert {each["conversation_id"] for each in theirs["conversations"]} == {each.conversation_id for each in held}
    assert {len(each["turn_scores"]) for each in theirs["conversations"]} == {2}


def evaluate(peer: Path, server: ScriptedServer, folder: Path, config: dict[str, Any]) -> None:
    (folder / "evaluate.yaml").write_text(json.dumps(config), encoding="utf-8")
    environment = {"OPENAI_API_KEY": "sk-peer", "OPENAI_BASE_URL": server.base_url}
    run_peer([str(peer.parent / "arksim"), "evaluate", "evaluate.yaml"], folder, environment)


@pytest.fixture(scope="module")
def peer_project(peer: Path, server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which the real ArkSim held and judged the conversations."""
    project = Project(tmp_path_factory.mktemp("theirs"), server)
    project.scenarios = two_scenarios()
    server.agent = shop
    ours = {"base_url", "no_response_retry_backoff_seconds"}
    config = {key: value for key, value in project.config.items() if key not in ours} | {"provider": "openai"}
    project.write()
    (project.folder / "peer.yaml").write_text(json.dumps(config), encoding="utf-8")
    environment = {"OPENAI_API_KEY": "sk-peer", "OPENAI_BASE_URL": server.base_url}
    run_peer([str(peer.parent / "arksim"), "simulate", "peer.yaml"], project.folder, environment)
    folder = project.folder / "peer"
    paths = {"scenario_file_path": "./scenarios.json", "simulation_file_path": "./simulation.json"}
    evaluate(peer, server, project.folder, {**paths, "output_dir": str(folder), "num_workers": 4})
    return project


def test_we_judge_conversations_that_the_peer_held(peer_project: Project, server: ScriptedServer) -> None:
    simulated = json.loads((peer_project.folder / "simulation.json").read_text(encoding="utf-8"))
    finished = peer_project.run(
        "evaluate",
        "--simulation_file_path",
        str(peer_project.folder / "simulation.json"),
        "--numeric_thresholds.faithfulness=3",
        "--numeric_thresholds.goal_completion=1",
    )
    assert finished.code == 1, finished.err
    assert finished.verdict.simulation_id == simulated["simulation_id"]
    assert finished.verdict.coverage.evaluated_conversations == len(simulated["conversations"]) == 4
    assert finished.verdict.coverage.evaluated_turns == 8
    [failure] = finished.verdict.failures
    assert (failure.type, failure.metric) == ("METRIC_BELOW_MIN_PASS_RATE", "faithfulness")  # type: ignore[union-attr]
    assert {place.scenario_id for place in finished.verdict.checks[0].failing} == {"exchange"}
    assert finished.simulation.conversations[0].turns()[1].agent.content == "Within 30 days. 👟 退货"
    assert [each.conversation_id for each in finished.evaluation.conversations] == [
        each["conversation_id"] for each in simulated["conversations"]
    ]


def test_our_models_read_every_file_that_the_peer_wrote(peer_project: Project) -> None:
    written = (peer_project.folder / "peer" / "evaluation.json").read_text(encoding="utf-8")
    evaluation = Evaluation.model_validate_json(written)
    assert holds(evaluation.model_dump(mode="json"), json.loads(written))
    held = (peer_project.folder / "simulation.json").read_text(encoding="utf-8")
    simulation = Simulation.model_validate_json(held)
    assert holds(simulation.model_dump(mode="json"), json.loads(held))
    assert {each.silence() for each in simulation.conversations} == {None}
    for focus in (peer_project.folder / "peer" / "focus").glob("*.json"):
        Scenarios.model_validate_json(focus.read_text(encoding="utf-8"))
