"""What can go wrong with an answer, to whom, and how often: the rows of the fault matrix."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Role(Enum):
    """Who answers a request."""

    JUDGE = "judge"
    USER = "simulated user"
    AGENT = "agent"
    CLUSTERING = "clustering"
    RECOMMENDATIONS = "recommendations"
    GITHUB = "GitHub"


LLM_ROLES = (Role.JUDGE, Role.USER, Role.CLUSTERING, Role.RECOMMENDATIONS)
JSON_ROLES = (Role.JUDGE, Role.CLUSTERING, Role.RECOMMENDATIONS)
"""Roles that are asked for JSON."""


class Fault(Enum):
    """What happens instead of a good answer. The value names it in the documentation."""

    STATUS_302 = "HTTP 302"
    STATUS_400 = "HTTP 400"
    STATUS_401 = "HTTP 401"
    STATUS_403 = "HTTP 403"
    STATUS_404 = "HTTP 404"
    STATUS_408 = "HTTP 408"
    STATUS_422 = "HTTP 422"
    STATUS_429 = "HTTP 429"
    STATUS_429_AFTER = "HTTP 429 with Retry-After"
    STATUS_500 = "HTTP 500"
    STATUS_502 = "HTTP 502"
    STATUS_503 = "HTTP 503"
    STATUS_503_AFTER = "HTTP 503 with Retry-After"
    STATUS_529 = "HTTP 529"
    HANG = "hangs"
    DRIP = "drips a byte at a time"
    CUT = "cuts the connection in the middle"
    DROP = "cuts the connection before it answers"
    EMPTY_BODY = "empty body"
    HTML = "an HTML page"
    TRUNCATED_BODY = "half of the JSON"
    OTHER_JSON = "JSON of another shape"
    HUGE = "50 MB"
    FICKLE = "another fault with every retry"
    # in a chat completion that is well formed itself
    NO_CHOICES = "no choices"
    EMPTY = "empty answer"
    NULL = "null content"
    REFUSED = "refusal"
    FILTERED = "content filter"
    LENGTH = "cut off at the output limit"
    MALFORMED = "prose instead of JSON"
    TRUNCATED = "truncated JSON answer"
    WRONG_SHAPE = "JSON answer of a wrong shape"
    OUT_OF_RANGE = "values out of range"
    NOT_A_NUMBER = "NaN"
    NESTED = "nested 100,000 deep"
    FENCED = "fenced JSON"
    IN_PROSE = "JSON inside of prose"


HARMLESS = frozenset({Fault.FENCED, Fault.IN_PROSE})
"""The answer is whole, and is read."""
SLOW = frozenset({Fault.HANG, Fault.DRIP})
TRANSIENT = frozenset(
    {
        *(Fault[f"STATUS_{status}"] for status in (408, 429, 500, 502, 503, 529)),
        Fault.STATUS_429_AFTER,
        Fault.STATUS_503_AFTER,
        Fault.CUT,
        Fault.DROP,
        Fault.EMPTY_BODY,
        Fault.HTML,
        Fault.TRUNCATED_BODY,
        *SLOW,
    }
)
"""An LLM request that meets one is made again."""
_ANSWERS = tuple(Fault)[tuple(Fault).index(Fault.NO_CHOICES) :]
_ANY_TEXT = frozenset({Fault.NO_CHOICES, Fault.EMPTY, Fault.NULL})
_ANY_LLM = _ANY_TEXT | {Fault.REFUSED, Fault.FILTERED, Fault.LENGTH}


def applies(fault: Fault, role: Role) -> bool:
    """Whether a role can be struck by a fault: only who is asked for JSON can answer with broken JSON."""
    if fault not in _ANSWERS:
        return True
    if role in JSON_ROLES:
        return True
    return fault in {Role.USER: _ANY_LLM, Role.AGENT: _ANY_TEXT}.get(role, frozenset())


@dataclass(frozen=True)
class Struck:
    """One role is struck by one of `kinds` in a share of its requests.

    Args:
        role: who.
        kinds: what; one is drawn for each struck request.
        rate: the share, 0-1.
        same: whether a request that is made again meets the same as before; otherwise each is drawn anew.
        seed: another seed, other draws.
    """

    role: Role
    kinds: tuple[Fault, ...]
    rate: float
    same: bool = False
    seed: int = 1


@dataclass
class Faults:
    """Decides, reproducibly, what happens to each request: by what it asks, and how often that was asked before."""

    struck: tuple[Struck, ...] = ()
    counts: Counter[tuple[Role, Fault]] = field(default_factory=Counter)
    _seen: Counter[tuple[Role, bytes]] = field(default_factory=Counter)

    def draw(self, role: Role, content: bytes) -> Fault | None:
        """What happens to this request; None where it is answered well."""
        number = self._seen[role, content]
        self._seen[role, content] += 1
        for struck in self.struck:
            if struck.role is not role:
                continue
            fault = _drawn(struck, content, number)
            if fault:
                self.counts[role, fault] += 1
                return fault
        return None


def _drawn(struck: Struck, content: bytes, number: int) -> Fault | None:
    if _share(struck, content, 0 if struck.same else number, "rate") >= struck.rate:
        return None
    [fault, *others] = struck.kinds
    if others:
        fault = struck.kinds[int(_share(struck, content, number, "kind") * len(struck.kinds))]
    if fault is Fault.FICKLE:
        kinds = [kind for kind in Fault if kind is not Fault.FICKLE and kind not in SLOW and applies(kind, struck.role)]
        return kinds[int(_share(struck, content, number, "fickle") * len(kinds))]
    return fault


def _share(struck: Struck, content: bytes, number: int, use: str) -> float:
    """A number in [0, 1) that follows from its arguments."""
    named = f"{struck.seed} {struck.role.value} {number} {use} ".encode() + content
    return int.from_bytes(hashlib.sha256(named).digest()[:7]) / 2**56


def role_of(path: str, body: Mapping[str, Any]) -> Role | None:
    """Who is asked, told from the path and, for an LLM, from the prompt; None where that is nobody of the matrix."""
    if path == "/agent":
        return Role.AGENT
    if path.startswith("/api/"):
        return Role.GITHUB
    if not path.endswith("/chat/completions"):
        return None
    messages = body.get("messages") or [{}]
    first = str(messages[0].get("content"))
    for words, role in (
        ("You are the judge", Role.JUDGE),
        ("You analyse failures", Role.CLUSTERING),
        ("You advise the developers", Role.RECOMMENDATIONS),
        ("Say OK.", None),
    ):
        if first.startswith(words):
            return role
    return Role.USER


def spoiled(fault: Fault, completion: dict[str, Any]) -> dict[str, Any]:
    """A good chat completion, spoiled."""
    choice = completion["choices"][0]
    message = choice["message"]
    text = str(message["content"])
    match fault:
        case Fault.NO_CHOICES:
            return {**completion, "choices": []}
        case Fault.EMPTY:
            message["content"] = " \n"
        case Fault.NULL:
            message["content"] = None
        case Fault.REFUSED:
            message |= {"content": None, "refusal": "I'm sorry, I can't help with that."}
        case Fault.FILTERED:
            choice["finish_reason"], message["content"] = "content_filter", ""
        case Fault.LENGTH:
            choice["finish_reason"], message["content"] = "length", text[: len(text) // 2]
        case Fault.MALFORMED:
            message["content"] = "That is hard to say. Everything in all, I would give it a five."
        case Fault.TRUNCATED:
            message["content"] = text[: max(len(text) - 9, 1)]
        case Fault.WRONG_SHAPE:
            message["content"] = json.dumps([{"score": 5, "label": "no failure"}])
        case Fault.OUT_OF_RANGE:
            message["content"] = json.dumps(_out_of_range(json.loads(text)))
        case Fault.NOT_A_NUMBER:
            message["content"] = text.replace("{", '{"x": NaN, ', 1)
        case Fault.NESTED:
            message["content"] = "[" * 100_000 + "]" * 100_000
        case Fault.FENCED:
            message["content"] = f"```json\n{text}\n```"
        case Fault.IN_PROSE:
            message["content"] = f"Here is what you asked for:\n{text}\nI hope that helps."
    return completion


def _out_of_range(value: Any) -> Any:
    """Every number far off its scale, every label and reference unknown."""
    if isinstance(value, dict):
        return {key: each if key == "reason" else _out_of_range(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_out_of_range(each) for each in value]
    return 99 if isinstance(value, int | float) else "something else"
