"""The LLM as the user's Python sees it: every question goes to the host, which asks within the run's limits.

Runs in the worker process: standard library only.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypedDict

AskHost = Callable[[list[dict[str, Any]], "dict[str, Any] | None"], "Future[Any]"]


class LLMMessage(TypedDict):
    """One message of a prompt."""

    role: str
    content: str


class LLMCallFailed(RuntimeError):
    """The LLM gave no usable answer, or a limit of the run forbids the question."""


class _Host:
    """Where questions go. The worker fills this in before it loads the user's files."""

    ask: AskHost | None = None
    model: str = ""
    provider: str = ""
    told: set[str] = set()  # noqa: RUF012 - one worker, one host


def connect(ask: AskHost, model: str, provider: str) -> None:
    """Tell the classes here how the host is asked, and what model and provider the run has."""
    _Host.ask, _Host.model, _Host.provider = ask, model, provider


class BaseLLM:
    """An LLM that can be called; the run's model answers, whatever model it was made for."""

    def __init__(self, model: str = "", provider: str | None = None, **settings: Any) -> None:
        self.model = model or _Host.model
        self.provider = provider or _Host.provider
        if _Host.model and self.model != _Host.model:
            _say_once(f"LLM(model={self.model!r}): the run's model {_Host.model!r} answers instead")
        _mention_ignored("LLM", settings)

    def call(self, messages: str | Sequence[Any], schema: Any = None, **settings: Any) -> Any:
        """Ask and wait.

        Args:
            messages: a text, or messages with `role` and `content`.
            schema: a pydantic model, or a JSON Schema; None for plain text.
            settings: accepted as ArkSim does; the run's own settings count.

        Returns:
            An instance of the model, the parsed JSON, or the text.

        Raises:
            LLMCallFailed: no usable answer; the text says why.
        """
        _mention_ignored("llm.call", settings)
        return _read(self._ask(messages, schema).result(), schema)

    async def call_async(self, messages: str | Sequence[Any], schema: Any = None, **settings: Any) -> Any:
        """Ask without blocking the event loop; as `call` in all else."""
        _mention_ignored("llm.call_async", settings)
        return _read(await asyncio.wrap_future(self._ask(messages, schema)), schema)

    def _ask(self, messages: str | Sequence[Any], schema: Any) -> Future[Any]:
        if _Host.ask is None:
            raise LLMCallFailed("there is no run that could ask the LLM")
        return _Host.ask(_plain_messages(messages), _json_schema(schema))


class LLM(BaseLLM):
    """As `arksim.llms.chat.LLM`."""


def _plain_messages(messages: str | Sequence[Any]) -> list[dict[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    plain = []
    for message in messages:
        read = message.get if isinstance(message, dict) else lambda key, it=message: getattr(it, key, None)
        role, content = read("role"), read("content")
        if role not in ("system", "user", "assistant") or not isinstance(content, str):
            raise TypeError("a message needs a role (system, user or assistant) and a text as content")
        plain.append({"role": role, "content": content})
    if not plain:
        raise TypeError("there are no messages")
    return plain


def _json_schema(schema: Any) -> dict[str, Any] | None:
    if schema is None or isinstance(schema, dict):
        return schema
    for method in ("model_json_schema", "schema"):  # pydantic 2, pydantic 1
        if hasattr(schema, method):
            made: dict[str, Any] = getattr(schema, method)()
            return made
    raise TypeError("schema must be a pydantic model or a JSON Schema as a dictionary")


def _read(answer: Any, schema: Any) -> Any:
    if schema is None or isinstance(schema, dict):
        return answer
    data = json.loads(answer) if isinstance(answer, str) else answer
    return schema.model_validate(data) if hasattr(schema, "model_validate") else schema.parse_obj(data)


def _mention_ignored(where: str, settings: dict[str, Any]) -> None:
    if settings:
        _say_once(f"{where}: {', '.join(sorted(settings))} not used; the run's settings count")


def _say_once(text: str) -> None:
    if text not in _Host.told:
        _Host.told.add(text)
        sys.stderr.write(text + "\n")
