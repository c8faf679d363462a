"""Tool calls out of an agent's spans, and together with those that its answer shows. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from arksim_ci.agents.response_shapes import read_tool_calls
from arksim_ci.agents.traces_otlp import Span
from arksim_ci.schema.simulation import ToolCall

SOURCE: Final = "otel_trace"

_NAMES = ("gen_ai.tool.name", "tool.name", "tool_call.function.name")
_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_call.function.arguments")
_RESULTS = ("gen_ai.tool.call.result", "output.value")
_OPERATION = "gen_ai.operation.name"
_EXECUTE_TOOL = "execute_tool"
_KIND = "openinference.span.kind"


def tool_call(span: Span) -> ToolCall | None:
    """Read the tool call that a span stands for: by OpenTelemetry's GenAI conventions, or by OpenInference's.

    None where it stands for something else: a span of another operation or kind, or one that names no tool.
    """
    attributes = span.attributes
    operation, kind = attributes.get(_OPERATION), attributes.get(_KIND)
    if operation != _EXECUTE_TOOL and (operation or (kind and str(kind).upper() != "TOOL")):
        return None
    name = _first(attributes, _NAMES)
    if not name and span.name.startswith(f"{_EXECUTE_TOOL} "):
        name = span.name.removeprefix(f"{_EXECUTE_TOOL} ")
    if not name and kind:
        name = span.name
    call = {
        "id": str(_first(attributes, _IDS) or span.span_id),
        "name": str(name or ""),
        "arguments": _arguments(attributes),
        "result": _first(attributes, _RESULTS),
        "error": span.error,
    }
    return next((call.model_copy(update={"source": SOURCE}) for call in read_tool_calls([call])), None)


def tool_calls(spans: Iterable[Span]) -> list[ToolCall]:
    """The tool calls of a turn's spans, in the order in which they began, each once.

    One call may have several spans: sent twice, known by its call id to two instrumentations, or a span of the tool inside
    a span of the framework. Calls with the same arguments that are none of these were made several times.
    """
    by_id = {span.span_id: span for span in spans}
    calls = {span.span_id: call for span in by_id.values() if (call := tool_call(span))}
    found: dict[str, ToolCall] = {}
    for span in sorted(by_id.values(), key=lambda span: span.start):
        call, outer = calls.get(span.span_id), calls.get(span.parent_id)
        if call and not (outer and signature(outer) == signature(call)):
            found.setdefault(call.id, call)
    return list(found.values())


def merged(shown: Sequence[ToolCall], traced: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """An answer's own tool calls, and those that only the traces show.

    A traced call is a shown one if it has its id, else if it has its name and arguments; then its result and error are
    taken over where the answer has none.
    """
    rest = list(traced)
    twins: dict[int, ToolCall] = {}
    for same in (_same_id, _same_signature):
        for at, call in enumerate(shown):
            twin = None if at in twins else next((each for each in rest if same(call, each)), None)
            if twin is not None:
                rest.remove(twin)
                twins[at] = twin
    return (*(_completed(call, twins.get(at)) for at, call in enumerate(shown)), *rest)


def signature(call: ToolCall) -> tuple[str, str]:
    """What makes two calls without a common id the same one."""
    return call.name, json.dumps(call.arguments, sort_keys=True)


def _same_id(shown: ToolCall, traced: ToolCall) -> bool:
    return bool(shown.id) and shown.id == traced.id


def _same_signature(shown: ToolCall, traced: ToolCall) -> bool:
    return signature(shown) == signature(traced)


def _completed(shown: ToolCall, traced: ToolCall | None) -> ToolCall:
    if traced is None or shown.result is not None or shown.error is not None:
        return shown
    return shown.model_copy(update={"result": traced.result, "error": traced.error})


def _arguments(attributes: Mapping[str, Any]) -> Any:
    """The arguments. ArkSim reads `tool.parameters`, too; it comes last, since OpenInference may have the tool's schema there."""
    given = _first(attributes, _ARGUMENTS)
    if given is None:
        given = attributes.get("input.value")
    return attributes.get("tool.parameters") if given is None else given


def _first(attributes: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)
