from __future__ import annotations

from arksim_ci.gates.expectation import expected_conversations
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Simulation
from tests.unit.gates.builders import asserts

SCENARIO = Scenario(
    scenario_id="s", user_id="u", goal="g", agent_context="a", user_profile="p", assertions=(asserts(),)
)


def simulation(*conversations: dict[str, object]) -> Simulation:
    prompt = {"simulated_user_prompt_template": "", "variables": {}}
    return Simulation.model_validate(
        {
            "schema_version": "v1",
            "simulator_version": "0",
            "simulation_id": "i",
            "generated_at": "",
            "conversations": [{"simulated_user_prompt": prompt, "scenario_id": "s", **item} for item in conversations],
        }
    )


def message(turn_id: int, role: str, **more: object) -> dict[str, object]:
    return {"turn_id": turn_id, "message_id": f"{turn_id}{role}", "role": role, "content": "Hi", **more}


def test_answered_turns_are_expected_with_their_tool_calls() -> None:
    history = [
        message(0, "simulated_user"),
        message(0, "assistant", tool_calls=[{"name": "lookup", "arguments": {"id": 1}}]),
        message(1, "simulated_user"),
        message(1, "assistant"),
    ]
    (found,) = expected_conversations(simulation({"conversation_id": "c", "conversation_history": history}), [SCENARIO])
    assert [(turn.turn_id, [call.name for call in turn.tool_calls]) for turn in found.turns] == [
        (0, ["lookup"]),
        (1, []),
    ]
    assert (found.silence, found.not_finished) == (None, None)
    assert found.assertions == SCENARIO.assertions


def test_a_history_that_ends_unanswered_is_silence() -> None:
    history = [message(0, "simulated_user"), message(0, "assistant"), message(1, "simulated_user")]
    (found,) = expected_conversations(
        simulation({"conversation_id": "c", "conversation_history": history, "scenario_id": "other"}), [SCENARIO]
    )
    assert found.silence is not None
    assert found.silence.kind == "stopped_answering"
    assert [turn.turn_id for turn in found.turns] == [0]
    assert found.assertions == ()


def test_what_never_began_is_expected_all_the_same() -> None:
    (found,) = expected_conversations(
        simulation({"conversation_id": "c", "conversation_history": [], "not_finished": "deadline"}), [SCENARIO]
    )
    assert (found.turns, found.not_finished) == ((), "deadline")
