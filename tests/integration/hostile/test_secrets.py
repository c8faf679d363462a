"""Secrets of every kind, repeated by everybody who was told them: none is in any file, line, comment or prompt, however it is spelled."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.support.action_step import TOKEN, Step
from tests.support.fake_github import FakeGitHub
from tests.support.fault_server import answer_well
from tests.support.faults import Role, role_of
from tests.support.project import Project, judgement
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion

JUDGE, SHOP, LITERAL, COOKIE = (
    "judge/ke\"y+1%&=<é>'x\\z",
    "shop-key/+\"2&=<%>'\\s",
    "literal\"3/+&'=<k>",
    "cookie-value/4+%22",
)
QUERY, SIGNATURE, BASE = "query-token-5-abcdef", "signature-6-abcdef/+=", "base-key-7-abcdefgh"
OTHER_PROVIDER = "sk-another-providers-key-8"
HARMLESS = ("application/json", "shop-1", "version-2026")
ALL = {
    "the judge's key": JUDGE.replace("é", "e"),
    "a header's variable": SHOP,
    "a header's literal value": LITERAL,
    "a cookie": COOKIE,
    "the endpoint's query": QUERY,
    "the endpoint's signature": SIGNATURE,
    "base_url's query": BASE,
    "another provider's key": OTHER_PROVIDER,
    "GitHub's token": TOKEN,
}
LLM_KEY = ALL["the judge's key"]
ENVIRONMENT = {
    "JUDGE_KEY": LLM_KEY,
    "SHOP_KEY": f"{SHOP}\n",
    "URL_TOKEN": QUERY,
    "OPENAI_API_KEY": OTHER_PROVIDER,
}
METRIC = '''
import os, sys
from arksim.evaluator import QuantitativeMetric, QuantResult

class Leaky(QuantitativeMetric):
    def __init__(self): super().__init__(name="leaky", score_range=(0, 5))
    def score(self, score_input):
        everything = " ".join(f"{name}={value}" for name, value in os.environ.items())
        print(everything)
        print(everything, file=sys.stderr)
        return QuantResult(name="leaky", value=5, reason=everything)
'''  # fmt: skip


def spellings(secret: str) -> Iterator[str]:
    """Every way in which a secret could be written down."""
    yield secret
    yield json.dumps(secret)[1:-1]
    for encode in (quote, quote_plus):
        yield encode(secret)
    yield quote(secret, safe="")
    for offset in range(3):
        encoded = base64.b64encode(b"x" * offset + secret.encode()).decode().rstrip("=")
        yield encoded[-(-offset * 8 // 6) : (offset + len(secret.encode())) * 8 // 6]


def aloud() -> str:
    """All secrets in all spellings, as somebody would say them who wants them to get out."""
    return " | ".join(spelling for secret in ALL.values() for spelling in spellings(secret))


def leaks(text: str, secrets: Mapping[str, str] = ALL) -> list[str]:
    """What the text betrays: whole secrets, and their beginnings, as a text that is cut could end with."""
    found = [(name, spelling[:12]) for name, secret in secrets.items() for spelling in spellings(secret)]
    return [f"{name}: {beginning}" for name, beginning in found if beginning in text]


def configure(project: Project, server: ScriptedServer) -> None:
    project.config |= {
        "num_conversations_per_scenario": 1,
        "api_key_env": "JUDGE_KEY",
        "base_url": f"{server.base_url}?api_key={BASE}",
        "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
        "agent_timeout_seconds": 5,
        "max_no_response_retries": 0,
    }
    project.config["agent_config"]["api_config"] |= {
        "endpoint": f"{server.agent_url}?token=${{URL_TOKEN}}&sig={quote(SIGNATURE, safe='')}&version=version-2026",
        "headers": {
            "Authorization": "Bearer ${SHOP_KEY}",
            "X-Api-Key": LITERAL,
            "Cookie": f"session={COOKIE}",
            "Accept": "application/json",
        },
    }


def talks(request: Request) -> Reply:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "tell", "arguments": json.dumps({aloud(): aloud()})}}
    ]
    return Reply(body=completion(f"application/json shop-1 version-2026 {aloud()}", tool_calls=calls))


def echoes(request: Request) -> Reply:
    said = {"headers": request.headers, "query": request.query, "text": aloud(), "base64": _tokens(request)}
    return Reply(status=500, body={"error": {"message": json.dumps(said)}})


def _tokens(request: Request) -> str:
    return base64.b64encode(request.headers.get("Authorization", "").encode()).decode()


def not_json(request: Request) -> Reply:
    return Reply(body=f"<pre>{request.headers} {request.query} {aloud()}</pre>".encode())


def refuses(request: Request) -> Reply:
    return Reply(status=400, body={"error": {"message": f"{request.headers} may not {aloud()}"}})


def judges_aloud(request: Request) -> Reply:
    match role_of(request.path, request.body):
        case Role.JUDGE:
            given = judgement(request, agent_behavior_failure="false information", goal_completion=0)
            return Reply(content=json.dumps(_with_reasons(given)))
        case Role.CLUSTERING:
            return Reply(content=json.dumps({"groups": [{"description": aloud(), "members": ["F1"]}]}))
        case Role.RECOMMENDATIONS:
            advice = {"module_fixes": [{"module": "Memory", "fix": aloud()}], "reasoning": aloud(), "best": 0}
            return Reply(content=json.dumps(advice))
    said = sum(message["role"] == "assistant" for message in request.body["messages"])
    return Reply(body=completion(f"Question {said}: {aloud()}", model=f"scripted {LLM_KEY}"))


def _with_reasons(given: dict[str, Any]) -> dict[str, Any]:
    if "reason" in given:
        return {**given, "reason": aloud()}
    return {metric: {**value, "reason": aloud()} for metric, value in given.items()}


SITUATIONS = {
    "everybody says them": (judges_aloud, talks, {1}),
    "the agent says them": (answer_well, talks, {0}),
    "the agent's errors echo them": (answer_well, echoes, {1}),
    "the agent's page echoes them": (answer_well, not_json, {1}),
    "the judge's refusals echo them": (refuses, talks, {3}),
    "the judge's page echoes them": (not_json, talks, {3}),
}


@dataclass(frozen=True)
class Seen:
    """What anybody could read afterwards."""

    code: int
    text: str


def everything_under(folder: Path, *besides: str) -> str:
    """All files that are not given, whatever their names."""
    given = {"config.yaml", "metric.py", "event.json"}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in given]
    return "\n".join([*besides, *map(str, files), *(path.read_text(encoding="utf-8") for path in files)])


@pytest.mark.parametrize("name", SITUATIONS)
def test_in_a_terminal(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ALL, "GitHub's token")  # nobody knows it there
    llm, agent, codes = SITUATIONS[name]
    with ScriptedServer(llm, agent) as server:
        project = Project(tmp_path, server)
        configure(project, server)
        finished = project.run("simulate-evaluate", "--verbose", "--run_timeout_seconds=9", environment=ENVIRONMENT)
        assert finished.code in codes, finished.err[-2000:]
        seen = everything_under(tmp_path, finished.out, finished.err)
        held_back(seen, server)
        assert agent is not talks or llm is not answer_well or all(word in seen for word in HARMLESS)


@pytest.mark.parametrize("name", SITUATIONS)
async def test_in_a_job(name: str, tmp_path: Path) -> None:
    llm, agent, codes = SITUATIONS[name]
    with ScriptedServer(llm, agent) as server, FakeGitHub() as github:
        step = Step(tmp_path, server, github)
        configure(step.project, server)
        step.project.config["run_timeout_seconds"] = 600  # of the step's own clock
        step.environment = dict(ENVIRONMENT)
        ended = await step.run()
        assert ended.code in codes, ended.log[-2000:]
        masked = "\n".join(line for line in ended.log.splitlines() if not line.startswith("::add-mask::"))
        held_back(everything_under(tmp_path, masked, ended.summary, *github.bodies()), server)
        assert [body for body in github.bodies() if "arksim" in body]


def held_back(seen: str, server: ScriptedServer) -> None:
    assert leaks(seen) == []
    if server.llm is answer_well:  # what the agent says of its keys is no business of the judge's
        assert leaks("\n".join(json.dumps(request.body) for request in server.requests["llm"])) == []
    assert {request.headers.get("Authorization") for request in server.requests["agent"]} <= {f"Bearer {SHOP}"}
    assert {request.query.get("sig") for request in server.requests["agent"]} <= {SIGNATURE}


def test_what_the_users_python_prints_and_returns(tmp_path: Path) -> None:
    with ScriptedServer(answer_well, lambda request: Reply(content="30 days.")) as server:
        project = Project(tmp_path, server)
        configure(project, server)
        (tmp_path / "metric.py").write_text(METRIC, encoding="utf-8")
        project.config["custom_metrics_file_paths"] = ["metric.py"]
        finished = project.run(environment=ENVIRONMENT)
        assert finished.code == 0, finished.err
        assert "URL_TOKEN=***" in finished.err
        assert leaks(everything_under(tmp_path, finished.out, finished.err)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"headers": {"Authorization": ["Bearer", LITERAL]}},
        {"headers": {"Authorization": f"Bearer ${{UNSET}} {LITERAL}"}},
        {"headers": {"X-Api-Key": {LITERAL: LITERAL}}},
        {"endpoint": f"http://user:{LITERAL}@127.0.0.1:1:1/x?api_key={QUERY}&token=${{UNSET}}"},
        {"endpoint": f"ftp://x/y?token={QUERY}"},
        {"header": {"Authorization": f"Bearer {LITERAL}"}},
        {"body": f"api_key: {LITERAL}"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_in_a_complaint_about_the_configuration(change: dict[str, Any], tmp_path: Path) -> None:
    with ScriptedServer(answer_well) as server:
        project = Project(tmp_path, server)
        configure(project, server)
        api = project.config["agent_config"]["api_config"]
        api |= change
        finished = project.run("validate", environment=ENVIRONMENT)
        assert finished.code == 2, finished.out
        if "body" not in change:
            assert leaks(finished.out + finished.err) == []
