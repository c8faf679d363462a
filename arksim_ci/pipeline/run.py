"""The run: conversations, judgement, diagnosis, decision, files. It knows nothing of GitHub or of a terminal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci import __version__
from arksim_ci.config.document import shown
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.evaluation.build import Evaluated, build_evaluation
from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.evaluation.focus import focus_files, map_errors_to_scenarios
from arksim_ci.evaluation.metrics import expected_metrics
from arksim_ci.gates.verdict import decide, decide_simulation
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed
from arksim_ci.llm.render import prompts_hash
from arksim_ci.output import OutputFolder, OutputRefused
from arksim_ci.pipeline.assembly import agent_of, evaluator_of, llm_of
from arksim_ci.pipeline.conclusion import evaluation_file, expectation
from arksim_ci.pipeline.conversations import Conversations, test_cases
from arksim_ci.pipeline.diagnosis import Diagnosis
from arksim_ci.pipeline.files import write_all
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.record import Record, open_record, restore
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.stopping import Ending, Watch
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.redaction import redactor
from arksim_ci.reports.context import CommentContext, places_of
from arksim_ci.reports.results import Results
from arksim_ci.schema.expectation import Expectation
from arksim_ci.schema.judgement import Judgement
from arksim_ci.schema.simulation import Conversation, Simulation
from arksim_ci.schema.verdict import Judge, Run

if TYPE_CHECKING:
    from arksim_ci.user_code.host import UserCodeHost

logger = logging.getLogger(__name__)

SIMULATION_SCHEMA = "v1.1"
_CLOSING_SECONDS = 1.0
"""How long a connection may take to close; what it has not done by then is of no use to anybody."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to. `files` are those that were written; `trouble` says what could not be."""

    results: Results
    folder: Path
    files: tuple[Path, ...]
    trouble: tuple[str, ...]
    redact: Callable[[str], str]

    @property
    def exit_code(self) -> int:
        """The documented exit code. A run whose results could not be written has shown nothing."""
        code = self.results.verdict.exit_code
        return 3 if code == 0 and self.trouble else code


async def run(
    plan: Plan,
    around: Surroundings,
    host: UserCodeHost,
    relay: LLMRelay,
    *,
    resume: bool = False,
    ended: Ending | None = None,
    context: CommentContext | None = None,
) -> RunResult:
    """Do what the plan says, and write every file.

    Args:
        plan: a run that was checked.
        around: the outside world.
        host: runs the user's Python; it has the custom metrics loaded.
        relay: connects `self.llm` of custom metrics to the judge.
        resume: whether a journal in the output folder may be read, and an interrupted run of the same inputs so be continued. Only
            where nobody else can have put it there.
        ended: how the run ended before it began, for example because the agent did not start; nothing is asked then, and the
            files say so.
        context: what the reports say of where things are; without it, they name the configuration and the scenario file only.

    Raises:
        ConfigError: the provider refuses the key or the model, or the output folder can't be used; nothing was written.
    """
    context = context or _local_context(plan)
    return await _Run(plan, around, host, relay, context).go(ended, resume=resume)


