"""The quality gate for chat agents.

Everything below is imported when it is first used, so that `import arksim_ci` costs nothing. See docs/python.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from arksim_ci.api import GateResult, load_config, run, run_evaluation, run_simulation
    from arksim_ci.config.errors import ConfigError, Problem
    from arksim_ci.config.model import RunConfig
    from arksim_ci.evaluation.metrics import expected_metrics
    from arksim_ci.gates.expectation import expected_conversations
    from arksim_ci.gates.labels import check_qualitative_failure_labels
    from arksim_ci.gates.thresholds import check_numeric_thresholds
    from arksim_ci.gates.verdict import decide
    from arksim_ci.schema.evaluation import Evaluation
    from arksim_ci.schema.expectation import Expectation, Gates
    from arksim_ci.schema.recommendation import Recommendations
    from arksim_ci.schema.scenario import Scenario, Scenarios
    from arksim_ci.schema.simulation import Conversation, Simulation
    from arksim_ci.schema.verdict import Verdict
    from arksim_ci.user_code.metric_classes import (
        ChatMessage,
        QualitativeMetric,
        QualResult,
        QuantitativeMetric,
        QuantResult,
        ScoreInput,
        format_chat_history,
    )

_HOMES = {
    "api": ("GateResult", "load_config", "run", "run_evaluation", "run_simulation"),
    "config.errors": ("ConfigError", "Problem"),
    "config.model": ("RunConfig",),
    "evaluation.metrics": ("expected_metrics",),
    "gates.expectation": ("expected_conversations",),
    "gates.labels": ("check_qualitative_failure_labels",),
    "gates.thresholds": ("check_numeric_thresholds",),
    "gates.verdict": ("decide",),
    "schema.evaluation": ("Evaluation",),
    "schema.expectation": ("Expectation", "Gates"),
    "schema.recommendation": ("Recommendations",),
    "schema.scenario": ("Scenario", "Scenarios"),
    "schema.simulation": ("Conversation", "Simulation"),
    "schema.verdict": ("Verdict",),
    "user_code.metric_classes": (
        "ChatMessage",
        "QualResult",
        "QualitativeMetric",
        "QuantResult",
        "QuantitativeMetric",
        "ScoreInput",
        "format_chat_history",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ChatMessage",
    "ConfigError",
    "Conversation",
    "Evaluation",
    "Expectation",
    "GateResult",
    "Gates",
    "Problem",
    "QualResult",
    "QualitativeMetric",
    "QuantResult",
    "QuantitativeMetric",
    "Recommendations",
    "RunConfig",
    "Scenario",
    "Scenarios",
    "ScoreInput",
    "Simulation",
    "Verdict",
    "__version__",
    "check_numeric_thresholds",
    "check_qualitative_failure_labels",
    "decide",
    "expected_conversations",
    "expected_metrics",
    "format_chat_history",
    "load_config",
    "run",
    "run_evaluation",
    "run_simulation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
