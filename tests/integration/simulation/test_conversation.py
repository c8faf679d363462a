"""A whole conversation with an agent over real HTTP, and the file that it makes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

from arksim_ci.agents.chat_completions import ChatCompletionsConnection
from arksim_ci.agents.transport import AgentHttp
from arksim_ci.schema.simulation import Conversation, Simulation
from arksim_ci.simulation.prompts import scenario_prompts
from arksim_ci.simulation.simulator import SimulationSettings, TestCase, hold_conversation
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion
from tests.unit.simulation.fakes import SCENARIO, ScriptedUser, lines

CALL = {"id": "c", "type": "function", "function": {"name": "find_order", "arguments": '{"order": 4711}'}}


async def _no_pause(seconds: float) -> None:
    return None


async def _talk(agent: Callable[[Request], Reply], *proposals: str) -> Conversation:
    with ScriptedServer(llm=lambda request: Reply(content="unused"), agent=agent) as server:
        connection = ChatCompletionsConnection(
            AgentHttp(server.agent_url, {}, 5, sleep=_no_pause), {"model": "m", "enable_metadata": True}
        )
        conversation = await hold_conversation(
            TestCase(SCENARIO, 0, "c1"),
            SimulationSettings(5, 1, 0.0, scenario_prompts(None, [SCENARIO])),
            ScriptedUser(*proposals),
            connection,
            lambda case, history: None,
            sleep=_no_pause,
            new_id=lambda: str(uuid.uuid4()),
        )
        await connection.close()
        return conversation


async def test_turns_are_shared_and_the_file_reads_back() -> None:
    def agent(request: Request) -> Reply:
        if request.number == 1:
            return Reply(body=completion(None, tool_calls=[CALL]))
        return Reply(content=f"answer {request.number}")

    conversation = await _talk(agent, "I return shoes", "It is 4711", "And now?", "###STOP###")
    assert lines(conversation) == [
        "0 user: I return shoes",
        "0 agent: answer 0",
        "1 user: It is 4711",
        "1 agent: ",
        "2 user: And now?",
        "2 agent: answer 2",
    ]
    file = Simulation(
        schema_version="v1.1", simulator_version="1", simulation_id="s", generated_at="2026-01-01T00:00:00Z", conversations=[conversation]
    )  # fmt: skip
    text = file.model_dump_json()
    assert Simulation.model_validate_json(text) == file
    call = json.loads(text)["conversations"][0]["conversation_history"][3]["tool_calls"][0]
    assert call == {
        "id": "c",
        "name": "find_order",
        "arguments": {"order": 4711},
        "result": None,
        "error": None,
        "source": None,
    }


async def test_a_new_attempt_is_a_new_conversation_to_the_agent() -> None:
    chats: list[str] = []

    def agent(request: Request) -> Reply:
        chats.append(request.body["metadata"]["chat_id"])
        return Reply(content="") if request.number == 0 else Reply(content="Done.")

    conversation = await _talk(agent, "I return shoes", "###STOP###")
    assert conversation.attempts == 2
    assert chats[0] == "c1"
    assert len(set(chats)) == 2


async def test_22_an_agent_that_errs_on_the_second_turn_stopped_answering() -> None:
    def agent(request: Request) -> Reply:
        return Reply(content="Which?") if request.number == 0 else Reply(status=500, body={"detail": "boom"})

    conversation = await _talk(agent, "I return shoes", "It is 4711")
    assert conversation.agent_silence is not None
    assert conversation.agent_silence.kind == "stopped_answering"
    assert '{"detail": "boom"}' in conversation.agent_silence.cause
    assert lines(conversation)[-1] == "1 user: It is 4711"
