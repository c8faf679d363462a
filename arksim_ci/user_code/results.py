"""Whether what the user's code returned is what it must return. Runs in the worker process: standard library only."""

from __future__ import annotations

from typing import Any

from arksim_ci.user_code.plain import plain


class WrongAnswer(Exception):
    """The user's code returned something that it must not."""


def agent_answer(answer: Any, traced: list[Any]) -> dict[str, Any]:
    """Content and tool calls of what `execute` returned; calls that only the tracing saw are added.

    Raises:
        WrongAnswer: it is neither a text nor a response.
    """
    if isinstance(answer, str):
        content, calls = answer, None
    elif isinstance(answer, dict) and "content" in answer:
        content, calls = answer["content"], answer.get("tool_calls")
    elif hasattr(answer, "content"):
        content, calls = answer.content, getattr(answer, "tool_calls", None)
    elif isinstance(answer, dict):
        keys = ", ".join(plain(str(key))[:40] for key in list(answer)[:10]) or "none"
        raise WrongAnswer(f'execute() returned a dict without "content" (keys: {keys})')
    else:
        raise WrongAnswer(
            f"execute() returned {type(answer).__name__}; it must return a text, or a response with `content` and `tool_calls`"
        )
    calls = calls or []
    if content is not None and not isinstance(content, str):
        raise WrongAnswer(f"execute() returned a response whose content is {type(content).__name__}, not a text")
    if not isinstance(calls, (list, tuple)):
        raise WrongAnswer(f"execute() returned a response whose tool_calls are {type(calls).__name__}, not a list")
    merged = [plain(call) for call in calls]
    for call in map(plain, traced):
        known = any((call["id"] and call["id"] == _read(it, "id")) or _same(call, it) for it in merged)
        if not known:
            merged.append(call)
    return {"content": plain(content or ""), "tool_calls": merged}


def _read(thing: Any, key: str) -> Any:
    return thing.get(key) if isinstance(thing, dict) else getattr(thing, key, None)


def _same(one: Any, other: Any) -> bool:
    return bool(
        _read(one, "name") == _read(other, "name") and _read(one, "arguments") == (_read(other, "arguments") or {})
    )


def metric_result(result: Any, name: str, method: str, numeric: bool) -> dict[str, Any]:
    """What a metric returned, ready to be sent.

    Raises:
        WrongAnswer: it is no result.
    """
    wanted = "QuantResult" if numeric else "QualResult"
    value, reason, metadata = (_read(result, key) for key in ("value", "reason", "metadata"))
    if value is None:
        raise WrongAnswer(f"{method}() returned {type(result).__name__}; it must return a {wanted}")
    try:
        value = float(value) if numeric else value
    except (TypeError, ValueError):
        raise WrongAnswer(f"{method}() returned the value {plain(repr(value))[:100]}, which is no number") from None
    if not numeric and not isinstance(value, str):
        raise WrongAnswer(f"{method}() returned a label of type {type(value).__name__}; it must be a text")
    return {
        "name": name,
        "value": plain(value),
        "reason": None if reason is None else plain(str(reason)),
        "metadata": plain(metadata) if isinstance(metadata, dict) else None,
    }
