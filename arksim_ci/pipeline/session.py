"""What all parts of one run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from arksim_ci import __version__
from arksim_ci.config.document import shown
from arksim_ci.llm.render import prompts_hash
from arksim_ci.output import FOCUS
from arksim_ci.pipeline.assembly import llm_of
from arksim_ci.pipeline.focus_run import focus_notes
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.stopping import Ending, Watch
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.redaction import redactor
from arksim_ci.reports.context import CommentContext, places_of
from arksim_ci.schema.verdict import Judge, Run

if TYPE_CHECKING:
    from arksim_ci.user_code.host import UserCodeHost


class Session:
    """One run: its plan, its LLM, its clock, and what a reader should know of how it went.

    Args:
        plan: a run that was checked.
        around: the outside world.
        host: runs the user's Python.
        context: what the reports say of where things are; without it, they name the configuration and the scenario file only.
    """

    def __init__(
        self, plan: Plan, around: Surroundings, host: UserCodeHost, context: CommentContext | None = None
    ) -> None:
        self.plan = plan
        self.around = around
        self.host = host
        self.redact: Callable[[str], str] = redactor(plan.secrets)
        self.llm = llm_of(plan, around)
        self.watch = Watch(around.stop, self._seconds_left, self.redact)
        self.warnings = list(plan.inputs.warnings)
        self._places = places_of(context or _local_context(plan))
        config = plan.config
        for sentence in focus_notes(config.scenario_file_path, len(plan.scenarios.scenarios), config.output_dir):
            self.warn(sentence)
        self._started = around.monotonic()
        self._started_at = around.timestamp()

    def warn(self, sentence: str) -> None:
        """Say something to whoever watches, and to whoever reads the results."""
        self.warnings.append(self.redact(sentence))
        self.around.progress.note(self.redact(sentence))

    def within_budget(self, ending: Ending) -> Ending:
        """The same ending, unless the run's budget ended it."""
        limit = self.llm.limit_reached
        return Ending("BUDGET_REACHED", limit) if limit and ending.status != "FAILED" else ending

    def run(self) -> Run:
        """What was run, until now."""
        agent = self.plan.config.agent_config
        return Run(
            agent_name=agent.agent_name if agent else "agent",
            command=self.plan.command,
            commit=self.around.commit,
            started_at=self._started_at,
            duration_seconds=round(self.around.monotonic() - self._started, 1),
            version=__version__,
            places=self._places,
        )

    def judge(self) -> Judge:
        """Who judges."""
        return Judge(
            provider=self.plan.provider.provider,
            model=self.llm.model,
            judge_mode=self.plan.config.judge_mode,
            prompts_hash=prompts_hash(),
        )

    def _seconds_left(self) -> float | None:
        """Until the run's deadline; None where there is none."""
        limit = self.plan.config.run_timeout_seconds
        return None if limit is None else max(limit - (self.around.monotonic() - self._started), 0.0)


def _local_context(plan: Plan) -> CommentContext:
    """What the reports of a run from a terminal say of where things are."""
    scenarios = plan.config.scenario_file_path
    focus = shown(plan.config.output_dir / FOCUS)
    context = CommentContext(config_path=shown(plan.inputs.loaded.path), focus_folder=focus)
    return replace(context, scenario_path=shown(scenarios)) if scenarios else context
