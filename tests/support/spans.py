"""Spans as an agent sends them by OTLP."""

from __future__ import annotations

import json
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"


def attribute(name: str, value: Any) -> dict[str, Any]:
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    if isinstance(value, dict):
        return {"key": name, "value": {"kvlistValue": {"values": [attribute(*item) for item in value.items()]}}}
    if isinstance(value, list):
        return {"key": name, "value": {"arrayValue": {"values": [attribute("", each)["value"] for each in value]}}}
    return {"key": name, "value": {kinds[type(value)]: str(value) if type(value) is int else value}}


def span(
    name: str = "span",
    attributes: dict[str, Any] | None = None,
    *,
    span_id: str = "00f067aa0ba902b7",
    parent: str = "",
    trace: str = TRACE,
    start: int = 1,
    **more: Any,
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(start),
        "attributes": [attribute(*item) for item in (attributes or {}).items()],
        **more,
    }


def tool_span(
    tool: str, arguments: dict[str, Any] | None = None, of: tuple[str, int] | None = None, **more: Any
) -> dict[str, Any]:
    """A span by the GenAI conventions. `of` names conversation and turn as ArkSim documents it."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": json.dumps(arguments or {}),
        **more.pop("attributes", {}),
    }
    if of:
        attributes |= {"arksim.conversation_id": of[0], "arksim.turn_id": of[1]}
    return span(f"execute_tool {tool}", attributes, **more)


def request(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body of a request."""
    attributes = [attribute(*item) for item in (resource or {"service.name": "shop"}).items()]
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}]}
