"""The simulated user's next message."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message


@dataclass(frozen=True, slots=True)
class SimulatedUserFacts:
    """Where the conversation stands.

    `system_prompt` is the rendered template of the simulated user; `history` is the conversation so far, ending with the
    agent's answer (empty at the start); `turn_id` counts from 0; `repetition` is the test case's number in its scenario.
    `complaint`, when set, says what was wrong with the message just proposed (empty, a repetition, playing the agent), and
    `rejected` is that message.
    """

    scenario: Scenario
    system_prompt: str
    history: tuple[Message, ...]
    turn_id: int
    max_turns: int
    repetition: int
    complaint: str = ""
    rejected: str = ""
