"""The sample agent over HTTP: every planted fault is found, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from arksim_ci.llm.offline import OfflineLLM
from arksim_ci.schema.scenario import Scenario, Scenarios
from arksim_ci.schema.simulation import Message
from tests.integration.examples.conversing import converse

FOLDER = Path(__file__).parents[3] / "examples" / "support-agent"
SCENARIOS = {
    scenario.scenario_id: scenario
    for scenario in Scenarios.model_validate_json((FOLDER / "scenarios.json").read_text(encoding="utf-8")).scenarios
}
PLANTED = {
    "refund_time": {"false information"},
    "jacket_care": {"repetition"},
    "speak_to_human": {"disobey user request"},
    "boot_warranty": {"lack of specific information"},
    "order_status": {"failure to ask for clarification"},
}


def _serve(*options: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, str(FOLDER / "agent.py"), "--port", "0", *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    yield line.split()[-1].removesuffix("/v1/chat/completions")
    process.terminate()
    process.wait(10)
    process.stdout.close()


@pytest.fixture(scope="module")
def faulty() -> Iterator[str]:
    yield from _serve()


@pytest.fixture(scope="module")
def fixed() -> Iterator[str]:
    yield from _serve("--fixed")


async def _post(url: str, body: bytes) -> tuple[int, dict[str, object]]:
    async with aiohttp.ClientSession() as session, session.post(url, data=body) as response:
        return response.status, await response.json()


async def _over_http(url: str, history: list[Message]) -> str:
    messages = [
        {"role": "user" if message.role == "simulated_user" else "assistant", "content": message.content}
        for message in history
    ]
    status, answer = await _post(f"{url}/v1/chat/completions", json.dumps({"messages": messages}).encode())
    assert status == 200, answer
    return str(answer["choices"][0]["message"]["content"])  # type: ignore[index]


@pytest.mark.parametrize("repetition", [0, 1, 2])
@pytest.mark.parametrize("scenario_id", SCENARIOS)
async def test_each_planted_fault_is_found_and_clean_scenarios_are_clean(
    faulty: str, scenario_id: str, repetition: int
) -> None:
    held = await converse(
        OfflineLLM(), SCENARIOS[scenario_id], lambda _, history: _over_http(faulty, history), repetition
    )
    assert held.failures == PLANTED.get(scenario_id, set()), str(held)
    if scenario_id not in PLANTED:
        assert held.goal == 1, str(held)
    elif scenario_id != "boot_warranty":
        assert held.goal < 0.8, str(held)


@pytest.mark.parametrize("repetition", [0, 1, 2])
@pytest.mark.parametrize("scenario_id", SCENARIOS)
async def test_the_repaired_agent_is_clean(fixed: str, scenario_id: str, repetition: int) -> None:
    held = await converse(
        OfflineLLM(), SCENARIOS[scenario_id], lambda _, history: _over_http(fixed, history), repetition
    )
    assert held.failures == set(), str(held)
    assert held.goal == 1, str(held)
    for judgement in held.judgements:
        assert min(score.value for score in judgement.scores.values()) >= 4


def test_there_are_clean_and_faulty_scenarios() -> None:
    assert PLANTED.keys() < SCENARIOS.keys()
    assert len(SCENARIOS) - len(PLANTED) >= 4
    assert all(isinstance(scenario, Scenario) and len(scenario.knowledge) >= 2 for scenario in SCENARIOS.values())


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"messages": []}', b'{"messages": ["hi"]}', b'{"messages": [{"role": "user", "content": 1}]}', b"\xff\xfe", b'{"messages": [{"content": "hi"}]}'],
)  # fmt: skip
async def test_a_bad_request_is_refused_and_the_agent_lives_on(faulty: str, body: bytes) -> None:
    status, answer = await _post(f"{faulty}/v1/chat/completions", body)
    assert status == 400
    assert "message" in answer["error"]  # type: ignore[operator]
    async with aiohttp.ClientSession() as session, session.get(f"{faulty}/health") as response:
        assert (response.status, (await response.json())["status"]) == (200, "ok")


async def test_parts_and_null_are_content_and_a_wrong_path_is_404(faulty: str) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "How long is a gift card valid?"}]}
    body = json.dumps({"messages": [{"role": "assistant", "content": None}, message]}).encode()
    status, answer = await _post(f"{faulty}/v1/chat/completions", body)
    assert status == 200
    assert "3 years" in json.dumps(answer)
    assert (await _post(f"{faulty}/elsewhere", body))[0] == 404
