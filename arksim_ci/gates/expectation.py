"""What a simulation leaves to be measured: the half of the expectation that the gates can tell by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from arksim_ci.schema.expectation import ExpectedConversation, ExpectedTurn
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Conversation, Simulation


def expected_conversations(simulation: Simulation, scenarios: Iterable[Scenario]) -> tuple[ExpectedConversation, ...]:
    """The test cases of a simulation, each with its answered turns and the assertions of its scenario.

    Args:
        simulation: every test case of the run, those that broke off or never began included.
        scenarios: where the assertions stand; a conversation of another scenario has none.
    """
    assertions = {scenario.scenario_id: scenario.assertions for scenario in scenarios}
    return tuple(
        ExpectedConversation(
            conversation_id=conversation.conversation_id,
            scenario_id=conversation.scenario_id,
            turns=_turns(conversation),
            silence=conversation.silence(),
            not_finished=conversation.not_finished,
            assertions=assertions.get(conversation.scenario_id, ()),
        )
        for conversation in simulation.conversations
    )


def _turns(conversation: Conversation) -> tuple[ExpectedTurn, ...]:
    return tuple(
        ExpectedTurn(turn_id=turn.turn_id, tool_calls=tuple(turn.agent.tool_calls or ()))
        for turn in conversation.turns()
    )
