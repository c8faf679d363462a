"""The lines of a journal: a header, then one for each finished conversation and each judgement, and a last one.

Each line is a JSON object with one key that tells its kind. A line that can't be read is no line: what it held is done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arksim_ci.schema.judgement import Judgement
from arksim_ci.schema.simulation import Conversation

FORMAT: Final = 1
"""Rises when a journal of an older version of ours could be misread."""

_FROZEN = ConfigDict(frozen=True)

T = TypeVar("T")


class Header(BaseModel):
    """The first line: which run this is."""

    model_config = _FROZEN

    format: int = FORMAT
    inputs: dict[str, str]
    simulation_id: str
    evaluation_id: str
    started_at: str


class FinishedConversation(BaseModel):
    """A conversation that came to its end. `number` is its test case's, from 0, in the order of scenario, then repetition."""

    model_config = _FROZEN

    number: int = Field(ge=0)
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a journal holds. `damaged` counts lines, besides a torn last one, that can't be read."""

    header: Header
    conversations: Mapping[int, Conversation] = field(default_factory=dict)
    judgements: tuple[Judgement, ...] = ()
    complete: bool = False
    damaged: int = 0


def header_line(header: Header) -> dict[str, Any]:
    """The header, to be written."""
    return {"run": header.model_dump(mode="json")}


def conversation_line(number: int, conversation: Conversation) -> dict[str, Any]:
    """A finished conversation, to be written."""
    return {"conversation": {"number": number, "conversation": conversation.model_dump()}}


def judgement_line(judgement: Judgement) -> dict[str, Any]:
    """A judgement, to be written."""
    return {"judgement": judgement.model_dump()}


def completion_line() -> dict[str, Any]:
    """The last line of a run that needs no resuming."""
    return {"complete": True}


def encoded(line: Mapping[str, Any]) -> bytes:
    """A line as bytes. ASCII only, so that every text can be written.

    Raises:
        ValueError: it holds a number that is none.
    """
    return json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def read_lines(lines: Iterable[bytes]) -> Recorded | None:
    """Read a journal; None where its first line is no header of ours.

    A last line without a line break was torn when the process ended, and is left out. The first conversation of a test case
    counts.
    """
    rows = iter(lines)
    header = _read(next(rows, b""), "run", Header.model_validate)
    if header is None or header.format != FORMAT:
        return None
    conversations: dict[int, Conversation] = {}
    judgements: list[Judgement] = []
    complete, damaged = False, 0
    for row in rows:
        if finished := _read(row, "conversation", FinishedConversation.model_validate):
            conversations.setdefault(finished.number, finished.conversation)
        elif judgement := _read(row, "judgement", Judgement.model_validate):
            judgements.append(judgement)
        elif _read(row, "complete", bool):
            complete = True
        else:
            damaged += row.endswith(b"\n")
    return Recorded(header, conversations, tuple(judgements), complete, damaged)


def _read(row: bytes, kind: str, validate: Callable[[Any], T]) -> T | None:
    if not row.endswith(b"\n") or not row.startswith(b'{"' + kind.encode()):
        return None
    try:
        line = json.loads(row, parse_constant=_refuse)
        return validate(line[kind])
    except (ValueError, RecursionError, KeyError, TypeError, ValidationError):
        return None


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number")
