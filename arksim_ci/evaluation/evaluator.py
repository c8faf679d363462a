"""The judging of a run: a turn is judged while its conversation goes on, the whole conversation as soon as it has ended.

Everything runs on the caller's event loop as tasks; the LLM's limiter decides how many requests are in flight.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from arksim_ci.evaluation.judge import MetricHost, Outcome, judge_goal, judge_turn, run_custom
from arksim_ci.evaluation.measurements import Measurements
from arksim_ci.evaluation.metrics import builtin_metrics
from arksim_ci.evaluation.score_input import score_input
from arksim_ci.llm.client import LLM, LLMError, RunLimitReached
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.turn import TURN_QUESTIONS, TurnFacts
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.judgement import Judgement
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import Conversation, Message
from arksim_ci.schema.vocabulary import GOAL_COMPLETION, STOP_SIGNAL, TOOL_CALL_BEHAVIOR_FAILURE
from arksim_ci.user_code.errors import UserCodeFailed

ASKED_AGAIN_AT_MOST: Final = 2
"""How often a judgement that failed is asked again at the end of the run."""

_Ask = Callable[[tuple[str, ...]], Awaitable[Outcome]]
_Plan = tuple[tuple[str, ...], _Ask]
"""Metrics that are judged together, and how to ask for them, or for those of them that are still missing."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One judgement to make, of a turn or (`turn_id` None) of a whole conversation."""

    conversation_id: str
    turn_id: int | None
    metrics: tuple[str, ...]
    ask: _Ask


