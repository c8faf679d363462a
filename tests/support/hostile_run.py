"""A run in which everybody says hostile things: the agent, the simulated user, the judge, whoever groups and advises, and the files."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, TURN_METRICS
from tests.support.faults import Role, role_of
from tests.support.hostile import HOSTILE, UNENCODABLE
from tests.support.project import scenario
from tests.support.scripted_server import Reply, Request

LONGEST = 3_000
TEXTS: tuple[str, ...] = tuple(text for text in HOSTILE if len(text) <= LONGEST)
ANSWERS: tuple[str, ...] = (*(text for text in HOSTILE if text.strip()), *UNENCODABLE)
"""What the agent says; the longest texts and those that no file can hold included."""
AGENT_NAME = "</script><img src=x onerror=alert(1)> @octocat #1 | `x` ::error::x \u202e =1+1"
FAKE_LABEL = "false information"


def scenarios() -> list[dict[str, Any]]:
    """One scenario for each text, which is its id (without what no id may hold), goal, profile, context and knowledge."""
    return [
        scenario(
            f"{number} {_one_line(text)}",
            goal=f"case {number}. {text}",
            user_profile=f"{text} ",
            agent_context=f"{text} ",
            knowledge=[{"content": f"{text} "}],
        )
        for number, text in enumerate(ANSWERS)
        for text in [text[:LONGEST].encode("utf-8", "replace").decode()]
    ]


def llm(request: Request) -> Reply:
    """Simulated user, judge, clustering and recommendations."""
    text = _text_of(request)
    match role_of(request.path, request.body):
        case Role.JUDGE if "You judge one whole" in request.text[:200]:
            return _json({"reason": text.strip() or "-", "score": 0})
        case Role.JUDGE:
            text = text.strip() or "-"  # without a reason nothing is measured
            label = {"reason": text, "label": FAKE_LABEL}
            scores = {metric: {"reason": text, "score": 1} for metric in TURN_METRICS}
            return _json({**scores, AGENT_BEHAVIOR_FAILURE: label})
        case Role.CLUSTERING:
            members = re.findall(r'^\{"ref": "([FG]\d+)"', request.text, re.MULTILINE)
            groups = [{"description": each, "members": [ref]} for each, ref in zip(_cycle(), members, strict=False)]
            return _json({"groups": groups})
        case Role.RECOMMENDATIONS:
            fix = {"module": "Memory", "fix": text}
            return _json({"module_fixes": [fix], "reasoning": text, "best": 0})
    turn = sum(message["role"] == "assistant" for message in request.body["messages"])
    number = re.search(r"case (\d+)\.", request.text)
    return Reply(content=f"case {number[1] if number else 0}. Turn {turn}. {text}")


def agent(request: Request) -> Reply:
    """Answers with the text of its case, and in the second turn with the next one."""
    messages = request.body["messages"]
    number = re.search(r"case (\d+)\.", messages[-1]["content"])
    turn = sum(message["role"] == "assistant" for message in messages)
    text = ANSWERS[((int(number[1]) if number else 0) + turn) % len(ANSWERS)]
    message = {"role": "assistant", "content": text}
    return Reply(body={"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})


def _text_of(request: Request) -> str:
    number = re.search(r"case (\d+)\.", request.text)
    return TEXTS[(int(number[1]) if number else 0) % len(TEXTS)]


def _cycle() -> list[str]:
    return [*TEXTS, *TEXTS]


def _one_line(text: str) -> str:
    return "".join(each for each in text if unicodedata.category(each) not in ("Cc", "Cs", "Zl", "Zp"))[:200].strip()


def _json(value: object) -> Reply:
    return Reply(content=json.dumps(value))
