"""The parts of a run, built from its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arksim_ci.agents.factory import connect
from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits
from arksim_ci.pipeline.guard import Gatekeeper, RedactedConnection
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.schema.judgement import Judgement

if TYPE_CHECKING:
    from arksim_ci.user_code.host import UserCodeHost


def llm_of(plan: Plan, around: Surroundings) -> Gatekeeper:
    """The LLM of the run, with its limits."""
    config = plan.config
    free = plan.provider.provider == "offline"  # costs nothing, so a limit on cost needs no price and is never reached
    limits = Limits(
        config.num_workers,
        model=plan.provider.model,
        prices=config.prices,
        max_llm_calls=config.max_llm_calls,
        max_cost_usd=None if free else config.max_cost_usd,
        clock=around.monotonic,
        sleep=around.sleep,
    )
    return Gatekeeper(
        build_llm(plan.provider, limits, timeout_seconds=config.llm_timeout_seconds, cache_dir=config.cache_dir)
    )


def evaluator_of(
    plan: Plan, llm: Gatekeeper, host: UserCodeHost, on_measured: Callable[[Judgement], None]
) -> Evaluator:
    """The judging of the run."""
    return Evaluator(
        llm,
        metrics_to_run=plan.config.metrics_to_run,
        judge_mode=plan.config.judge_mode,
        custom_metrics=plan.custom_metrics,
        host=host,
        on_measured=on_measured,
    )


def agent_of(plan: Plan, host: UserCodeHost, around: Surroundings, redact: Callable[[str], str]) -> RedactedConnection:
    """The way to the agent.

    Raises:
        ValueError: the command has no agent.
    """
    if plan.agent is None:
        raise ValueError("a run that holds conversations needs an agent")
    api = plan.agent.api_config
    connection = connect(
        plan.agent,
        endpoint=api.endpoint if api else "",
        headers=api.headers if api else {},
        timeout_seconds=plan.config.agent_timeout_seconds,
        host=host,
        sleep=around.sleep,
        trace_receiver=plan.config.trace_receiver,
        note=lambda sentence: around.progress.note(redact(sentence)),
    )
    return RedactedConnection(connection, redact)
