"""One test case: a simulated user and the agent talk until one of them is done."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from arksim_ci.agents.agent import Agent, AgentConnection, AgentDidNotAnswer
from arksim_ci.config.model import RunConfig
from arksim_ci.llm.client import LLM, LLMError
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Conversation, Message, Silence, ToolCall
from arksim_ci.simulation.prompts import ScenarioPrompt, scenario_prompts
from arksim_ci.simulation.simulated_user import BrokeOff, IsDone, Says, next_step

logger = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[object]]
NewId = Callable[[], str]
MessageRole = Literal["simulated_user", "assistant"]


@dataclass(frozen=True, slots=True)
class TestCase:
    """One repetition of a scenario. `repetition` counts from 0."""

    __test__ = False  # pytest takes every `Test...` for a test

    scenario: Scenario
    repetition: int
    conversation_id: str


OnTurn = Callable[[TestCase, tuple[Message, ...]], None]


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """What all conversations of a run share. `prompts` are by scenario id."""

    max_turns: int
    max_no_response_retries: int
    no_response_retry_backoff_seconds: float
    prompts: Mapping[str, ScenarioPrompt]

    @classmethod
    def of(cls, config: RunConfig, scenarios: Sequence[Scenario]) -> SimulationSettings:
        """Take the settings from a configuration, and render the simulated users' prompts.

        Raises:
            ConfigError: the user's own template can't be used.
        """
        return cls(
            max_turns=config.max_turns,
            max_no_response_retries=config.max_no_response_retries,
            no_response_retry_backoff_seconds=config.no_response_retry_backoff_seconds,
            prompts=scenario_prompts(config.simulated_user_prompt_template, scenarios),
        )


@dataclass(slots=True)
class Progress:
    """A conversation as far as it came. Whoever cancels `hold_conversation` can still take it from here."""

    case: TestCase
    prompt: ScenarioPrompt
    history: list[Message] = field(default_factory=list)
    attempts: int = 0

    def conversation(self, *, silence: Silence | None = None, not_finished: str | None = None) -> Conversation:
        """The conversation so far. `not_finished` says why it broke off, where that was not the agent's fault."""
        return Conversation(
            conversation_id=self.case.conversation_id,
            scenario_id=self.case.scenario.scenario_id,
            conversation_history=list(self.history),
            simulated_user_prompt=self.prompt.record,
            agent_silence=silence,
            not_finished=not_finished,
            attempts=self.attempts,
        )


async def hold_conversation(
    case: TestCase,
    settings: SimulationSettings,
    llm: LLM,
    connection: AgentConnection,
    on_turn: OnTurn,
    *,
    sleep: Sleep,
    new_id: NewId,
    progress: Progress | None = None,
) -> Conversation:
    """Hold one test case's conversation.

    An attempt in which the agent never spoke is made again, after a pause and with a conversation that is new to the agent;
    what the user said first stays the same. An agent that falls silent later ends the conversation there.

    Args:
        case: whose conversation it is.
        settings: what all conversations share.
        llm: plays the simulated user.
        connection: the way to the agent.
        on_turn: called with the history right after each answer of the agent, so that it can be judged meanwhile.
        sleep: waits some seconds.
        new_id: makes an id for a message, or for the agent's conversation of a further attempt.
        progress: where the conversation is kept while it goes on; for a caller that may cancel. See `progress_of`.

    Returns:
        The conversation. `not_finished` is set where the simulated user's LLM failed, `agent_silence` where the agent did.
    """
    talk = _Talk(case, settings, llm, on_turn, new_id, progress or progress_of(case, settings))
    silence = ""
    try:
        for attempt in range(settings.max_no_response_retries + 1):
            if attempt:
                await sleep(settings.no_response_retry_backoff_seconds)
            silence = await talk.attempt(connection, new_id() if attempt else case.conversation_id)
            if not silence or talk.answers:
                break
            logger.info("%s: the agent never spoke in attempt %d: %s", case.conversation_id, attempt + 1, silence)
    except LLMError as error:
        return talk.progress.conversation(not_finished=f"the simulated user has no next message: {error}")
    if talk.broke_off:
        return talk.progress.conversation(not_finished=talk.broke_off)
    if not silence:
        return talk.progress.conversation()
    if talk.answers:
        return talk.progress.conversation(silence=Silence(kind="stopped_answering", cause=silence))
    return talk.progress.conversation(silence=Silence(kind="never_spoke", cause=silence))


def progress_of(case: TestCase, settings: SimulationSettings) -> Progress:
    """The empty state of a conversation that is about to begin."""
    return Progress(case, settings.prompts[case.scenario.scenario_id])


@dataclass(slots=True)
class _Talk:
    """The attempts of one test case."""

    case: TestCase
    settings: SimulationSettings
    llm: LLM
    on_turn: OnTurn
    new_id: NewId
    progress: Progress
    opening: Says | None = None
    """The first message, once it is known: every attempt starts with it."""
    answers: int = 0
    broke_off: str = ""

    async def attempt(self, connection: AgentConnection, conversation_id: str) -> str:
        """Make one attempt. Returns why the agent fell silent, or nothing where it did not."""
        self.progress.attempts += 1
        self.progress.history.clear()
        try:
            agent = await connection.open(conversation_id, self.case.scenario)
        except AgentDidNotAnswer as error:
            return str(error)
        try:
            return await self._exchange(agent)
        finally:
            await agent.close()

    async def _exchange(self, agent: Agent) -> str:
        for turn_id in range(self.settings.max_turns):
            step = await self._next_step(turn_id)
            if isinstance(step, IsDone):
                break
            if isinstance(step, BrokeOff):
                self.broke_off = step.cause
                break
            self._record(turn_id, "simulated_user", step.text)
            try:
                answer = await agent.answer(step.text, turn_id)
            except AgentDidNotAnswer as error:
                return str(error)
            if not answer.content.strip() and not answer.tool_calls:
                return "the agent's answer was empty"
            self._record(turn_id, "assistant", answer.content, answer.tool_calls)
            self.answers += 1
            self.on_turn(self.case, tuple(self.progress.history))
            if step.is_last:
                break
        return ""

    async def _next_step(self, turn_id: int) -> Says | IsDone | BrokeOff:
        if turn_id == 0 and self.opening:
            return self.opening
        step = await next_step(
            self.llm,
            SimulatedUserFacts(
                scenario=self.case.scenario,
                system_prompt=self.progress.prompt.system_prompt,
                history=tuple(self.progress.history),
                turn_id=turn_id,
                max_turns=self.settings.max_turns,
                repetition=self.case.repetition,
            ),
        )
        if turn_id == 0 and isinstance(step, Says):
            self.opening = step
        return step

    def _record(self, turn_id: int, role: MessageRole, content: str, tool_calls: tuple[ToolCall, ...] = ()) -> None:
        calls = list(tool_calls) or None
        message = Message(turn_id=turn_id, message_id=self.new_id(), role=role, content=content, tool_calls=calls)
        self.progress.history.append(message)
