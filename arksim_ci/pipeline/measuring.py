"""The measuring: conversations are held and judged while they go on, or judged where they were held before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Final

from arksim_ci import __version__
from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.evaluation.measurements import Measurements
from arksim_ci.pipeline.assembly import agent_of, evaluator_of
from arksim_ci.pipeline.conversations import Conversations, test_cases
from arksim_ci.pipeline.record import Record
from arksim_ci.pipeline.session import Session
from arksim_ci.pipeline.stopping import Ending
from arksim_ci.schema.judgement import Judgement
from arksim_ci.schema.simulation import Simulation

logger = logging.getLogger(__name__)

SIMULATION_SCHEMA: Final = "v1.1"
_CLOSING_SECONDS: Final = 1.0
"""How long a connection may take to close; what it has not done by then is of no use to anybody."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """What there is once the measuring is over, and how it ended."""

    ending: Ending
    simulation: Simulation
    measurements: Measurements


async def measure(session: Session, record: Record, ended: Ending | None) -> Measuring:
    """Measure what there is to measure. What was taken over from an earlier run is not done again.

    Args:
        session: the run.
        record: where what is finished is kept, and what of it is there already.
        ended: how the run ended before it began; nothing is asked then.
    """

    def measured(judgement: Judgement) -> None:
        record.measured(judgement)
        session.around.progress.judged()

    evaluator = evaluator_of(session.plan, session.llm, session.host, measured)
    if session.plan.simulation:
        simulation = session.plan.simulation
        ending = await _judge(session, simulation, evaluator, record, ended)
    else:
        ending, simulation = await _talk(session, evaluator, record, ended)
    return Measuring(ending, simulation, evaluator.measurements)


async def closed(closing: Awaitable[None]) -> None:
    """Wait for something to close, for a moment; results never wait for it."""
    try:
        await asyncio.wait_for(closing, _CLOSING_SECONDS)
    except Exception as error:
        logger.debug("a connection did not close in order", exc_info=error)


async def _judge(
    session: Session, simulation: Simulation, evaluator: Evaluator, record: Record, ended: Ending | None
) -> Ending:
    held, progress = simulation.conversations, session.around.progress
    reused = record.judgements_of({each.conversation_id for each in held})
    _take_over(session, evaluator, record, 0, reused)
    if ended:
        return ended
    progress.phase("Judging")
    progress.expect(len(held), max((len(each.turns()) for each in held), default=0))
    by_id = {scenario.scenario_id: scenario for scenario in session.plan.scenarios.scenarios}
    repetitions: dict[str, int] = {}

    async def work() -> None:
        for conversation in held:
            repetition = repetitions.setdefault(conversation.scenario_id, 0)
            repetitions[conversation.scenario_id] += 1
            evaluator.conversation_ended(conversation, by_id[conversation.scenario_id], repetition)
            progress.conversation_ended(conversation)
        await evaluator.settle()

    return await _until_done(session, work(), evaluator, lambda _: None)


async def _talk(
    session: Session, evaluator: Evaluator, record: Record, ended: Ending | None
) -> tuple[Ending, Simulation]:
    plan, around, config = session.plan, session.around, session.plan.config
    judged = plan.command != "simulate"
    cases, reused = record.take_over(test_cases(plan.scenarios, config.num_conversations_per_scenario, around.new_id))
    _take_over(session, evaluator, record, len(reused.conversations), reused.judgements)
    connection = agent_of(plan, session.host, around, session.redact)
    try:
        talks = Conversations(
            cases,
            config,
            session.llm,
            connection,
            evaluator if judged else None,
            around,
            redact=session.redact,
            finished=reused.conversations,
            on_ended=record.conversation_ended,
        )

        async def work() -> None:
            await talks.hold()
            if judged:
                await evaluator.settle()
            if talks.bugs:
                raise ExceptionGroup("conversations broke off through a bug", talks.bugs)

        if not ended:
            around.progress.phase("Testing the agent")
            around.progress.expect(len(cases), config.max_turns)
        ending = ended or await _until_done(session, work(), evaluator, talks.begin_no_more)
        simulation = Simulation(
            schema_version=SIMULATION_SCHEMA,
            simulator_version=__version__,
            simulation_id=record.simulation_id,
            generated_at=around.timestamp(),
            conversations=talks.so_far(ending.cause),
        )
        return ending, simulation
    finally:
        await closed(connection.close())


def _take_over(
    session: Session, evaluator: Evaluator, record: Record, conversations: int, judgements: list[Judgement]
) -> None:
    for judgement in judgements:
        evaluator.restore(judgement)
    if sentence := record.resumed(conversations, len(judgements)):
        session.warn(sentence)
    elif record.goes_on:
        session.around.progress.note(
            "A run of the same inputs was interrupted before anything was finished: all is done anew."
        )


async def _until_done(
    session: Session,
    work: Coroutine[object, object, None],
    evaluator: Evaluator,
    begin_no_more: Callable[[str], None],
) -> Ending:
    """Work until all is done, a limit is reached, or the run is told to stop; say how it ended."""

    def halt(cause: str) -> None:
        session.llm.shut(cause)
        begin_no_more(cause)
        evaluator.halt(cause)

    session.llm.on_limit = halt
    return session.within_budget(await session.watch.let(work, halt=halt, give_up=evaluator.cancel))
