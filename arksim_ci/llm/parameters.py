"""Request parameters that a server refuses: found in its error, then renamed or left out for the rest of the run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from arksim_ci.llm.server_error import ServerError

OUTPUT_LIMITS: Final = ("max_completion_tokens", "max_tokens")
"""Two names of one thing: servers know the one, the other, or both."""
_NEEDED: Final = frozenset({"model", "messages", "stream"})
_NOT_ABOUT_PARAMETERS: Final = frozenset({401, 402, 403, 429})
_ALIASES: Final = {
    "response_format": (
        "response_format",
        "json_schema",
        "json_object",
        "structured output",
        "json mode",
        "guided_json",
    ),
    "tools": ("tools", "tool use", "tool calling", "function calling", "function call", "functions"),
    "tool_choice": ("tool_choice", "tool choice"),
}
_UNKNOWN: Final = re.compile(r"(?i)unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not permitted|extra")
_TOO_LONG: Final = re.compile(r"(?i)maximum context length|context_length_exceeded|in the completion")


def refused_parameter(error: ServerError, sent: Collection[str]) -> str | None:
    """Which of the parameters that were sent an error is about, whatever its HTTP status; None if about none.

    `sent` are the names of the request's fields. Without a field named by the server its message decides; the parameter
    that it mentions first is meant.
    """
    if error.status is None or error.status in _NOT_ABOUT_PARAMETERS:
        return None
    candidates = [name for name in sent if name not in _NEEDED]
    output_limit = next((name for name in OUTPUT_LIMITS if name in candidates), None)
    if output_limit and (_TOO_LONG.search(error.message) or "context_length_exceeded" in error.code):
        return output_limit  # prompt and limit together are more than the model can hold
    if error.param:
        named = re.split(r"[.\[]", error.param, maxsplit=1)[0]
        return named if named in candidates else None
    found = [(place, name) for name in candidates if (place := _first_mention(name, error.message)) is not None]
    return min(found)[1] if found else None


def _first_mention(name: str, text: str) -> int | None:
    places = [
        match.start()
        for word in _ALIASES.get(name, (name,))
        if (match := re.search(rf"(?i)(?<![a-z0-9_]){re.escape(word)}(?:s|ing)?(?![a-z0-9_])", text))
    ]
    return min(places, default=None)


class Parameters:
    """What is known of a server's dislikes. Fields that ask for JSON are not here but in `structured`."""

    def __init__(self) -> None:
        self._renamed: dict[str, str] = {}
        self._dropped: set[str] = set()
        self._notes: list[str] = []

    def apply(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields as this server takes them."""
        named = {self._renamed.get(name, name): value for name, value in fields.items()}
        return {name: value for name, value in named.items() if name not in self._dropped}

    def refused(self, name: str, error: ServerError) -> None:
        """Remember that the server refused the parameter. Another question may have learned the same a moment before."""
        if name in self._dropped or name in self._renamed:
            return
        other = _other_name(name)
        if (
            other
            and other not in self._renamed
            and (_UNKNOWN.search(f"{error.message} {error.code}") or other in error.message)
        ):
            self._renamed[name] = other
            self._notes.append(f"The server refused the parameter {name}; it was sent as {other}.")
            return
        self._dropped.add(name)
        self._notes.append(f"The server refused the parameter {name}; it was left out.")

    def notes(self) -> list[str]:
        """What was changed, in sentences."""
        return list(self._notes)


def _other_name(name: str) -> str | None:
    return OUTPUT_LIMITS[1 - OUTPUT_LIMITS.index(name)] if name in OUTPUT_LIMITS else None
