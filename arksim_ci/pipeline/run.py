"""The run: conversations, judgement, diagnosis, decision, files. It knows nothing of GitHub or of a terminal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci import __version__
from arksim_ci.agents.factory import connect
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.evaluation.build import Evaluated, build_evaluation
from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.evaluation.failures import collect_failures
from arksim_ci.evaluation.focus import focus_files, map_errors_to_scenarios
from arksim_ci.evaluation.metrics import expected_metrics
from arksim_ci.evaluation.recommendations import recommend
from arksim_ci.evaluation.unique_errors import find_unique_errors, find_unique_errors_plainly
from arksim_ci.gates.verdict import decide, decide_simulation
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits
from arksim_ci.llm.render import prompts_hash
from arksim_ci.output import OutputFolder, OutputRefused
from arksim_ci.pipeline.agent_sources import agent_sources
from arksim_ci.pipeline.conclusion import Ending, evaluation_file, expectation
from arksim_ci.pipeline.conversations import Conversations, test_cases
from arksim_ci.pipeline.files import write_reports, write_results, write_simulation
from arksim_ci.pipeline.guard import Gatekeeper, RedactedConnection
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.stopping import run_until
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.redaction import redactor
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.results import Results
from arksim_ci.schema.evaluation import UniqueError
from arksim_ci.schema.expectation import Expectation
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.simulation import Conversation, Simulation
from arksim_ci.schema.verdict import Judge, Run
from arksim_ci.schema.vocabulary import GOAL_COMPLETION, PARTIAL_FAILURE_FROM

if TYPE_CHECKING:
    from arksim_ci.user_code.host import UserCodeHost

logger = logging.getLogger(__name__)

SIMULATION_SCHEMA = "v1.1"
_NEW_WORK = {"CANCELLED": "the run was cancelled", "TIMED_OUT": "the run's time was over (run_timeout_seconds)"}


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
    ended: Ending | None = None,
    context: CommentContext | None = None,
) -> RunResult:
    """Do what the plan says, and write every file.

    Args:
        plan: a run that was checked.
        around: the outside world.
        host: runs the user's Python; it has the custom metrics loaded.
        relay: connects `self.llm` of custom metrics to the judge.
        ended: how the run ended before it began, for example because the agent did not start; nothing is asked then, and the
            files say so.
        context: what the reports say of where things are; without it, they name the configuration file only.

    Raises:
        ConfigError: the provider refuses the key or the model, or the output folder can't be used; nothing was written.
    """
    context = context or CommentContext(config_path=str(plan.inputs.loaded.path))
    return await _Run(plan, around, host, relay, context).go(ended)


class _Run:
    """One run's state, from the first check to the last file."""

    def __init__(
        self, plan: Plan, around: Surroundings, host: UserCodeHost, relay: LLMRelay, context: CommentContext
    ) -> None:
        config = plan.config
        self.context = context
        self.plan = plan
        self.around = around
        self.host = host
        self.redact = redactor(plan.secrets)
        self.folder = OutputFolder(config.output_dir)
        self.limits = Limits(
            config.num_workers,
            model=plan.provider.model,
            prices=config.prices,
            max_llm_calls=config.max_llm_calls,
            max_cost_usd=config.max_cost_usd,
            clock=around.monotonic,
            sleep=around.sleep,
        )
        self.llm = Gatekeeper(
            build_llm(
                plan.provider, self.limits, timeout_seconds=config.llm_timeout_seconds, cache_dir=config.cache_dir
            )
        )
        relay.connect(self.llm)
        self.started = around.monotonic()
        self.started_at = around.timestamp()
        self.warnings = list(plan.inputs.warnings)

    async def go(self, ended: Ending | None) -> RunResult:
        self._claim_folder()
        try:
            ended = ended or await self._preflight()
            evaluator = self._evaluator()
            if self.plan.simulation:
                ending = ended or await self._judge(self.plan.simulation, evaluator)
                simulation = self.plan.simulation
            else:
                ending, conversations = await self._talk(None if self.plan.command == "simulate" else evaluator, ended)
                simulation = self._simulation(conversations)
            return await self._conclude(simulation, evaluator, ending)
        finally:
            await self.llm.close()

    def _claim_folder(self) -> None:
        """See that results can be written, and take away those of an earlier run."""
        try:
            self.folder.check()
            self.folder.clear()
        except OutputRefused as error:
            raise ConfigError(Problem(str(error), key="output_dir")) from error

    async def _preflight(self) -> Ending | None:
        """Check key and model. Returns how the run ends where the provider can't be reached."""
        self.around.progress.phase("Checking the provider")
        try:
            self.warnings += await self.llm.preflight()
        except PreflightFailed as error:
            raise ConfigError(Problem(self.redact(str(error)))) from error
        except LLMUnavailable as error:
            return Ending("FAILED", f"the provider can't be reached: {self.redact(str(error))}")
        return None

    def _evaluator(self) -> Evaluator:
        config = self.plan.config
        return Evaluator(
            self.llm,
            metrics_to_run=config.metrics_to_run,
            judge_mode=config.judge_mode,
            custom_metrics=self.plan.custom_metrics,
            host=self.host,
            on_measured=lambda _: self.around.progress.judged(),
        )

    async def _judge(self, simulation: Simulation, evaluator: Evaluator) -> Ending:
        """Judge conversations that were held before."""
        self.around.progress.phase("Judging")
        held = simulation.conversations
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

        return await self._until_done(work(), evaluator, lambda _: None)

    async def _talk(self, evaluator: Evaluator | None, ended: Ending | None) -> tuple[Ending, list[Conversation]]:
        """Hold the conversations, each judged while it goes on."""
        plan, config = self.plan, self.plan.config
        cases = test_cases(plan.scenarios, config.num_conversations_per_scenario, self.around.new_id)
        connection = self._connection()
        try:
            talks = Conversations(cases, config, self.llm, connection, evaluator, self.around)
            if ended:
                return ended, talks.so_far(ended.cause)
            self.around.progress.phase("Testing the agent")
            self.around.progress.expect(len(cases), config.max_turns)

            async def work() -> None:
                await talks.hold()
                if evaluator:
                    await evaluator.settle()

            ending = await self._until_done(work(), evaluator, talks.begin_no_more)
            return ending, talks.so_far(ending.cause)
        finally:
            await connection.close()

    def _connection(self) -> RedactedConnection:
        agent = self.plan.agent
        if agent is None:
            raise ValueError("a run that holds conversations needs an agent")
        api = agent.api_config
        connection = connect(
            agent,
            endpoint=api.endpoint if api else "",
            headers=api.headers if api else {},
            timeout_seconds=self.plan.config.agent_timeout_seconds,
            host=self.host,
            sleep=self.around.sleep,
        )
        return RedactedConnection(connection, self.redact)

    async def _until_done(
        self,
        work: Coroutine[object, object, None],
        evaluator: Evaluator | None,
        begin_no_more: Callable[[str], None],
    ) -> Ending:
        """Work until all is done, a limit is reached, or the run is told to stop; say how it ended."""

        def halt(ending: str) -> None:
            cause = _NEW_WORK[ending]
            self.llm.shut(cause)
            begin_no_more(cause)
            if evaluator:
                evaluator.halt(cause)

        try:
            status = await run_until(asyncio.ensure_future(work), self.around.stop, self._seconds_left(), halt)
        except Exception as error:  # a bug of ours ends the run, but loses nothing that is finished
            logger.exception("The run broke off")
            return Ending("FAILED", f"internal error: {self.redact(f'{type(error).__name__}: {error}')}")
        if evaluator and status != "COMPLETED":
            evaluator.cancel(_NEW_WORK[status])
            await evaluator.settle()
        if self.limits.limit_reached:
            return Ending("BUDGET_REACHED", self.limits.limit_reached)
        return Ending(status, _NEW_WORK.get(status, ""))

    def _seconds_left(self) -> float | None:
        """Until the run's deadline; None where there is none."""
        limit = self.plan.config.run_timeout_seconds
        return None if limit is None else max(limit - (self.around.monotonic() - self.started), 0.0)

    def _simulation(self, conversations: list[Conversation]) -> Simulation:
        return Simulation(
            schema_version=SIMULATION_SCHEMA,
            simulator_version=__version__,
            simulation_id=self.around.new_id(),
            generated_at=self.around.timestamp(),
            conversations=conversations,
        )

    async def _conclude(self, simulation: Simulation, evaluator: Evaluator, ending: Ending) -> RunResult:
        """Diagnose, decide and write."""
        config, plan = self.plan.config, self.plan
        if plan.command == "simulate":
            expected = self._expectation(simulation, None, ending)
            verdict = decide_simulation(
                expected, simulation_id=simulation.simulation_id, generated_at=self.around.timestamp()
            )
            return self._write(Results(verdict=verdict, simulation=simulation, scenarios=plan.scenarios), {})
        metrics = expected_metrics(config.metrics_to_run, plan.custom_metrics)
        evaluated = build_evaluation(simulation.conversations, evaluator.measurements, metrics)
        errors, recommendations, ending = await self._diagnose(simulation, evaluated, ending)
        scenario_of = {each.conversation_id: each.scenario_id for each in simulation.conversations}
        mappings = map_errors_to_scenarios(errors, scenario_of, plan.scenarios)
        evaluation = evaluation_file(
            simulation.simulation_id,
            self.around.new_id(),
            self.around.timestamp(),
            evaluated,
            errors,
            mappings,
        )
        results = Results(
            verdict=decide(evaluation, self._expectation(simulation, evaluated, ending)),
            simulation=simulation,
            evaluation=evaluation,
            scenarios=plan.scenarios,
            recommendations=recommendations,
        )
        return self._write(results, focus_files(mappings, plan.scenarios))

    async def _diagnose(
        self, simulation: Simulation, evaluated: Evaluated, ending: Ending
    ) -> tuple[list[UniqueError], Recommendations, Ending]:
        """Find root causes and fixes. A run that ended early asks no more questions; one that ends now says so."""
        thresholds = self.plan.config.numeric_thresholds or {}
        conversations = {each.conversation_id: each for each in simulation.conversations}
        goal_threshold = thresholds.get(GOAL_COMPLETION, PARTIAL_FAILURE_FROM)
        failures = collect_failures(evaluated.conversations, conversations, goal_threshold)
        by_id = {scenario.scenario_id: scenario for scenario in self.plan.scenarios.scenarios}
        scenario_of = {name: by_id[each.scenario_id] for name, each in conversations.items()}
        errors = find_unique_errors_plainly(failures)
        recommendations = Recommendations(recommendations=[])
        if ending.status != "COMPLETED" or not failures:
            return errors, recommendations, ending

        async def work() -> None:
            nonlocal errors, recommendations
            self.around.progress.phase("Looking for root causes")
            errors = await find_unique_errors(failures, self.llm, self._warn)
            limit = self.plan.config.max_recommendations
            sources = agent_sources(self.plan)
            recommendations = await recommend(errors, failures, scenario_of, limit, self.llm, self._warn, sources)

        status = await run_until(
            asyncio.ensure_future(work()),
            self.around.stop,
            self._seconds_left(),
            lambda early: self.llm.shut(_NEW_WORK[early]),
        )
        return errors, recommendations, Ending(status, _NEW_WORK.get(status, ""))

    def _expectation(self, simulation: Simulation, evaluated: Evaluated | None, ending: Ending) -> Expectation:
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
            ),
            judge=Judge(
                provider=plan.provider.provider,
                model=self.llm.model,
                judge_mode=plan.config.judge_mode,
                prompts_hash=prompts_hash(),
            ),
            usage=self.llm.usage(),
            warnings=[*self.warnings, *self.llm.notes()],
        )

    def _write(self, results: Results, focus: dict[str, str]) -> RunResult:
        """Write every file; what can't be written is said, and the rest is written all the same."""
        config = self.plan.config
        files: list[Path] = []
        trouble: list[str] = []
        copy_to = None if self.plan.simulation else config.output_file_path
        steps: list[Callable[[], list[Path]]] = [
            lambda: write_simulation(results, self.folder, copy_to, self.redact),
            lambda: write_results(results, focus, self.folder, self.redact),
            lambda: write_reports(results, self.context, self.folder, self.redact, html=config.generate_html_report),
        ]
        for step in steps:
            try:
                files += step()
            except OutputRefused as error:
                trouble.append(str(error))
        return RunResult(results, self.folder.path, tuple(files), tuple(trouble), self.redact)

    def _warn(self, sentence: str) -> None:
        self.warnings.append(self.redact(sentence))
        self.around.progress.note(self.redact(sentence))
