"""The modules that files written for ArkSim import, made of our own classes.

Runs in the worker process. Ours are used even where ArkSim is installed for that interpreter: so a file behaves the same everywhere, and
its `llm` asks within the limits of the run.
"""

from __future__ import annotations

import difflib
import sys
import types
from collections.abc import Mapping
from typing import Any

from arksim_ci.user_code import agent_classes, guest_llm, metric_classes, models, tracing

ARKSIM_VERSION = "0.3.8"
"""The release whose names these are."""


class NotInAWorker:
    """Stands for a name of ArkSim that makes runs; a file may import it, but not use it from inside a run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Explain."""
        raise RuntimeError(
            f"{self._name} can't be used inside a metric or an agent: the run is already under way. Use arksim_ci in a script of your own."
        )


def install() -> None:
    """Put the modules where `import` finds them."""
    metric_names = {name: getattr(metric_classes, name) for name in metric_classes.__all__}
    tool_types = _names(models, "A2AToolCaptureExtension", "AgentResponse", "ToolCall", "ToolCallSource")
    config = _names(models, "A2AConfig", "AgentConfig", "AgentType", "ChatCompletionsConfig", "CustomConfig")
    scenario = _names(models, "KnowledgeItem", "Scenario", "Scenarios")
    base_agent = {"BaseAgent": agent_classes.BaseAgent}
    chat = {"LLM": guest_llm.LLM}
    context = _names(tracing, "trace_conversation_id", "trace_turn_id", "trace_receiver_ref")
    evaluator_runs = _elsewhere(
        "Evaluation", "EvaluationInput", "EvaluationParams", "Evaluator", "build_error_scenario_data"
    )
    evaluator_runs |= _elsewhere(
        "check_numeric_thresholds", "check_qualitative_failure_labels", "match_trajectory", "run_evaluation"
    )
    simulation_runs = _elsewhere(
        "Conversation", "Simulation", "SimulationInput", "SimulationParams", "Simulator", "run_simulation"
    )
    metric_bases = {name: metric_names[name] for name in ("QualitativeMetric", "QuantitativeMetric")}
    top = (
        {"__version__": ARKSIM_VERSION}
        | config
        | tool_types
        | scenario
        | metric_bases
        | evaluator_runs
        | simulation_runs
    )

    _module("arksim", top)
    _module("arksim.config", config)
    _module("arksim.config.types", {"AgentType": models.AgentType})
    _module("arksim.config.core", {})
    _module("arksim.config.core.agent", config)
    _module("arksim.evaluator", metric_names | evaluator_runs)
    _module("arksim.evaluator.base_metric", metric_names)
    _module("arksim.scenario", scenario)
    _module("arksim.scenario.entities", scenario)
    _module("arksim.simulation_engine", tool_types | simulation_runs)
    _module("arksim.simulation_engine.tool_types", tool_types)
    _module("arksim.simulation_engine.agent", {})
    _module("arksim.simulation_engine.agent.base", base_agent | tool_types | {"AgentConfig": models.AgentConfig})
    _module("arksim.llms", {})
    _module("arksim.llms.chat", chat)
    _module("arksim.llms.chat.llm", chat)
    _module("arksim.llms.chat.base", {})
    _module("arksim.llms.chat.base.base_llm", {"BaseLLM": guest_llm.BaseLLM})
    _module("arksim.llms.chat.base.types", {"LLMMessage": guest_llm.LLMMessage})
    openai_tracing = {"extract_tool_calls": tracing.extract_tool_calls, "ArksimTracingProcessor": _Lazy()}
    _module("arksim.tracing", openai_tracing | _elsewhere("TraceReceiver", "TraceReceiverConfig"))
    _module("arksim.tracing.openai", openai_tracing)
    _module("arksim.tracing.context", context)

    ours = sys.modules["arksim_ci"]
    ours.__dict__.update(metric_names)
    ours.__dict__["__getattr__"] = _missing("arksim_ci", metric_names)


class _Lazy:
    """A class that is made when it is first asked for: it imports a package of the user's."""


def _names(module: types.ModuleType, *names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names}


def _elsewhere(*names: str) -> dict[str, Any]:
    return {name: NotInAWorker(name) for name in names}


def _module(name: str, content: Mapping[str, Any]) -> None:
    made = types.ModuleType(name, "A stand-in for the module of this name in ArkSim.")
    made.__path__ = []
    made.__dict__.update({key: value for key, value in content.items() if not isinstance(value, _Lazy)})
    made.__dict__["__all__"] = [
        key for key, value in content.items() if not key.startswith("__") and not isinstance(value, _Lazy)
    ]
    made.__dict__["__getattr__"] = _missing(name, content)
    sys.modules[name] = made
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, made)


def _missing(module: str, content: Mapping[str, Any]) -> Any:
    """A module's `__getattr__`: makes what is made late, explains what is not there."""

    def find(name: str) -> Any:
        if isinstance(content.get(name), _Lazy):
            made = tracing.make_processor_class()
            setattr(sys.modules[module], name, made)
            return made
        if name.startswith("__"):
            raise AttributeError(name)
        near = difflib.get_close_matches(name, content, n=1)
        hint = (
            f"; did you mean {near[0]}?"
            if near
            else f"; there are {', '.join(sorted(key for key in content if key[0] != '_')) or 'none'}"
        )
        raise ImportError(f"{module} has no {name} inside a run{hint}", name=module)

    return find
