"""What the mock server says: a simulated user, an agent, a judge and an analyst, by fixed rules over the text that they get.

Each conversation is about a ticket number, and each answer of the agent names ticket and answer number. The judge finds the last
of them in its prompt and judges by a hash of it: so the same turns fail whichever tool asks, and however it words its prompt.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_TICKET = re.compile(r"ticket (\d+), question (\d+)", re.IGNORECASE)
_ANSWER = re.compile(r"ticket (\d+), answer (\d+)", re.IGNORECASE)
_CAUSE = re.compile(r"cause (\d)")
_PEER_ITEM = re.compile(r"^Item (\S+): .*?reason: ([a-z ]+): (.*)$", re.MULTILINE)

LABELS = (
    "false information",
    "disobey user request",
    "lack of specific information",
    "failure to ask for clarification",
    "repetition",
)
FAILING_PERCENT = 33
"""Of the turns with a low score, those whose label is a failure."""

_TOPICS = (
    "how long I may keep the shoes before I have to send them back to you",
    "who pays for the label and whether I can print it at the post office",
    "what happens when the box was opened and the tag is no longer there",
    "when the money will be on my card after the parcel has reached you",
    "whether a gift card that I used for half of it is paid back as well",
    "if I can have another size instead, and how I choose the right one",
    "what the warranty covers when a seam breaks after some months of use",
)
_SENTENCES = (
    "You can look this up at any time in your account, under orders and then returns, where each parcel has its own page.",
    "We start counting on the day on which the carrier hands over the parcel, not on the day on which you placed the order.",
    "If anything about it is unclear, our service team can check the order together with you and correct what went wrong.",
    "The confirmation that we sent by email holds the same information, together with the address and the reference number.",
    "Items that were on sale are treated in the same way as all others, unless the product page said something else then.",
)


@dataclass(frozen=True, slots=True)
class Request:
    """An LLM request, whichever of the two APIs it came by."""

    messages: tuple[tuple[str, str], ...]
    schema_name: str
    schema: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """Everything that a model reads and that is charged for: the schema, then the messages."""
        shown = json.dumps(self.schema) if self.schema else ""
        return shown + "\n".join(text for _, text in self.messages)

    @property
    def role(self) -> str:
        """In whose name is asked: judge, simulated_user or analysis."""
        if not self.schema_name or self.schema_name == "UserIntent":
            return "simulated_user"
        judges = self.schema_name in {"ScoreSchema", "QualSchema"} or self.schema_name.startswith("judge")
        return "judge" if judges else "analysis"


def read_chat(body: Mapping[str, Any]) -> Request:
    """Read a request to `/chat/completions`."""
    asked = (body.get("response_format") or {}).get("json_schema") or {}
    return Request(_messages(body.get("messages", [])), asked.get("name", ""), asked.get("schema") or {})


def read_responses(body: Mapping[str, Any]) -> Request:
    """Read a request to `/responses`."""
    asked = (body.get("text") or {}).get("format") or {}
    return Request(_messages(body.get("input", [])), asked.get("name", ""), asked.get("schema") or {})


def _messages(items: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple((item["role"], str(item.get("content") or "")) for item in items)


class Mock:
    """Answers requests. The only state is the number of the next conversation's ticket.

    `low_percent` is the share of turns with low scores: the peer asks for a failure label only there, we in the one call of
    each turn.
    """

    def __init__(self, low_percent: int) -> None:
        self._low_percent = low_percent
        self._next_ticket = 0

    def answer(self, request: Request) -> tuple[str, int | None]:
        """The answer's text, and the ticket of the conversation where the simulated user speaks."""
        if request.role == "simulated_user" and not request.schema_name:
            return self._user(request)
        if request.role == "judge":
            return json.dumps(_judgement(request, self._low_percent)), None
        return json.dumps(_analysis(request)), None

    def _user(self, request: Request) -> tuple[str, int]:
        said = [text for role, text in request.messages if role == "assistant"]
        found = _TICKET.search(said[0]) if said else None
        if found is None:
            ticket = self._next_ticket
            self._next_ticket += 1
        else:
            ticket = int(found[1])
        number = len(said)
        topic = _TOPICS[(ticket + number) % len(_TOPICS)]
        return f"It is about ticket {ticket}, question {number}: please tell me {topic}.", ticket


