"""How a request says which turn it belongs to: the headers of W3C Trace Context and Baggage."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

CONVERSATION_ID = "arksim.conversation_id"
"""Name of the attribute (of a span or a resource) and of the baggage that names the conversation."""
TURN_ID = "arksim.turn_id"
"""Name of the attribute and of the baggage that numbers the turn, from 0."""


def trace_id(conversation_id: str, turn_id: int) -> str:
    """The trace that a turn's request begins: 32 hexadecimal digits, the same whenever it is asked for."""
    return _digest(conversation_id, turn_id)[:32]


def parent_span_id(conversation_id: str, turn_id: int) -> str:
    """The span that the agent's own spans of a turn hang below; it is never exported. 16 hexadecimal digits."""
    return _digest(conversation_id, turn_id)[32:48]


def turn_headers(conversation_id: str, turn_id: int) -> dict[str, str]:
    """The headers of a turn's request. An agent that is instrumented for OpenTelemetry continues the trace by itself."""
    trace, parent = trace_id(conversation_id, turn_id), parent_span_id(conversation_id, turn_id)
    return {
        "traceparent": f"00-{trace}-{parent}-01",
        "baggage": f"{CONVERSATION_ID}={quote(conversation_id, safe='')},{TURN_ID}={turn_id}",
    }


def _digest(conversation_id: str, turn_id: int) -> str:
    return hashlib.sha256(f"{conversation_id}/{turn_id}".encode()).hexdigest()