class Evaluator:
    """Judges the conversations of one run.

    Call `turn_answered` and `conversation_ended` as the conversations go, `await settle()` when all have ended, then read
    `measurements`.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        metrics_to_run: Sequence[str],
        judge_mode: Literal["combined", "per_metric"],
        custom_metrics: Sequence[CustomMetric] = (),
        host: MetricHost | None = None,
        on_measured: Callable[[Judgement], None] = lambda judgement: None,
    ) -> None:
        """Prepare the judging; nothing is asked yet.

        Args:
            llm: the judge.
            metrics_to_run: the built-in metrics of the configuration; empty means all.
            judge_mode: one call for all metrics of a turn, or one call each.
            custom_metrics: they run always.
            host: runs the custom metrics; may be None where there are none.
            on_measured: told of every judgement that measured something, as soon as it is there.

        Raises:
            ValueError: there are custom metrics and nobody to run them.
        """
        if custom_metrics and host is None:
            raise ValueError("custom metrics need a host")
        self.measurements = Measurements()
        self._llm = llm
        self._host = host
        self._builtin = builtin_metrics(metrics_to_run)
        self._judge_mode = judge_mode
        self._custom = tuple(custom_metrics)
        self._on_measured = on_measured
        self._tasks: set[asyncio.Task[None]] = set()
        self._scheduled: set[tuple[str, int | None]] = set()
        self._again: list[_Job] = []
        self._bugs: list[Exception] = []
        self._halted = False

    @property
    def pending(self) -> int:
        """How many judgements are under way."""
        return len(self._tasks)

    def restore(self, judgement: Judgement) -> None:
        """Take a judgement of an earlier, unfinished run, so that it is not asked for again.

        Only judgements of conversations that are taken over as they were may be restored, and before those are handed in.
        """
        self.measurements.add(judgement)

    def turn_answered(
        self, conversation_id: str, scenario: Scenario, history: Sequence[Message], repetition: int
    ) -> None:
        """Judge the last turn of a conversation that may still go on.

        `history` ends with the agent's answer; `repetition` is the test case's number in its scenario.
        """
        if history and history[-1].role == "assistant":
            self._schedule(conversation_id, history[-1].turn_id, self._turn_jobs(scenario, tuple(history), repetition))

    def conversation_ended(self, conversation: Conversation, scenario: Scenario, repetition: int) -> None:
        """Judge what is left to judge of a conversation: turns that were not handed in before, and the whole.

        The whole is judged only where the conversation came to its end and the agent said something.
        """
        history = tuple(conversation.conversation_history)
        for index, message in enumerate(history):
            if message.role == "assistant":
                self.turn_answered(conversation.conversation_id, scenario, history[: index + 1], repetition)
        if conversation.turns() and not conversation.silence() and not conversation.not_finished:
            jobs = self._conversation_jobs(scenario, history, repetition)
            self._schedule(conversation.conversation_id, None, jobs)

    async def settle(self) -> None:
        """Wait until everything is judged; then ask again what failed, twice at most.

        Nothing is asked again once a limit of the run was reached or the judging was halted.

        Raises:
            ExceptionGroup: bugs that judgements ran into. What the others measured is kept.
        """
        await self._idle()
        for _ in range(ASKED_AGAIN_AT_MOST):
            jobs, self._again = self._again, []
            if self._halted:
                break
            for job in jobs:
                self._start(job)
            await self._idle()
        self._again.clear()
        if self._bugs:
            raise ExceptionGroup("judgements failed through a bug", self._bugs)

    def halt(self, cause: str) -> None:
        """Start no judgement from now on; those under way go on. What is never judged carries this cause."""
        self._halted = True
        self.measurements.never_judged = cause

    def cancel(self, cause: str) -> None:
        """Halt, and stop the judgements that are under way, too. `settle` then returns as soon as they have stopped."""
        self.halt(cause)
        for task in self._tasks:
            task.cancel()

    def _turn_jobs(self, scenario: Scenario, history: tuple[Message, ...], repetition: int) -> Iterator[_Plan]:
        """What to ask of the turn that ends `history`."""
        agent = history[-1]
        user = history[-2] if len(history) > 1 and history[-2].role == "simulated_user" else None
        turn = history[-2:] if user else history[-1:]
        facts = TurnFacts(scenario, history[: -len(turn)], user, agent, metrics=(), case=str(repetition))

        async def ask(metrics: tuple[str, ...]) -> Outcome:
            return await judge_turn(self._llm, replace(facts, metrics=metrics))

        metrics = tuple(
            metric
            for metric in TURN_QUESTIONS
            if metric in self._builtin and (metric != TOOL_CALL_BEHAVIOR_FAILURE or agent.tool_calls)
        )
        if self._judge_mode == "combined":
            yield metrics, ask
        else:
            yield from (((metric,), ask) for metric in metrics)
        place = f"{scenario.scenario_id}/{repetition}/{agent.turn_id}"
        yield from self._custom_jobs("turn", lambda: score_input(scenario, history, turn), place)

    def _conversation_jobs(self, scenario: Scenario, history: tuple[Message, ...], repetition: int) -> Iterator[_Plan]:
        """What to ask of a whole conversation."""
        heard = tuple(each for each in history if each.role == "assistant" or each.content.strip() != STOP_SIGNAL)
        if GOAL_COMPLETION in self._builtin:
            facts = GoalFacts(scenario, heard, case=str(repetition))
            yield (GOAL_COMPLETION,), lambda _: judge_goal(self._llm, facts)
        place = f"{scenario.scenario_id}/{repetition}"
        yield from self._custom_jobs("conversation", lambda: score_input(scenario, heard, ()), place)

    def _custom_jobs(self, scope: str, make_input: Callable[[], dict[str, object]], place: str) -> Iterator[_Plan]:
        host = self._host
        if host is None:
            return
        for metric in self._custom:
            if metric.scope == scope:
                case = f"{metric.name}/{place}"
                yield (metric.name,), functools.partial(_ask_custom, host, metric, make_input, case)

    def _schedule(self, conversation_id: str, turn_id: int | None, plans: Iterator[_Plan]) -> None:
        """Start what is not measured yet. A turn, and a whole conversation, is scheduled once."""
        if self._halted or (conversation_id, turn_id) in self._scheduled:
            return
        self._scheduled.add((conversation_id, turn_id))
        for metrics, ask in plans:
            self._start(_Job(conversation_id, turn_id, metrics, ask))

    def _start(self, job: _Job) -> None:
        missing = self._missing(job)
        if missing:
            task = asyncio.create_task(self._run(replace(job, metrics=missing)))
            self._tasks.add(task)
            task.add_done_callback(functools.partial(self._done, job))

    def _missing(self, job: _Job) -> tuple[str, ...]:
        get = self.measurements.get
        return tuple(metric for metric in job.metrics if get(job.conversation_id, job.turn_id, metric) is None)

    async def _run(self, job: _Job) -> None:
        try:
            outcome = await job.ask(job.metrics)
        except RunLimitReached as limit:
            self._fail(job, str(limit))
            self.halt(str(limit))
        except (LLMError, UserCodeFailed) as failure:
            self._fail(job, str(failure))
            self._again.append(job)
        else:
            self._keep(job, outcome)

    def _keep(self, job: _Job, outcome: Outcome) -> None:
        if outcome.measured:
            judgement = Judgement(conversation_id=job.conversation_id, turn_id=job.turn_id, measured=outcome.measured)
            self.measurements.add(judgement)
            self._on_measured(judgement)
        for metric, cause in outcome.causes.items():
            self.measurements.fail(job.conversation_id, job.turn_id, metric, cause)
        if self._missing(job):
            self._again.append(job)

    def _fail(self, job: _Job, cause: str) -> None:
        for metric in job.metrics:
            self.measurements.fail(job.conversation_id, job.turn_id, metric, cause)

    def _done(self, job: _Job, task: asyncio.Task[None]) -> None:
        """No exception is lost: what no judgement may raise is kept for `settle`."""
        self._tasks.discard(task)
        if task.cancelled():
            return
        bug = task.exception()
        if isinstance(bug, Exception):
            self._bugs.append(bug)
            self._fail(job, f"internal error: {type(bug).__name__}: {bug}")

    async def _idle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)


async def _ask_custom(
    host: MetricHost, metric: CustomMetric, make_input: Callable[[], dict[str, object]], case: str, _: tuple[str, ...]
) -> Outcome:
    return await run_custom(host, metric, make_input(), case)
