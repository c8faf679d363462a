"""A real ArkSim project's files, unchanged: what is different here is said on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import ROOT, Finished, arksim_ci, llm
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.tools import missing

CASE = ROOT.parent / "shared" / "cases" / "bank-insurance"
KEY = {"OPENAI_API_KEY": "sk-bank-0123456789abcdef"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if not CASE.is_dir():
        missing("../shared/cases/bank-insurance is not there")
    shutil.copytree(CASE, tmp_path / "bank")
    return tmp_path / "bank"


def own_questions(request: Request, **values: object) -> Reply:
    """What the project's own metrics ask by `self.llm`."""
    assert request.question == "custom_metric", request.question
    assert "Knowledge:" in request.text
    wanted = request.body["response_format"]["json_schema"]["schema"]["properties"]
    if "score" in wanted:
        key = "suitability" if "suits the customer" in request.text else "clarity"
        return Reply(content=json.dumps({"score": values.get(key, 5), "reason": f"About {key}."}))
    label = "complete" if "needs asked for" in request.text else values.get("statements", "clean")
    return Reply(content=json.dumps({"label": label, "reason": "As asked."}))


def script(server: ScriptedServer, **values: Any) -> None:
    def analysis(request: Request) -> Reply:
        if request.question == "custom_metric":
            return own_questions(request, **values)
        return plain(request)

    plain = llm(**values)
    server.llm = llm(analysis=analysis, **values)


def simulate_evaluate(folder: Path, server: ScriptedServer, *more: str) -> Finished:
    return arksim_ci(
        "simulate-evaluate",
        "config.yaml",
        "--agent_config.api_config.endpoint",
        server.agent_url,
        "--provider",
        "openai_compatible",
        f"--base-url={server.base_url}",
        *more,
        environment=KEY,
        cwd=folder,
        output_dir=folder / "results" / "evaluation",
    )


def test_validate_finds_nothing_wrong_with_it(folder: Path) -> None:
    finished = arksim_ci("validate", "config.yaml", environment=KEY, cwd=folder)
    assert finished.code == 0, finished.err
    for metric in ("clarity", "product_suitability", "prohibited_statements", "needs_assessment"):
        assert metric in finished.out


def test_validate_wants_the_key_that_the_file_names(folder: Path) -> None:
    finished = arksim_ci("validate", "config.yaml", cwd=folder)
    assert finished.code == 2
    assert "OPENAI_API_KEY" in finished.err


def test_it_passes_with_a_good_agent_and_its_own_metrics_are_asked(folder: Path, server: ScriptedServer) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    script(server)
    finished = simulate_evaluate(folder, server, "--max-turns=2")
    assert finished.code == 0, finished.err
    scenarios = json.loads((CASE / "scenarios.json").read_text(encoding="utf-8"))["scenarios"]
    turns = 2 * len(scenarios)
    own = [request for request in server.requests["llm"] if request.question == "custom_metric"]
    assert len(own) == 2 * turns + 2 * len(scenarios)
    checks = {check.name: check for check in finished.verdict.checks}
    assert set(checks) == {
        "overall_score",
        "goal_completion",
        "clarity",
        "product_suitability",
        "prohibited_statements",
    }
    assert all(check.passed and check.evaluated_conversations == len(scenarios) for check in checks.values())
    for conversation in finished.evaluation.conversations:
        assert [(result.name, result.value) for result in conversation.convo_scores] == [("product_suitability", 5.0)]
        assert [(result.name, result.value) for result in conversation.convo_qual_scores] == [
            ("needs_assessment", "complete")
        ]
        for turn in conversation.turn_scores:
            names = {result.name for result in turn.scores}
            assert names == {"faithfulness", "helpfulness", "coherence", "relevance", "clarity"}
            assert [result.value for result in turn.qual_scores if result.name == "prohibited_statements"] == ["clean"]
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert (folder / "results" / "simulation" / "simulation.json").is_file()


def test_the_agent_gets_the_system_prompt_and_the_key_of_the_file(folder: Path, server: ScriptedServer) -> None:
    script(server)
    assert simulate_evaluate(folder, server, "--max_turns", "1").code == 0
    for request in server.requests["agent"]:
        assert request.headers["Authorization"] == f"Bearer {KEY['OPENAI_API_KEY']}"
        assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
        assert "XYZ Bank insurance" in request.body["messages"][0]["content"]
        assert request.body["model"] == "gpt-5.1"
    written = [path for path in (folder / "results").rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if KEY["OPENAI_API_KEY"] in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    ("values", "check"),
    [
        ({"clarity": 3}, "clarity"),
        ({"suitability": 3.9}, "product_suitability"),
        ({"statements": " Violated"}, "prohibited_statements"),
    ],
)
def test_each_of_its_own_gates_fails_the_run(
    folder: Path, server: ScriptedServer, values: dict[str, object], check: str
) -> None:
    script(server, **values)
    finished = simulate_evaluate(folder, server, "--max_turns=1")
    assert finished.code == 1, finished.err
    assert {each.name for each in finished.verdict.checks if each.passed is False} == {check}


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (lambda request: Reply(content="{}"), "an answer without the fields"),
        (lambda request: Reply(status=400, body={"error": {"message": "not this prompt"}}), "no answer"),
    ],
)
def test_its_own_metrics_that_get_no_answer_are_not_measured(
    folder: Path, server: ScriptedServer, broken: object, name: str
) -> None:
    def analysis(request: Request) -> Reply:
        if request.question == "custom_metric" and "easy the last answer" in request.text:
            return broken(request)  # type: ignore[operator,no-any-return]
        return own_questions(request) if request.question == "custom_metric" else llm()(request)

    server.llm = llm(analysis=analysis)
    finished = simulate_evaluate(folder, server, "--max_turns=1", "--llm_timeout_seconds=5")
    assert finished.code == 3, (name, finished.err)
    missing_metrics = {getattr(failure, "metric", None) for failure in finished.verdict.failures}
    assert "clarity" in missing_metrics
    assert not [
        result for each in finished.evaluation.conversations for turn in each.turn_scores for result in turn.scores
        if result.name == "clarity"
    ]  # fmt: skip
