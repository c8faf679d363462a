"""Spans out of an OTLP/HTTP request, JSON or protobuf. Pure: bytes in, spans out."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 50
_ERROR = (2, "STATUS_CODE_ERROR")


class NotOtlp(Exception):
    """The body is no OTLP request for traces."""


class ProtobufMissing(Exception):
    """The package opentelemetry-proto is not installed."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span, as far as we read it. Ids are lower-case hexadecimal, empty where there is none.

    `resource` are the attributes of whoever made it. `error` is None where it went well; `start` counts nanoseconds.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    error: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)


def read_json(body: bytes) -> list[Span]:
    """Read the JSON of OTLP; field names in camelCase or snake_case.

    Raises:
        NotOtlp: it can't be read.
    """
    try:
        return _spans(json.loads(body), _as_it_is)
    except (ValueError, RecursionError, TypeError, AttributeError, KeyError) as error:
        raise NotOtlp(f"no OTLP JSON: {type(error).__name__}") from None


def read_protobuf(body: bytes) -> list[Span]:
    """Read the protobuf of OTLP.

    Raises:
        NotOtlp: it can't be read.
        ProtobufMissing: it can't be read here.
    """
    try:
        from google.protobuf.json_format import MessageToDict  # noqa: PLC0415  (an extra)
        from google.protobuf.message import DecodeError  # noqa: PLC0415
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415
            ExportTraceServiceRequest,
        )
    except ImportError:
        raise ProtobufMissing from None
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
        return _spans(MessageToDict(request), _hex)
    except (DecodeError, ValueError, RecursionError) as error:
        raise NotOtlp(f"no OTLP protobuf: {type(error).__name__}") from None


def _spans(document: Any, read_id: Callable[[str], str]) -> list[Span]:
    found: list[Span] = []
    for group in _field(document, "resourceSpans") or []:
        resource = _attributes((group.get("resource") or {}).get("attributes"))
        for scope in _field(group, "scopeSpans") or []:
            found.extend(_span(span, resource, read_id) for span in scope.get("spans") or [])
    return found


def _span(span: Mapping[str, Any], resource: Mapping[str, Any], read_id: Callable[[str], str]) -> Span:
    status = span.get("status") or {}
    return Span(
        trace_id=read_id(_field(span, "traceId") or ""),
        span_id=read_id(_field(span, "spanId") or ""),
        parent_id=read_id(_field(span, "parentSpanId") or ""),
        name=str(span.get("name") or ""),
        start=int(_field(span, "startTimeUnixNano") or 0),
        error=str(status.get("message") or "unknown error") if status.get("code") in _ERROR else None,
        attributes=_attributes(span.get("attributes")),
        resource=resource,
    )


def _attributes(items: Any) -> dict[str, Any]:
    return {str(item["key"]): _value(item.get("value") or {}, _DEEPEST) for item in items or []}


def _value(value: Mapping[str, Any], levels: int) -> Any:
    """The Python value of an OTLP value, which names its type."""
    if not levels:
        return None
    for kind, content in _kinds(value):
        if kind == "intvalue":
            return int(content)
        if kind == "arrayvalue":
            return [_value(item, levels - 1) for item in content.get("values") or []]
        if kind == "kvlistvalue":
            return {
                str(item["key"]): _value(item.get("value") or {}, levels - 1) for item in content.get("values") or []
            }
        if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
            return content
    return None


def _kinds(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind, content in value.items():
        yield kind.replace("_", "").lower(), content


def _field(holder: Mapping[str, Any], name: str) -> Any:
    """A field by its JSON name, or by its name in protobuf."""
    if name in holder:
        return holder[name]
    return holder.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))


def _as_it_is(identifier: str) -> str:
    return str(identifier).lower()


def _hex(identifier: str) -> str:
    """Ids are bytes in protobuf, which its JSON shows as base64."""
    return base64.b64decode(identifier).hex()