class _Run:
    """One run's state, from the first check to the last file."""

    def __init__(
        self, plan: Plan, around: Surroundings, host: UserCodeHost, relay: LLMRelay, context: CommentContext
    ) -> None:
        self.context = context
        self.plan = plan
        self.around = around
        self.host = host
        self.redact = redactor(plan.secrets)
        self.folder = OutputFolder(plan.config.output_dir)
        self.llm = llm_of(plan, around)
        relay.connect(self.llm)
        self.started = around.monotonic()
        self.started_at = around.timestamp()
        self.watch = Watch(around.stop, self._seconds_left, self.redact)
        self.warnings = list(plan.inputs.warnings)

    async def go(self, ended: Ending | None, *, resume: bool) -> RunResult:
        self._claim_folder()
        try:
            ended = ended or await self._preflight()
            record = open_record(self.plan, self.around, self.folder, self.redact, resume=resume, warn=self._warn)
            try:
                return await self._go_on(record, ended)
            finally:
                record.close()
        finally:
            await _closed(self.llm.close())

    async def _go_on(self, record: Record, ended: Ending | None) -> RunResult:
        """Everything after the first checks, with a record that is written as the run goes."""

        def measured(judgement: Judgement) -> None:
            record.measured(judgement)
            self.around.progress.judged()

        evaluator = evaluator_of(self.plan, self.llm, self.host, measured)
        if self.plan.simulation:
            simulation = self.plan.simulation
            ending = await self._judge(simulation, evaluator, record, ended)
        else:
            ending, simulation = await self._talk(evaluator, record, ended)
        result = await self._conclude(simulation, evaluator, record, ending)
        if not result.trouble:
            record.decided(result.results.verdict)
        return result

    def _claim_folder(self) -> None:
        """See that results can be written, and take away those of an earlier run."""
        try:
            self.folder.check()
            self.folder.clear()
        except OutputRefused as error:
            raise ConfigError(Problem(str(error), key="output_dir")) from error

    async def _preflight(self) -> Ending | None:
        """Check key and model. Returns how the run ends where it can't go on."""
        self.around.progress.phase("Checking the provider")
        down = ""

        async def work() -> None:
            nonlocal down
            try:
                self.warnings += await self.llm.preflight()
            except PreflightFailed as error:
                raise ConfigError(Problem(self.redact(str(error)))) from error
            except LLMUnavailable as error:
                down = f"the provider can't be reached: {self.redact(str(error))}"

        ending = await self.watch.let(work(), halt=self.llm.shut)
        if ending.early:
            return ending
        return Ending("FAILED", down) if down else None

    async def _judge(
        self, simulation: Simulation, evaluator: Evaluator, record: Record, ended: Ending | None
    ) -> Ending:
        """Judge conversations that were held before."""
        held = simulation.conversations
        judgements = record.judgements_of({each.conversation_id for each in held})
        restore(evaluator, judgements)
        self._tell_what_was_reused(record, 0, len(judgements))
        if ended:
            return ended
        self.around.progress.phase("Judging")
        self.around.progress.expect(len(held), max((len(each.turns()) for each in held), default=0))
        by_id = {scenario.scenario_id: scenario for scenario in self.plan.scenarios.scenarios}
        repetitions: dict[str, int] = {}

        async def work() -> None:
            for conversation in held:
                repetition = repetitions.setdefault(conversation.scenario_id, 0)
                repetitions[conversation.scenario_id] += 1
                evaluator.conversation_ended(conversation, by_id[conversation.scenario_id], repetition)
                self.around.progress.conversation_ended(conversation)
            await evaluator.settle()

        return await self._until_done(work, evaluator, lambda _: None)

    async def _talk(self, evaluator: Evaluator, record: Record, ended: Ending | None) -> tuple[Ending, Simulation]:
        """Hold the conversations, each judged while it goes on."""
        plan, config = self.plan, self.plan.config
        judged = plan.command != "simulate"
        cases, reused = record.take_over(
            test_cases(plan.scenarios, config.num_conversations_per_scenario, self.around.new_id)
        )
        restore(evaluator, reused.judgements)
        self._tell_what_was_reused(record, len(reused.conversations), len(reused.judgements))
        connection = agent_of(plan, self.host, self.around, self.redact)
        try:
            talks = Conversations(
                cases,
                config,
                self.llm,
                connection,
                evaluator if judged else None,
                self.around,
                redact=self.redact,
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
                self.around.progress.phase("Testing the agent")
                self.around.progress.expect(len(cases), config.max_turns)
            ending = ended or await self._until_done(work, evaluator, talks.begin_no_more)
            return ending, self._simulation(record, talks.so_far(ending.cause))
        finally:
            await _closed(connection.close())

    async def _until_done(
        self,
        work: Callable[[], Coroutine[object, object, None]],
        evaluator: Evaluator,
        begin_no_more: Callable[[str], None],
    ) -> Ending:
        """Work until all is done, a limit is reached, or the run is told to stop; say how it ended."""

        def halt(cause: str) -> None:
            self.llm.shut(cause)
            begin_no_more(cause)
            evaluator.halt(cause)

        self.llm.on_limit = halt
        return self._within_budget(await self.watch.let(work(), halt=halt, give_up=evaluator.cancel))

    def _within_budget(self, ending: Ending) -> Ending:
        """The same ending, unless the run's budget ended it."""
        limit = self.llm.limit_reached
        return Ending("BUDGET_REACHED", limit) if limit and ending.status != "FAILED" else ending

    def _seconds_left(self) -> float | None:
        """Until the run's deadline; None where there is none."""
        limit = self.plan.config.run_timeout_seconds
        return None if limit is None else max(limit - (self.around.monotonic() - self.started), 0.0)

    def _simulation(self, record: Record, conversations: list[Conversation]) -> Simulation:
        return Simulation(
            schema_version=SIMULATION_SCHEMA,
            simulator_version=__version__,
            simulation_id=record.simulation_id,
            generated_at=self.around.timestamp(),
            conversations=conversations,
        )

    async def _conclude(
        self, simulation: Simulation, evaluator: Evaluator, record: Record, ending: Ending
    ) -> RunResult:
        """Diagnose, decide and write."""
        plan = self.plan
        if plan.command == "simulate":
            expected = self._expectation(simulation, None, record, ending)
            verdict = decide_simulation(
                expected, simulation_id=simulation.simulation_id, generated_at=self.around.timestamp()
            )
            return self._write(Results(verdict=verdict, simulation=simulation, scenarios=plan.scenarios), {})
        metrics = expected_metrics(plan.config.metrics_to_run, plan.custom_metrics)
        evaluated = build_evaluation(simulation.conversations, evaluator.measurements, metrics)
        diagnosis = Diagnosis(plan, simulation, evaluated)
        ending = await self._diagnose(diagnosis, ending)
        scenario_of = {each.conversation_id: each.scenario_id for each in simulation.conversations}
        mappings = map_errors_to_scenarios(diagnosis.errors, scenario_of, plan.scenarios)
        evaluation = evaluation_file(
            simulation.simulation_id,
            record.evaluation_id,
            self.around.timestamp(),
            evaluated,
            diagnosis.errors,
            mappings,
        )
        results = Results(
            verdict=decide(evaluation, self._expectation(simulation, evaluated, record, ending)),
            simulation=simulation,
            evaluation=evaluation,
            scenarios=plan.scenarios,
            recommendations=diagnosis.recommendations,
        )
        return self._write(results, focus_files(mappings, plan.scenarios))

    async def _diagnose(self, diagnosis: Diagnosis, ending: Ending) -> Ending:
        """Find root causes and fixes. A run that ended early asks no more questions; one that ends now says so."""
        if ending.early or not diagnosis.failures:
            return ending
        self.around.progress.phase("Looking for root causes")
        work = diagnosis.go_on(self.llm, self._warn)
        return self._within_budget(await self.watch.let(work, halt=self.llm.shut))

    def _expectation(
        self, simulation: Simulation, evaluated: Evaluated | None, record: Record, ending: Ending
    ) -> Expectation:
        plan = self.plan
        return expectation(
            plan,
            simulation,
            evaluated,
            ending,
            run=Run(
                agent_name=plan.config.agent_config.agent_name if plan.config.agent_config else "agent",
                command=plan.command,
                commit=self.around.commit,
                started_at=self.started_at,
                duration_seconds=round(self.around.monotonic() - self.started, 1),
                version=__version__,
                places=places_of(self.context),
            ),
            judge=Judge(
                provider=plan.provider.provider,
                model=self.llm.model,
                judge_mode=plan.config.judge_mode,
                prompts_hash=prompts_hash(),
            ),
            usage=self.llm.usage(),
            warnings=[*self.warnings, *self.llm.notes(), *filter(None, [record.trouble()])],
        )

    def _write(self, results: Results, focus: dict[str, str]) -> RunResult:
        config = self.plan.config
        written = write_all(
            results,
            focus,
            self.folder,
            self.redact,
            copy_to=None if self.plan.simulation else config.output_file_path,
            html=config.generate_html_report,
        )
        return RunResult(results, self.folder.path, written.files, written.trouble, self.redact)

    def _tell_what_was_reused(self, record: Record, conversations: int, judgements: int) -> None:
        if sentence := record.resumed(conversations, judgements):
            self._warn(sentence)

    def _warn(self, sentence: str) -> None:
        self.warnings.append(self.redact(sentence))
        self.around.progress.note(self.redact(sentence))


def _local_context(plan: Plan) -> CommentContext:
    """What the reports of a run from a terminal say of where things are."""
    scenarios = plan.config.scenario_file_path
    context = CommentContext(config_path=shown(plan.inputs.loaded.path))
    return replace(context, scenario_path=shown(scenarios)) if scenarios else context


async def _closed(closing: Awaitable[None]) -> None:
    """Wait for something to close, for a moment; the results never wait for it."""
    try:
        await asyncio.wait_for(closing, _CLOSING_SECONDS)
    except Exception as error:
        logger.debug("a connection did not close in order", exc_info=error)
