"""`simulate-evaluate` and `evaluate` inside of GitHub: check, start the agent, run, publish, decide the step's exit code."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from arksim_ci.action.guest import ActionGuest
from arksim_ci.action.hand_over import hand_over
from arksim_ci.action.job import Job
from arksim_ci.action.problems import log_traceback
from arksim_ci.action.progress import WorkflowProgress
from arksim_ci.action.publication import publication_of, report_context
from arksim_ci.action.results import exit_code_of_step
from arksim_ci.action.set_up import set_up
from arksim_ci.action.settings import behind_link, checkout_problems, load, missing_secrets, overrides_of
from arksim_ci.action.stopping import CANCELLED, MOST_SECONDS, unless_stopped
from arksim_ci.action.trust import SKIPPED_TITLE, MissingSecrets, who_is_withheld, with_trust_checked
from arksim_ci.action.within_reach import within_reach
from arksim_ci.config.environment import hide_our_environment, without_tokens
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.load import Overrides, examine
from arksim_ci.config.model import RunConfig
from arksim_ci.config.variables import secrets
from arksim_ci.gates.exit_codes import EXIT_INTERNAL_ERROR, EXIT_OK
from arksim_ci.github.outputs import ending_outputs
from arksim_ci.github.ownership import give_to_owner, missing_folders
from arksim_ci.github.publish import Publisher, with_agent_log
from arksim_ci.github.workflow import Annotation
from arksim_ci.output import AGENT_LOG, FOCUS, JOURNAL, VERDICT, OutputFolder, OutputRefused
from arksim_ci.pipeline.conclusion import Ending
from arksim_ci.pipeline.preparation import Plan, prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.pipeline.run import RunResult, run
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.redaction import redactor
from arksim_ci.reports.headline import headline
from arksim_ci.reports.markdown import block
from arksim_ci.reports.sentences import PLAIN, failure_sentences
from arksim_ci.schema.verdict import Command


async def run_gate(job: Job) -> int:
    """Run the gate.

    Returns:
        The exit code of the step.

    Raises:
        ConfigError: nothing was run.
    """
    inputs, context = job.inputs, job.context
    hide_our_environment()
    trust = with_trust_checked(job.event, job.client, context.repository, allowed=inputs.allow_untrusted_code)
    event = await unless_stopped(job.world.stop, trust)
    if event is None:
        return not_begun(job, CANCELLED)
    job.event = event
    command: Command = "evaluate" if inputs.command == "evaluate" else "simulate-evaluate"
    environment = without_tokens(job.world.environment)
    overrides: list[Overrides] = []
    try:
        overrides += overrides_of(inputs, context.workspace)
        if job.event.is_withheld and (names := missing_secrets(inputs, overrides, command, environment)):
            _forget_verdict(job, command, overrides, environment)
            return _without_secrets(job, MissingSecrets(names, who_is_withheld(job.event)))
        return await _Gate(job, command, overrides, environment).run()
    except ConfigError as error:
        _forget_verdict(job, command, overrides, environment)
        raise ConfigError(*checkout_problems(context.workspace), *error.problems) from error


def not_begun(job: Job, ended: Ending) -> int:
    """End a run that came to nothing there could be a report on."""
    what = "cancelled" if ended.status == "CANCELLED" else "the set-up failed"
    cause = block(job.workflow.redact(ended.cause))
    job.workflow.end(ending_outputs(EXIT_INTERNAL_ERROR), f"## ⚠️ Not run: {what}\n\n{cause}")
    return EXIT_INTERNAL_ERROR


def _without_secrets(job: Job, missing: MissingSecrets) -> int:
    """End a run whose secrets GitHub withheld.

    Raises:
        ConfigError: that is not to be taken for a success.
    """
    if job.inputs.on_missing_secrets == "fail":
        raise ConfigError(Problem(missing.sentence, "input on-missing-secrets"))
    sentence = f"{missing.sentence}."
    job.workflow.annotate(Annotation("notice", sentence, f"arksim: {SKIPPED_TITLE}"))
    job.workflow.end(ending_outputs(EXIT_OK, "skipped"), f"## ⏭️ {SKIPPED_TITLE}\n\n{block(sentence)}")
    return EXIT_OK


def _forget_verdict(job: Job, command: Command, overrides: Sequence[Overrides], environment: Mapping[str, str]) -> None:
    """Remove an earlier verdict, so that nobody takes it for that of the run that could not begin."""
    with contextlib.suppress(ConfigError, OSError):
        loaded, _ = examine(job.inputs.config, overrides, environment=environment, command=command)
        folder, workspace = loaded.config.output_dir, job.context.workspace
        if folder.is_relative_to(workspace) and not behind_link(folder, workspace):
            (folder / VERDICT).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Gate:
    """One run of the gate."""

    job: Job
    command: Command
    overrides: list[Overrides]
    environment: dict[str, str]

    async def run(self) -> int:
        job, workspace = self.job, self.job.context.workspace
        job.workflow.group("Checking the configuration")
        config = load(job.inputs, self.overrides, self.command, self.environment, job.context).loaded.config
        hidden = secrets(config, self.environment)
        for secret in hidden:
            job.workflow.mask(secret)
        job.workflow.redact = redactor((*hidden, *job.secrets()))
        folders = (config.output_dir, config.output_dir / FOCUS, config.output_file_path.parent, config.cache_dir)
        made = missing_folders([folder for folder in folders if folder], workspace)
        try:
            _claim(OutputFolder(config.output_dir))
            result = await unless_stopped(job.world.stop, self._run(config), MOST_SECONDS) or CANCELLED
            if isinstance(result, Ending):
                return not_begun(job, result)
        except ConfigError:
            _take_back(config.output_dir, made)
            raise
        finally:
            cached = config.cache_dir.rglob("*") if config.cache_dir and config.cache_dir in made else ()
            give_to_owner((*made, *cached, config.output_dir / AGENT_LOG), workspace)
        has_log = bool(job.inputs.setup_command or job.inputs.agent_command)
        files = with_agent_log(result.folder, result.files) if has_log else result.files
        give_to_owner((*files, result.folder / JOURNAL), workspace)
        try:
            await self._publish(config, result, files)
        except Exception as error:  # what a run came to does not change because it could not be shown
            log_traceback(error, job.workflow)
            job.workflow.warning("publishing broke off through a bug of the action; the log has the details")
            job.workflow.end(ending_outputs(result.exit_code))
        return self._exit_code(result)

    async def _run(self, config: RunConfig) -> RunResult | Ending:
        """Run between set-up and clean-up; how it ended, where that was so early that there is nothing to report on."""
        job, relay = self.job, LLMRelay()
        world = job.world
        guest = ActionGuest(relay, self.environment, world.user_venv, world.job_python, job.workflow.log)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(guest.close)
            ended = await set_up(job, config, self.command, self.environment, stack)
            plan = await self._plan(guest, ended)
            if plan is None:
                return ended or CANCELLED
            if ended is None:
                found = await unless_stopped(world.stop, within_reach(job, plan))
                plan, ended = found or (plan, CANCELLED)
            return await run(
                plan,
                self._surroundings(),
                guest.host(config),
                relay,
                ended=ended,
                context=report_context(job, config),
            )

    async def _plan(self, guest: ActionGuest, ended: Ending | None) -> Plan | None:
        """Check the rest, the user's Python included; None where that can't be, because the set-up failed.

        Raises:
            ConfigError: with every problem.
        """
        given = self.job.inputs
        try:
            plan = await prepare(
                given.config, self.overrides, self.command, self.environment, guest.host, api_key=given.api_key
            )
        except ConfigError:
            if ended is None:
                raise
            return None
        return replace(plan, secrets=tuple(dict.fromkeys((*plan.secrets, *self.job.secrets()))))

    def _surroundings(self) -> Surroundings:
        world = self.job.world
        return Surroundings(
            environment=self.environment,
            progress=WorkflowProgress(self.job.workflow, world.monotonic),
            now=world.now,
            monotonic=world.monotonic,
            sleep=world.sleep,
            new_id=world.new_id,
            commit=self.job.commit or None,
            stop=world.stop,
        )

    async def _publish(self, config: RunConfig, result: RunResult, files: tuple[Path, ...]) -> None:
        job = self.job
        for sentence in result.trouble:
            job.workflow.annotate(Annotation("error", sentence, "arksim: a result could not be written"))
        publication = publication_of(job, config, result, files)
        if job.world.later:
            hand_over(job, publication, result.redact, job.world.later)
        else:
            publisher = Publisher(
                job.workflow, job.event, job.context.repository, job.client, job.uploader(), result.redact
            )
            await publisher.publish(publication, job.world.stop)
        head = headline(result.results)
        for text in (f"{head.title}. {head.lead}".strip(), *failure_sentences(result.results, PLAIN)):
            job.workflow.log(text)

    def _exit_code(self, result: RunResult) -> int:
        wanted, written = self.job.inputs.fail_on_gate, not result.trouble
        code = exit_code_of_step(result.results.verdict, result.exit_code, fail_on_gate=wanted, written=written)
        if code != result.exit_code:
            self.job.workflow.log(
                f"The gate's exit code is {result.exit_code}; with fail-on-gate: false the step ends with {code}"
            )
        return code


def _claim(folder: OutputFolder) -> None:
    """See that results can be written; what lies there from a pull request is never taken for ours.

    Raises:
        ConfigError: they can't.
    """
    try:
        folder.check()
        for name in (AGENT_LOG, VERDICT):
            (folder.path / name).unlink(missing_ok=True)
    except OutputRefused as error:
        raise ConfigError(Problem(str(error), key="output_dir")) from error
    except OSError as error:
        raise ConfigError(
            Problem(f"{error.filename} of an earlier run can't be deleted ({error.strerror})", key="output_dir")
        ) from error


def _take_back(folder: Path, made: Sequence[Path]) -> None:
    """Leave nothing of a run that turned out to be wrongly configured: its agent's log, and the folders that were made for it."""
    with contextlib.suppress(OSError):
        (folder / AGENT_LOG).unlink(missing_ok=True)
    for each in sorted(made, reverse=True):
        with contextlib.suppress(OSError):  # somebody else's file is in it
            each.rmdir()
