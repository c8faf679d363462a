"""What can't be loaded is told with file, line and advice, before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.user_code.host import UserCodeNotLoadable
from tests.integration.user_code.conftest import Bench

IMPORT = "from arksim.evaluator import QuantitativeMetric, QualitativeMetric, QuantResult\n"

CASES = {
    "syntax": (IMPORT + "\nclass X(:\n", 3, "SyntaxError: invalid syntax"),
    "raises": (IMPORT + "\n\nraise ValueError('boom')\n", 4, "ValueError: boom"),
    "exits": ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
    "missing package": ("import torch_of_nowhere.nn\n", 1, "'torch_of_nowhere' is not installed for .*`requirements` input"),
    "unknown name": ("from arksim.evaluator import QuantitativMetric\n", 1, "did you mean QuantitativeMetric"),
    "unknown module": ("import arksim.reporting\n", 1, "arksim.reporting is not among the names of ArkSim"),
    "no metric": ("x = 1\n", None, "no public subclass of QuantitativeMetric or QualitativeMetric"),
    "incomplete": (IMPORT + "class X(QuantitativeMetric):\n    pass\n", None, "X lacks score\\(\\)"),
    "needs arguments": (IMPORT + "class X(QuantitativeMetric):\n    def __init__(self, limit): pass\n    def score(self, i): pass\n", 2, "X can't be made: TypeError: .*limit"),
    "constructor": (IMPORT + "class X(QuantitativeMetric):\n    def __init__(self):\n        raise KeyError('k')\n    def score(self, i): pass\n", 4, "X can't be made: KeyError: 'k'"),
    "no super": (IMPORT + "class X(QuantitativeMetric):\n    def __init__(self): pass\n    def score(self, i): pass\n", 2, "X has no name"),
    "scope": (IMPORT + "class X(QuantitativeMetric):\n    def __init__(self): super().__init__(scope='message')\n    def score(self, i): pass\n", 2, "scope 'message'"),
    "range": (IMPORT + "class X(QuantitativeMetric):\n    def __init__(self): super().__init__(score_range=(5, 1))\n    def score(self, i): pass\n", 2, "score_range \\(5, 1\\)"),
    "binary": ("\x00\x01", None, "null bytes"),
    "exits hard": ("import os\nos._exit(4)\n", None, "the worker process ended \\(exit code 4\\) while the import of metrics.py ran"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
async def test_a_file_that_cannot_be_used(bench: Bench, case: str) -> None:
    text, line, message = CASES[case]
    file = bench.folder / "metrics.py"
    file.write_text(text, encoding="utf-8")
    host = await bench.host()
    with pytest.raises(UserCodeNotLoadable, match=message) as caught:
        await host.load_metrics([file])
    (problem,) = caught.value.problems
    assert problem.source == str(file)
    assert problem.line == line or case == "binary"
    assert isinstance(caught.value, ConfigError)


async def test_every_problem_is_told_at_once_and_the_log_has_the_traceback(bench: Bench) -> None:
    good = IMPORT + "class A(QuantitativeMetric):\n    def score(self, i): pass\n"
    raising = IMPORT + "def deep():\n    raise ValueError('boom')\ndeep()\n"
    files = [bench.folder / name for name in ("one.py", "two.py", "three.py", "none.py")]
    for file, text in zip(files, (good, raising, good), strict=False):
        file.write_text(text, encoding="utf-8")
    host = await bench.host()
    with pytest.raises(UserCodeNotLoadable) as caught:
        await host.load_metrics([*files, bench.folder / "metrics.txt"])
    messages = [problem.message for problem in caught.value.problems]
    assert messages[0] == "ValueError: boom"
    assert "'A' is defined twice; the other one is in" in messages[1]
    assert messages[2] == "there is no such file"
    assert "must end in .py" in messages[3]
    assert "in deep" in bench.logged
    assert "loading.py" not in bench.logged


async def test_a_python_that_does_not_start(bench: Bench) -> None:
    with pytest.raises(UserCodeNotLoadable, match="does not start: No such file"):
        await bench.host(python=Path("/nowhere/python"))
    broken = bench.write("python", "#!/bin/sh\necho this is broken\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(UserCodeNotLoadable, match="does not start: this is broken"):
        await bench.host(python=broken)


async def test_every_name_of_arksim_that_files_import_is_there(bench: Bench, bare_python: Path) -> None:
    file = bench.write(
        "metrics.py",
        """
        import arksim
        from arksim import A2AConfig, AgentConfig, AgentResponse, ChatCompletionsConfig, ToolCall, ToolCallSource, __version__
        from arksim import QualitativeMetric as Q, Scenario as S, Scenarios as SS, Evaluator, run_simulation, Simulator
        from arksim.config import AgentConfig as C, AgentType, CustomConfig
        from arksim.config.core.agent import AgentConfig as CC
        from arksim.evaluator import *
        from arksim.evaluator import Evaluator, check_numeric_thresholds, run_evaluation, EvaluationInput
        from arksim.evaluator.base_metric import MetricScope
        from arksim.scenario import KnowledgeItem, Scenario, Scenarios
        from arksim.scenario.entities import Scenario as SSS
        from arksim.simulation_engine import AgentResponse as R
        from arksim.simulation_engine.agent.base import BaseAgent
        from arksim.simulation_engine.tool_types import A2AToolCaptureExtension, ToolCall as T
        from arksim.llms.chat import LLM
        from arksim.llms.chat.llm import LLM as L
        from arksim.llms.chat.base.base_llm import BaseLLM
        from arksim.llms.chat.base.types import LLMMessage
        from arksim.tracing import extract_tool_calls as e, TraceReceiver
        from arksim.tracing.openai import ArksimTracingProcessor, extract_tool_calls
        from arksim.tracing.context import trace_conversation_id, trace_turn_id

        assert AgentConfig is C is CC and Scenario is SSS and AgentResponse is R and ToolCall is T and LLM is L
        assert e is extract_tool_calls and Q is QualitativeMetric and arksim.evaluator.QuantResult is QuantResult
        assert A2AToolCaptureExtension.METADATA_KEY.endswith("/v1/tool_calls")
        assert ToolCallSource.OTEL_TRACE == "otel_trace"
        item = Scenario(scenario_id="s", user_id="u", goal="g", agent_context="c", user_profile="p", knowledge=[{"content": "k"}])
        assert item.knowledge[0].content == "k"

        class X(QuantitativeMetric):
            def score(self, score_input):
                try:
                    run_evaluation(EvaluationInput())
                except RuntimeError as error:
                    return QuantResult(name=self.name, value=1, reason=str(error))
        """,
    )
    for python in (None, bare_python):
        host = await bench.host(python=python)
        await host.load_metrics([file])
        assert "the run is already under way" in ((await host.score("X", {})).reason or "")