def agent_says(body: Mapping[str, Any]) -> tuple[str, int | None]:
    """The agent's answer to the last message, some 600 characters, and the ticket that it names."""
    found = _TICKET.search(str(body["messages"][-1].get("content")))
    if found is None:
        return "Please tell me your ticket number.", None
    ticket, number = int(found[1]), int(found[2])
    order = [_SENTENCES[(ticket + number + index) % len(_SENTENCES)] for index in range(len(_SENTENCES))]
    return f"Thank you. Ticket {ticket}, answer {number}: {' '.join(order)}", ticket


def _hash(*parts: object) -> int:
    return zlib.crc32(":".join(map(str, parts)).encode())


def _judgement(request: Request, low_percent: int) -> object:
    text = request.messages[-1][1]
    found = _ANSWER.findall(text)
    ticket, number = (int(part) for part in found[-1]) if found else (0, 0)
    low = _hash("turn", ticket, number) % 100 < low_percent
    failed = low and _hash("failed", ticket, number) % 100 < FAILING_PERCENT
    label = LABELS[_hash("label", ticket, number) % len(LABELS)] if failed else "no failure"
    reason = (
        f"In ticket {ticket}, answer {number}, "
        + (f'the agent shows "{label}", by cause {_hash("cause", ticket, number) % 3}: ' if failed else "all is well: ")
        + "it tells the user where to look and when counting starts, and the knowledge says the same in other words."
    )
    score = 2 if low else 4
    goal_reached = _hash("goal", ticket) % 4 > 0
    rubric = request.messages[0][1].lower()
    if request.schema_name == "ScoreSchema":  # the peer's: one metric a call; told apart by its own rubric
        if "verbos" in rubric:
            return {"score": 6 - score, "reason": reason}  # it asks for the opposite scale
        about_goal = "goal" in rubric and "helpful" not in rubric
        return {"score": int(goal_reached) if about_goal else score, "reason": reason}
    if request.schema_name == "QualSchema":
        return {"label": label, "reason": reason}
    if request.schema_name == "judge_goal":
        return {"reason": reason, "score": float(goal_reached)}
    answer = {}
    for metric, fields in request.schema["properties"].items():
        value = {"label": label} if "label" in fields["properties"] else {"score": score}
        answer[metric] = {"reason": reason, **value}
    return answer


def _analysis(request: Request) -> object:
    if request.schema_name == "UniqueErrorsSchema":
        return _peer_errors(request.prompt)
    if "groups" in request.schema.get("properties", {}):
        return _groups(request.messages[-1][1])
    return _fill(request.schema)


def _peer_errors(prompt: str) -> object:
    members = defaultdict(list)
    for occurrence, label, reason in _PEER_ITEM.findall(prompt):
        members[label, _cause(reason)].append(occurrence)
    return {
        "unique_errors": [
            {
                "agent_behavior_failure_category": label,
                "unique_error_description": f"The agent shows {label}, by cause {cause}.",
                "occurrences": found,
            }
            for (label, cause), found in members.items()
        ]
    }


def _groups(prompt: str) -> object:
    members = defaultdict(list)
    for line in prompt.splitlines():
        if line.startswith("{"):
            members[_cause(line)].append(json.loads(line)["ref"])
    return {
        "groups": [
            {"description": f"The agent errs by cause {cause}.", "members": found} for cause, found in members.items()
        ]
    }


def _cause(text: str) -> str:
    found = _CAUSE.search(text)
    return found[1] if found else "none"


def _fill(schema: Mapping[str, Any]) -> object:
    """A small answer that a JSON schema takes."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: _fill(inner) for name, inner in schema["properties"].items()}
    if schema["type"] == "array":
        return [_fill(schema["items"])]
    if schema["type"] == "integer":
        return 0
    return "Say in the prompt that the agent checks the knowledge before it answers, and quotes what it found there."
