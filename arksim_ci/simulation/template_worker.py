"""Renders a user's template in a process of its own, under limits of memory and time.

Run as a script, isolated from our package: a JSON request on standard input, a JSON answer on standard output. Jinja2's
sandbox keeps a template from our objects; the process keeps it from the run's memory and time (`{{ 'a' * 10**9 }}`,
nested loops, a macro that calls itself).
"""

from __future__ import annotations

import contextlib
import difflib
import json
import sys
from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import missing

_MEGABYTE = 1024 * 1024


class KnowledgeText(str):
    """An item of knowledge: text, which templates also read as `item.content`."""

    __slots__ = ()

    @property
    def content(self) -> str:
        """The item's text."""
        return str(self)


class KnowledgeList(list[KnowledgeText]):
    """All items; as text they stand one after another, an empty line between them."""

    def __str__(self) -> str:
        return "\n\n".join(self)


class ScenarioView(dict[str, Any]):
    """What a template sees as `scenario`."""


class TooLong(Exception):
    """The template renders to more than it may."""


class NamedUndefined(StrictUndefined):
    """Names the unknown variable as the template writes it, and the nearest one that there is."""

    @property
    def _undefined_message(self) -> str:
        name = str(self._undefined_name)
        if self._undefined_obj is missing:
            return _unknown(name, ["scenario"], "")
        if isinstance(self._undefined_obj, ScenarioView):
            return _unknown(name, list(self._undefined_obj), "scenario.")
        if isinstance(self._undefined_obj, KnowledgeText):
            return f"an item of scenario.knowledge has no {name}, only content"
        if isinstance(self._undefined_obj, KnowledgeList):
            return f"scenario.knowledge has no {name}; this scenario has {len(self._undefined_obj)} items, from 0"
        return str(super()._undefined_message)


def _unknown(name: str, known: list[str], prefix: str) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {prefix}{nearest[0]}?" if nearest else f"known: {', '.join(prefix + item for item in known)}"
    return f"the variable {prefix}{name} is unknown ({hint})"


def render_all(template: str, scenarios: list[dict[str, Any]], max_characters: int) -> dict[str, Any]:
    """Render the template once per scenario. Returns {"prompts": [...]} or {"error": ..., "line": ...}."""
    try:
        compiled = SandboxedEnvironment(undefined=NamedUndefined).from_string(template)
        return {"prompts": [_bounded(compiled.generate(scenario=_view(s)), max_characters) for s in scenarios]}
    except Exception as error:  # whatever an expression in the template raises is the template's fault
        return {"error": _sentence(error)[:500], "line": getattr(error, "lineno", None)}


def _sentence(error: Exception) -> str:
    match error:
        case UndefinedError() | TooLong():
            return str(error)
        case TemplateSyntaxError():
            return f"the syntax is wrong: {error.message}"
        case SecurityError():
            return f"the sandbox does not allow this: {error}"
        case RecursionError():
            return "it nests or calls itself too deeply"
        case MemoryError():
            return "it needs too much memory"
        case _:
            return f"{type(error).__name__}: {error}"


def _view(scenario: Mapping[str, Any]) -> ScenarioView:
    return ScenarioView(scenario, knowledge=KnowledgeList(KnowledgeText(text) for text in scenario["knowledge"]))


def _bounded(pieces: Any, max_characters: int) -> str:
    kept: list[str] = []
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > max_characters:
            raise TooLong(f"it renders to more than {max_characters} characters")
        kept.append(piece)
    return "".join(kept)


def _limit(megabytes: int, seconds: int) -> None:
    try:
        import resource  # noqa: PLC0415  (absent on Windows, where only the caller's time-out bounds us)
    except ImportError:
        return
    for kind, amount in ((resource.RLIMIT_AS, megabytes * _MEGABYTE), (resource.RLIMIT_CPU, seconds)):
        with contextlib.suppress(ValueError, OSError):  # a system that does not know this limit
            resource.setrlimit(kind, (amount, amount))


def _main() -> None:
    request = json.load(sys.stdin)
    _limit(request["max_megabytes"], request["max_seconds"])
    answer = render_all(request["template"], request["scenarios"], request["max_characters"])
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    _main()
