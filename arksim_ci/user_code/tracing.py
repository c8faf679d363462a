"""Tool calls that the user's tracing finds: the names of `arksim.tracing`.

Runs in the worker process: standard library only; the OpenAI Agents SDK is imported where the user's interpreter has it.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from arksim_ci.user_code.models import ToolCall, ToolCallSource

trace_conversation_id: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "trace_conversation_id", default=None
)
trace_turn_id: contextvars.ContextVar[int | None] = contextvars.ContextVar("trace_turn_id", default=None)
trace_receiver_ref: contextvars.ContextVar[Any] = contextvars.ContextVar("trace_receiver_ref", default=None)


class TurnReceiver:
    """Collects the tool calls of one turn."""

    def __init__(self) -> None:
        self.tool_calls: list[Any] = []

    def submit_tool_calls(self, conversation_id: str, turn_id: int, tool_calls: Iterable[Any]) -> None:
        """Take tool calls; the turn is the one that runs."""
        self.tool_calls.extend(tool_calls)

    def signal_turn_complete(self, conversation_id: str, turn_id: int) -> None:
        """Part of ArkSim's interface: here a turn is complete when the agent has answered."""


def begin_turn(conversation_id: str, turn_id: int) -> TurnReceiver:
    """Set the context of a turn, for whatever runs in this context from now on."""
    receiver = TurnReceiver()
    trace_conversation_id.set(conversation_id)
    trace_turn_id.set(turn_id)
    trace_receiver_ref.set(receiver)
    return receiver


def make_processor_class() -> type:
    """Make `ArksimTracingProcessor`: a tracing processor of the OpenAI Agents SDK, if that can be imported."""
    try:
        from agents.tracing import TracingProcessor  # type: ignore[import-not-found]  # noqa: PLC0415 - the user's package
    except ImportError:
        return _ProcessorWithoutSdk

    class ArksimTracingProcessor(TracingProcessor):  # type: ignore[misc]
        """Takes each finished function span as a tool call of the turn in whose context it ran."""

        def __init__(self) -> None:
            self._traces: dict[str, tuple[str, int, Any]] = {}

        @contextlib.asynccontextmanager
        async def trace(self, conversation_id: str, turn_id: int, receiver: Any = None) -> AsyncIterator[None]:
            """Name the turn and the receiver oneself, for use outside a run."""
            from agents.tracing import trace  # noqa: PLC0415 - the user's package

            with trace(workflow_name="agent_turn", group_id=conversation_id) as begun:
                self._traces[begun.trace_id] = (conversation_id, turn_id, receiver)
                yield
            if receiver is not None:
                receiver.signal_turn_complete(conversation_id, turn_id)

        def on_trace_start(self, trace: Any) -> None:
            """Nothing to do."""

        def on_trace_end(self, trace: Any) -> None:
            """Forget the trace."""
            self._traces.pop(trace.trace_id, None)

        def on_span_start(self, span: Any) -> None:
            """Nothing to do."""

        def on_span_end(self, span: Any) -> None:
            """Hand a function span to the receiver of its turn."""
            tool_call = tool_call_of_span(span)
            here = (trace_conversation_id.get(), trace_turn_id.get(), trace_receiver_ref.get())
            conversation_id, turn_id, receiver = self._traces.get(span.trace_id, here)
            if tool_call is not None and receiver is not None and conversation_id is not None and turn_id is not None:
                receiver.submit_tool_calls(conversation_id, turn_id, [tool_call])

        def shutdown(self) -> None:
            """Nothing to do."""

        def force_flush(self) -> None:
            """Nothing to do."""

    return ArksimTracingProcessor


class _ProcessorWithoutSdk:
    def __init__(self) -> None:
        raise ImportError(
            "ArksimTracingProcessor needs the OpenAI Agents SDK: add `openai-agents` to the file of the `requirements` input"
        )


def tool_call_of_span(span: Any) -> ToolCall | None:
    """Read a tool call off a span of the OpenAI Agents SDK; None where it is no function span."""
    data = span.span_data
    if getattr(data, "type", None) != "function":
        return None
    error = span.error
    return ToolCall(
        id=str(span.span_id),
        name=str(data.name),
        arguments=_arguments(data.input),
        result=_text(data.output),
        error=str(error.get("message", "unknown error")) if error else None,
        source=ToolCallSource.OPENAI_AGENTS,
    )


def extract_tool_calls(result: Any) -> list[ToolCall]:
    """Read the tool calls off a RunResult of the OpenAI Agents SDK, in the order in which they were made.

    Args:
        result: what `Runner.run(...)` returned; `new_items` holds items of type `tool_call_item` and `tool_call_output_item`.
    """
    items = [(getattr(item, "type", ""), item.raw_item) for item in result.new_items if hasattr(item, "raw_item")]
    outputs = {
        _part(raw, "call_id"): _text(_part(raw, "output")) for kind, raw in items if kind == "tool_call_output_item"
    }
    return [
        ToolCall(
            id=str(_part(raw, "call_id") or ""),
            name=str(_part(raw, "name")),
            arguments=_arguments(_part(raw, "arguments")),
            result=outputs.get(_part(raw, "call_id")),
            source=ToolCallSource.OPENAI_AGENTS,
        )
        for kind, raw in items
        if kind == "tool_call_item" and _part(raw, "type") == "function_call"
    ]


def _part(raw: Any, name: str) -> Any:
    return raw.get(name) if isinstance(raw, dict) else getattr(raw, name, None)


def _arguments(raw: Any) -> dict[str, Any]:
    try:
        parsed = json.loads(raw) if isinstance(raw, str) and raw else raw
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _text(output: Any) -> str | None:
    return output if output is None or isinstance(output, str) else json.dumps(output, default=str)
