"""How a JSON answer is asked for: four ways, from strictest to loosest, and the search for the first that a server honours.

A server may refuse a way, which is plain, or ignore it silently. Silence shows in answers that are not of the asked shape,
and a model can fail once on its own: so a way is given up after two such first answers in a row, or after five once it has
worked. While nothing is known, questions go one after the other, so that fifty at once do not all try what the server
refuses.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, Final

from arksim_ci.config.model import Provider

FAILURES_UNPROVEN: Final = 2
FAILURES_PROVEN: Final = 5
SCOUT_SECONDS: Final = 20.0
"""Longest wait for what another question finds out: a server that hangs on one question must not hold up all others."""


class Form(Enum):
    """A way to ask for JSON; the value names it in notes."""

    JSON_SCHEMA = "response_format json_schema"
    FORCED_TOOL = "a forced tool call"
    JSON_OBJECT_WITH_SCHEMA = "response_format json_object with a schema"
    JSON_OBJECT = "response_format json_object"
    TEXT = "JSON asked for in the prompt"


SHOWS_SCHEMA_IN_PROMPT: Final = frozenset({Form.JSON_OBJECT_WITH_SCHEMA, Form.JSON_OBJECT, Form.TEXT})
"""Ways in which the server may not show the schema to the model, so that the prompt must."""

_OPENAI = (Form.JSON_SCHEMA, Form.FORCED_TOOL, Form.JSON_OBJECT, Form.TEXT)
_ANY = (Form.JSON_SCHEMA, Form.FORCED_TOOL, Form.JSON_OBJECT_WITH_SCHEMA, Form.JSON_OBJECT, Form.TEXT)


def forms_of(provider: Provider) -> tuple[Form, ...]:
    """The ways to try at a provider, in order. Anthropic's compatible layer ignores `response_format`."""
    if provider == "anthropic":
        return (Form.FORCED_TOOL, Form.TEXT)
    return _OPENAI if provider in {"openai", "azure"} else _ANY


def wire_name(name: str) -> str:
    """A name as schemas and tools may have it: letters, digits, `_` and `-`, at most 64."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "answer"


def form_fields(form: Form, name: str, schema: Mapping[str, object]) -> dict[str, Any]:
    """The fields of a request that ask for JSON in this way."""
    name = wire_name(name)
    if form is Form.JSON_SCHEMA:
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": name, "schema": schema, "strict": _is_strict_text(schema_text(schema))},
            }
        }
    if form is Form.FORCED_TOOL:
        function = {"name": name, "description": "Gives the answer.", "parameters": schema}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": name}},
        }
    if form is Form.JSON_OBJECT_WITH_SCHEMA:
        return {"response_format": {"type": "json_object", "schema": schema}}
    if form is Form.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    return {}


def is_strict(schema: object) -> bool:
    """Whether OpenAI's strict mode takes a schema: each object closed, with every property required."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if schema.get("type") == "object" or properties is not None:
            required = schema.get("required")
            names = set(properties) if isinstance(properties, Mapping) else set()
            if schema.get("additionalProperties") is not False or set(_list(required)) != names:
                return False
        return all(is_strict(value) for value in schema.values())
    if isinstance(schema, list | tuple):
        return all(is_strict(value) for value in schema)
    return True


@functools.lru_cache(maxsize=64)
def _is_strict_text(schema: str) -> bool:
    """The same of a schema's text. A run sends a few schemas thousands of times."""
    return is_strict(json.loads(schema))


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def has_shape(value: object, schema: Mapping[str, object]) -> bool:
    """Whether a JSON value looks like an answer to this schema: an object with the required keys. Values are checked elsewhere."""
    if schema.get("type", "object") != "object":
        return True
    return isinstance(value, dict) and all(key in value for key in _list(schema.get("required")))


def schema_text(schema: Mapping[str, object]) -> str:
    """A schema for a prompt."""
    return json.dumps(schema, ensure_ascii=False)


class Forms:
    """Which way is in use, what is known of it, and who may find out more.

    Parameters:
        order: the ways to try, strictest first; the last one can't be refused.
    """

    def __init__(self, order: Sequence[Form]) -> None:
        self._order = tuple(order)
        self._index = 0
        self._proven = False
        self._failures = 0
        self._evidence = 0
        self._scouting = True
        self._scout = asyncio.Lock()
        self._given_up: list[str] = []

    @property
    def current(self) -> Form:
        """The way to ask now."""
        return self._order[self._index]

    def notes(self) -> list[str]:
        """What was given up, in sentences."""
        if not self._given_up:
            return []
        return [f"The server does not honour {', '.join(self._given_up)}; used instead: {self.current.value}."]

    @asynccontextmanager
    async def turn(self, *, wanted: bool) -> AsyncIterator[None]:
        """Wait while another question finds out what the server honours; or be that question.

        The search ends with the first answer of the asked shape, and with anything that tells nothing of it (an
        outage, a refusal by the model): then nobody waits any longer. Nobody waits for more than `SCOUT_SECONDS`, and a question
        for text (not `wanted`) never does.
        """
        if not (wanted and self._scouting and await self._scouts()):
            yield
            return
        before = self._evidence
        try:
            yield
        finally:
            if self._evidence == before:
                self._scouting = False
            self._scout.release()

    async def _scouts(self) -> bool:
        """Wait for one's turn to find out, and say whether there is still something to find out. Then the turn is held."""
        try:
            async with asyncio.timeout(SCOUT_SECONDS):
                await self._scout.acquire()
        except TimeoutError:
            self._scouting = False
            return False
        if not self._scouting:
            self._scout.release()
        return self._scouting

    def refused(self, form: Form) -> None:
        """The server refused this way. What was asked in an earlier way says nothing of the current one."""
        if form is self.current and self._index + 1 < len(self._order):
            self._given_up.append(form.value)
            self._index += 1
            self._proven = False
            self._failures = 0

    def answered(self, form: Form, *, in_shape: bool) -> None:
        """A first answer, whole and neither refused nor empty, came in this way: in the asked shape or not."""
        if form is not self.current:
            return
        if in_shape:
            self._proven = True
            self._failures = 0
            self._scouting = False
            return
        if self._index + 1 == len(self._order):
            self._scouting = False  # nothing is left to find
            return
        self._failures += 1
        self._evidence += 1
        if self._failures >= (FAILURES_PROVEN if self._proven else FAILURES_UNPROVEN):
            self.refused(form)
