"""The run: conversations, judgement, diagnosis, decision, files. It knows nothing of GitHub or of a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.evaluation.build import Evaluated, build_evaluation
from arksim_ci.evaluation.focus import focus_files, map_errors_to_scenarios
from arksim_ci.evaluation.metrics import expected_metrics
from arksim_ci.gates.verdict import decide, decide_simulation
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed
from arksim_ci.output import OutputFolder, OutputRefused
from arksim_ci.pipeline.conclusion import evaluation_file, expectation
from arksim_ci.pipeline.diagnosis import Diagnosis
from arksim_ci.pipeline.files import write_all
from arksim_ci.pipeline.measuring import Measuring, closed, measure
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.record import Record, open_record
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.session import Session
from arksim_ci.pipeline.stopping import Ending
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.results import Results
from arksim_ci.schema.expectation import Expectation
from arksim_ci.schema.simulation import Simulation

if TYPE_CHECKING:
    from arksim_ci.user_code.host import UserCodeHost


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
    session = Session(plan, around, host, context)
    relay.connect(session.llm)
    folder = OutputFolder(plan.config.output_dir)
    _use(folder.check)
    with contextlib.ExitStack() as kept:
        _use(lambda: kept.enter_context(folder.alone()))
        try:
            ended = ended or await _preflight(session)
            _use(folder.clear)
            record = open_record(plan, around, folder, session.redact, resume=resume, warn=session.warn)
            try:
                measuring = await measure(session, record, ended)
                results, focus = await _conclude(session, record, measuring)
                result = _write(session, folder, results, focus)
                if not result.trouble:
                    record.decided(results.verdict)
                return result
            finally:
                record.close()
        finally:
            await closed(session.llm.close())


def _use(step: Callable[[], None]) -> None:
    """Take the output folder into use: see that it can be written to, then, once nothing stands against the run, take away
    the results of an earlier one.
    """
    try:
        step()
    except OutputRefused as error:
        raise ConfigError(Problem(str(error), key="output_dir")) from error


async def _preflight(session: Session) -> Ending | None:
    """Check key and model. Returns how the run ends where it can't go on."""
    session.around.progress.phase("Checking the provider")
    down = ""

    async def work() -> None:
        nonlocal down
        try:
            session.warnings += await session.llm.preflight()
        except PreflightFailed as error:
            raise ConfigError(Problem(session.redact(str(error)))) from error
        except LLMUnavailable as error:
            down = f"the provider can't be reached: {session.redact(str(error))}"

    ending = await session.watch.let(work(), halt=session.llm.shut)
    if ending.early:
        return ending
    return Ending("FAILED", down) if down else None


async def _conclude(session: Session, record: Record, measuring: Measuring) -> tuple[Results, dict[str, str]]:
    """Diagnose and decide. Returns the results, and the focus files by name."""
    plan, simulation = session.plan, measuring.simulation
    if plan.command == "simulate":
        expected = _expectation(session, record, simulation, None, measuring.ending)
        now = session.around.timestamp()
        verdict = decide_simulation(expected, simulation_id=simulation.simulation_id, generated_at=now)
        return Results(verdict=verdict, simulation=simulation, scenarios=plan.scenarios), {}
    metrics = expected_metrics(plan.config.metrics_to_run, plan.custom_metrics)
    evaluated = build_evaluation(simulation.conversations, measuring.measurements, metrics)
    diagnosis = Diagnosis(plan, simulation, evaluated)
    ending = await _diagnose(session, diagnosis, measuring.ending)
    scenario_of = {each.conversation_id: each.scenario_id for each in simulation.conversations}
    mappings = map_errors_to_scenarios(diagnosis.errors, scenario_of, plan.scenarios)
    evaluation = evaluation_file(
        simulation.simulation_id,
        record.evaluation_id,
        session.around.timestamp(),
        evaluated,
        diagnosis.errors,
        mappings,
    )
    results = Results(
        verdict=decide(evaluation, _expectation(session, record, simulation, evaluated, ending)),
        simulation=simulation,
        evaluation=evaluation,
        scenarios=plan.scenarios,
        recommendations=diagnosis.recommendations,
    )
    return results, focus_files(mappings, plan.scenarios)


async def _diagnose(session: Session, diagnosis: Diagnosis, ending: Ending) -> Ending:
    """Find root causes and fixes. A run that ended early asks no more questions; one that ends now says so."""
    if ending.early or not diagnosis.failures:
        return ending
    session.around.progress.phase("Looking for root causes")
    work = diagnosis.go_on(session.llm, session.warn)
    return session.within_budget(await session.watch.let(work, halt=session.llm.shut))


def _expectation(
    session: Session, record: Record, simulation: Simulation, evaluated: Evaluated | None, ending: Ending
) -> Expectation:
    return expectation(
        session.plan,
        simulation,
        evaluated,
        ending,
        run=session.run(),
        judge=session.judge(),
        usage=session.llm.usage(),
        warnings=[*session.warnings, *session.llm.notes(), *filter(None, [record.trouble()])],
    )


def _write(session: Session, folder: OutputFolder, results: Results, focus: dict[str, str]) -> RunResult:
    config = session.plan.config
    written = write_all(
        results,
        focus,
        folder,
        session.redact,
        copy_to=None if session.plan.simulation else config.output_file_path,
        html=config.generate_html_report,
    )
    return RunResult(written.results, folder.path, written.files, written.trouble, session.redact)
