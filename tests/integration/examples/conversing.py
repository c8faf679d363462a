"""A minimal run of conversations: simulated users by the offline rules against any agent, every turn judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from arksim_ci.llm.client import Question, Reading, Role
from arksim_ci.llm.offline import OfflineLLM
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.llm.questions.turn import Score, TurnFacts, TurnJudgement
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Message
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, DEFAULT_METRICS, NO_FAILURE, STOP_SIGNAL

Answer = Callable[[Scenario, list[Message]], Awaitable[str]]


@dataclass
class Held:
    """A conversation and what the rules made of it."""

    goal: float = -1.0
    history: list[Message] = field(default_factory=list)
    judgements: list[TurnJudgement] = field(default_factory=list)

    @property
    def labels(self) -> list[str]:
        return [judgement.labels[AGENT_BEHAVIOR_FAILURE].value for judgement in self.judgements]

    @property
    def failures(self) -> set[str]:
        return set(self.labels) - {NO_FAILURE}

    def __str__(self) -> str:
        return "\n".join(f"{message.role}: {message.content}" for message in self.history)


async def converse(
    llm: OfflineLLM, scenario: Scenario, answer: Answer, repetition: int = 0, max_turns: int = 5
) -> Held:
    held = Held()
    for turn_id in range(max_turns):
        facts = SimulatedUserFacts(scenario, "", tuple(held.history), turn_id, max_turns, repetition)
        text: str = await _ask(llm, facts, "simulated_user")
        if text == STOP_SIGNAL:
            break
        user = Message(turn_id=turn_id, message_id=f"u{turn_id}", role="simulated_user", content=text)
        said = await answer(scenario, [*held.history, user])
        agent = Message(turn_id=turn_id, message_id=f"a{turn_id}", role="assistant", content=said)
        turn = TurnFacts(scenario, tuple(held.history), user, agent, DEFAULT_METRICS, "c")
        held.judgements.append(await _ask(llm, turn, "judge"))
        held.history += [user, agent]
    goal: Score = await _ask(llm, GoalFacts(scenario, tuple(held.history), "c"), "judge")
    held.goal = goal.value
    return held


async def _ask(llm: OfflineLLM, facts: object, role: Role) -> Any:
    question: Question[Any] = Question("q", role, (), None, lambda answer: Reading(answer), facts)
    return (await llm.ask(question)).value
