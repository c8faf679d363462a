"""The same run from Python, over real HTTP, and every example of docs/python.md."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import traceback
from pathlib import Path
from typing import Any

import pytest

import arksim_ci
from tests.support.project import ROOT, Project, clean_environment, command_line, llm
from tests.support.scripted_server import Reply, ScriptedServer, wait_until

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.DOTALL)
LABEL = "agent_behavior_failure"


@pytest.fixture(autouse=True)
def _here(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)


def test_a_run_has_the_verdict_and_what_it_rests_on(project: Project, server: ScriptedServer) -> None:
    server.llm = llm(faithfulness=2)
    result = arksim_ci.run(project.write(), numeric_thresholds={"faithfulness": 3.5})
    assert (result.exit_code, result.passed, result.verdict.passed) == (1, False, False)
    assert result.evaluation.simulation_id == result.simulation.simulation_id
    assert result.output_dir == project.output_dir
    assert result.output_dir / "verdict.json" in result.files
    assert result.trouble == ()
    written = arksim_ci.Verdict.model_validate_json((result.output_dir / "verdict.json").read_text(encoding="utf-8"))
    assert written == result.verdict
    assert len(result.scenarios.scenarios) == 1


def test_dotted_keys_paths_and_tuples_are_settings(project: Project, server: ScriptedServer, tmp_path: Path) -> None:
    project.config["agent_config"]["api_config"]["endpoint"] = "http://127.0.0.1:9/nobody"
    result = arksim_ci.run(
        str(project.write()),
        **{"agent_config.api_config.endpoint": server.agent_url},  # type: ignore[arg-type]
        output_dir=tmp_path / "out",
        metrics_to_run=("faithfulness",),
    )
    assert result.passed
    assert result.output_dir == tmp_path / "out"
    assert {score.name for score in result.evaluation.conversations[0].turn_scores[0].scores} == {"faithfulness"}


def test_a_rerun_into_another_folder_leaves_the_first_run_as_it_is(project: Project, tmp_path: Path) -> None:
    first = arksim_ci.run(project.write())
    before = (tmp_path / "simulation.json").read_bytes()
    again = arksim_ci.run(project.write(), output_dir=tmp_path / "rerun")
    assert (tmp_path / "simulation.json").read_bytes() == before
    assert (tmp_path / "simulation.json") in first.files
    assert {path.parent for path in again.files if path.name == "simulation.json"} == {tmp_path / "rerun"}


def test_the_two_halves_by_file(project: Project, server: ScriptedServer) -> None:
    config = project.write()
    simulation = arksim_ci.run_simulation(config)
    server.requests["agent"].clear()
    evaluation = arksim_ci.run_evaluation(config, simulation_file_path="simulation.json")
    assert evaluation.simulation_id == simulation.simulation_id
    assert server.requests["agent"] == []


def test_the_two_halves_in_memory_with_a_mapping_as_configuration(project: Project, server: ScriptedServer) -> None:
    config = {key: value for key, value in project.config.items() if key != "scenario_file_path"}
    document = {"schema_version": "v1", "scenarios": project.scenarios}
    scenarios = arksim_ci.Scenarios.model_validate(document)
    simulation = arksim_ci.run_simulation(config, scenarios=scenarios)
    assert (project.folder / "simulation.json").is_file()
    evaluation = arksim_ci.run_evaluation(config, simulation=simulation, scenarios=scenarios)
    assert len(evaluation.conversations) == 2
    assert (project.output_dir / "evaluation.json").is_file()
    assert not (project.folder / "config.yaml").exists()


async def test_it_works_inside_a_running_event_loop(project: Project) -> None:
    """As in a notebook, whose cells run on one."""
    assert asyncio.get_running_loop()
    assert arksim_ci.run(project.write()).passed


def test_a_wrong_configuration_is_raised_with_every_problem(project: Project, server: ScriptedServer) -> None:
    config = project.write()
    arksim_ci.run(config)
    with pytest.raises(arksim_ci.ConfigError) as caught:
        arksim_ci.run(config, max_turn=3, num_workers=0)
    assert {problem.key for problem in caught.value.problems} == {"max_turn", "num_workers"}
    assert {problem.source for problem in caught.value.problems} == {"the arguments"}
    assert not (project.output_dir / "verdict.json").exists()
    with pytest.raises(arksim_ci.ConfigError, match="the configuration: max_turn: unknown key"):
        arksim_ci.run({**project.config, "max_turn": 3})


@pytest.mark.parametrize("call", [arksim_ci.load_config, arksim_ci.run])
def test_the_traceback_of_a_wrong_configuration_is_short(project: Project, call: Any) -> None:
    with pytest.raises(arksim_ci.ConfigError) as caught:
        call(project.write(), max_turn=3)
    lines = "".join(traceback.format_exception(caught.value)).splitlines()
    assert len(lines) < 20
    assert not any("direct cause" in line or "During handling" in line for line in lines)


def test_a_misspelt_metric_is_no_gap(
    project: Project, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    evaluation = arksim_ci.run(project.write()).evaluation
    assert not arksim_ci.check_numeric_thresholds(evaluation, {"helpfulnes": 3})
    (record,) = [each for each in caplog.records if "helpfulnes" in each.getMessage()]
    assert record.getMessage() == (
        'Threshold on "helpfulnes": no conversation has a metric of this name; did you mean "helpfulness"?'
    )


def test_a_key_that_is_refused_is_raised(project: Project, server: ScriptedServer) -> None:
    server.models = lambda request: Reply(status=401, body={"error": {"message": "no"}})
    with pytest.raises(arksim_ci.ConfigError):
        arksim_ci.run(project.write())
    assert server.requests["agent"] == []


def test_custom_metrics_run_from_python_too(project: Project) -> None:
    (project.folder / "metrics.py").write_text(
        "from arksim_ci import QuantitativeMetric, QuantResult\n"
        "class Clarity(QuantitativeMetric):\n"
        "    def __init__(self, llm=None): super().__init__(name='clarity', score_range=(0, 5), llm=llm)\n"
        "    def score(self, score_input): return QuantResult(name='clarity', value=3, reason='r')\n"
    )
    config = project.write()
    files = ["metrics.py"]
    evaluation = arksim_ci.run(config, custom_metrics_file_paths=files).evaluation
    assert arksim_ci.check_numeric_thresholds(evaluation, numeric_thresholds={"clarity": 3})
    assert not arksim_ci.check_numeric_thresholds(evaluation, numeric_thresholds={"clarity": 3.1})
    assert arksim_ci.run(config, custom_metrics_file_paths=files, numeric_thresholds={"clarity": 3.1}).exit_code == 1


@pytest.mark.parametrize(
    ("values", "passes"),
    [({}, True), ({"goal_completion": 0.5}, False), ({"helpfulness": 3}, False), ({LABEL: "False Information"}, False)],
)
def test_the_programmatic_gates_of_the_documentation(
    project: Project, server: ScriptedServer, values: dict[str, object], passes: bool
) -> None:
    """Both styles: the two checks, and a gate of one's own over the conversations."""
    server.llm = llm(**values)  # type: ignore[arg-type]
    evaluator_output = arksim_ci.run(project.write()).evaluation
    numeric_ok = arksim_ci.check_numeric_thresholds(
        evaluator_output, numeric_thresholds={"helpfulness": 3.5, "goal_completion": 0.6}
    )
    qual_ok = arksim_ci.check_qualitative_failure_labels(
        evaluator_output, qualitative_failure_labels={LABEL: ["false information"]}
    )
    assert (numeric_ok and qual_ok) == passes
    low = [each for each in evaluator_output.conversations if each.overall_agent_score < 0.7]
    assert bool(low) == (values == {LABEL: "False Information"})


