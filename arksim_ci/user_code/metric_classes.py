"""The base classes of custom metrics. Runs in the worker process: standard library only, pydantic where there is one."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Awaitable, Sequence
from typing import Any

from arksim_ci.user_code.models import ChatMessage, MetricScope, QualResult, QuantResult, ScoreInput

__all__ = [
    "ChatMessage",
    "MetricScope",
    "QualResult",
    "QualitativeMetric",
    "QuantResult",
    "QuantitativeMetric",
    "ScoreInput",
    "format_chat_history",
]


def format_chat_history(messages: Sequence[ChatMessage]) -> str:
    """Write messages as text for a prompt: `role: content`, one after another, each ended by a line break."""
    return "".join(f"{message.role}: {message.content}\n" for message in messages)


class _Metric(abc.ABC):
    """What both kinds share."""

    name: str
    description: str
    scope: MetricScope
    additional_input: dict[str, Any]

    def __init__(
        self, name: str | None, description: str, llm: Any, scope: MetricScope, additional_input: dict[str, Any] | None
    ) -> None:
        self.name = name if name is not None else type(self).__name__
        self.description = description
        self._llm = llm
        self.scope = scope
        self.additional_input = additional_input or {}

    @property
    def llm(self) -> Any:
        """The LLM of the run: `llm.call(messages, schema=...)`, or `await llm.call_async(...)`.

        Raises:
            RuntimeError: the metric was made outside a run, without one.
        """
        llm = getattr(self, "_llm", None)
        if llm is None:
            raise RuntimeError(
                f"{type(self).__name__} has no LLM: accept `llm=None` in __init__ and hand it to super().__init__(llm=llm)"
            )
        return llm

    def _input(self, score_input: ScoreInput) -> ScoreInput:
        return score_input.model_copy(update=self.additional_input)


class QuantitativeMetric(_Metric):
    """A metric whose result is a number.

    Args:
        name: its name in reports and thresholds; the class's name where none is given.
        score_range: the lowest and the highest value.
        additional_input: what each ScoreInput gets on top; in `score_input.model_extra`.
        description: what it measures, for readers.
        llm: the LLM of the run, handed in when the file is loaded.
        scope: `turn` (each answer) or `conversation` (once, at its end).
    """

    def __init__(
        self,
        name: str | None = None,
        score_range: tuple[float, float] = (1, 5),
        additional_input: dict[str, Any] | None = None,
        description: str = "",
        llm: Any = None,
        scope: MetricScope = "turn",
    ) -> None:
        super().__init__(name, description, llm, scope, additional_input)
        self.score_range = score_range

    def run(self, score_input: ScoreInput) -> Any:
        """Score with `additional_input` merged in, and mark the result with the scope."""
        return _scoped(self.score(self._input(score_input)), self.scope)

    @abc.abstractmethod
    def score(self, score_input: ScoreInput) -> Any:
        """Judge; returns a QuantResult. May be `async`."""


class QualitativeMetric(_Metric):
    """A metric whose result is a label.

    Args:
        name: its name in reports and gates; the class's name where none is given.
        description: what it measures, for readers.
        label_colors: label to colour; the labels that can occur.
        llm: the LLM of the run, handed in when the file is loaded.
        scope: `turn` (each answer) or `conversation` (once, at its end).
        additional_input: what each ScoreInput gets on top; in `score_input.model_extra`.
    """

    def __init__(
        self,
        name: str | None = None,
        description: str = "",
        label_colors: dict[str, str] | None = None,
        llm: Any = None,
        scope: MetricScope = "turn",
        additional_input: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name, description, llm, scope, additional_input)
        self.label_colors = label_colors or {}

    def run(self, score_input: ScoreInput) -> Any:
        """Evaluate with `additional_input` merged in, and mark the result with the scope."""
        return _scoped(self.evaluate(self._input(score_input)), self.scope)

    @abc.abstractmethod
    def evaluate(self, score_input: ScoreInput) -> Any:
        """Judge; returns a QualResult. May be `async`."""


def _scoped(result: Any, scope: MetricScope) -> Any:
    async def later(awaited: Awaitable[Any]) -> Any:
        return _scoped(await awaited, scope)

    if inspect.isawaitable(result):
        return later(result)
    if isinstance(result, (QuantResult, QualResult)):
        result.scope = scope
    return result