def test_what_was_not_measured_passes_no_gate_of_ones_own(project: Project, server: ScriptedServer) -> None:
    server.llm = llm(lambda request: Reply(content="No."))
    evaluator_output = arksim_ci.run(project.write()).evaluation
    assert not arksim_ci.check_numeric_thresholds(evaluator_output, {"helpfulness": 1})
    assert not arksim_ci.check_qualitative_failure_labels(evaluator_output, {LABEL: ["repetition"]})
    assert all(each.overall_agent_score < 0.7 for each in evaluator_output.conversations)


def test_an_interrupt_ends_the_run_in_order(project: Project, server: ScriptedServer) -> None:
    project.config["num_workers"] = 1
    server.agent = lambda request: Reply(content="30 days.", delay=0 if request.number < 2 else 30)
    project.write()
    (project.folder / "script.py").write_text("import arksim_ci\narksim_ci.run('config.yaml')\n", encoding="utf-8")
    process = subprocess.Popen(
        [command_line()[0], "script.py"], stderr=subprocess.PIPE, text=True, env=clean_environment({})
    )
    wait_until(lambda: len(server.requests["agent"]) == 3, 20)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert err.strip().endswith("KeyboardInterrupt")
    assert process.returncode != 0
    verdict = json.loads((project.output_dir / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["status"] == "CANCELLED"
    simulation = json.loads((project.output_dir / "simulation.json").read_text(encoding="utf-8"))
    assert len(simulation["conversations"][0]["conversation_history"]) == 4


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_page_run(project: Project, server: ScriptedServer, number: int) -> None:
    folder = project.folder
    (folder / "arksim").mkdir()
    project.config |= {
        "provider": "offline",
        "base_url": None,
        "output_dir": "./results/evaluation",
        "output_file_path": "./results/simulation.json",
    }
    project.write()
    for name in ("config.yaml", "scenarios.json"):
        (folder / name).rename(folder / "arksim" / name)
    server.agent = lambda request: Reply(content="Shoes can be returned within 30 days.")
    example = EXAMPLES[number].replace("http://localhost:8000/v1/chat/completions", server.agent_url)
    if "verdict.json" in example:
        assert run_script("import arksim_ci\narksim_ci.run('arksim/config.yaml')", folder).returncode == 0
    done = run_script(example, folder)
    assert done.returncode == 0, done.stderr
    assert ("print(" not in example) or done.stdout or "sys.exit" in example


def run_script(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(text, encoding="utf-8")
    python = command_line()[0]
    return subprocess.run(
        [python, "-W", "error", "script.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=60, env=clean_environment({})
    )  # fmt: skip


def test_the_page_names_every_function() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in arksim_ci.__all__:
        if name not in ("__version__", "Conversation", "Problem"):
            assert f"{name}" in page, name
    assert json.dumps(len(EXAMPLES)) == "7"
