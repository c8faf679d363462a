"""`validate`: all checks, no call."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci.cli.start import overrides_of
from arksim_ci.config.environment import process_environment
from arksim_ci.gates.exit_codes import EXIT_OK
from arksim_ci.pipeline.preparation import Plan, prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.process import Guest
from arksim_ci.reports.figures import count
from arksim_ci.schema.vocabulary import BUILTIN_METRICS, GOAL_COMPLETION

if TYPE_CHECKING:
    from arksim_ci.config.model import RunConfig
    from arksim_ci.schema.simulation import Simulation


def validate(options: argparse.Namespace, arguments: list[str]) -> int:
    """Check a configuration and everything that it names.

    Raises:
        ConfigError: with every problem.
    """
    plan = asyncio.run(_check(Path(options.config), arguments))
    for warning in plan.inputs.warnings:
        print(f"warning: {warning}")
    scenarios = count(len(plan.scenarios.scenarios), "scenario")
    if plan.simulation:
        work = f"{count(len(plan.simulation.conversations), 'conversation')} of {scenarios} to judge"
    else:
        held = len(plan.scenarios.scenarios) * plan.config.num_conversations_per_scenario
        work = f"{scenarios}, {count(held, 'conversation')} of up to {count(plan.config.max_turns, 'turn')}"
    custom = (
        f", custom metrics: {', '.join(metric.name for metric in plan.custom_metrics)}" if plan.custom_metrics else ""
    )
    print(f"{options.config} is valid for {plan.command}: {work}{custom}")
    users, judge = most_calls(plan.config, plan.simulation, len(plan.scenarios.scenarios))
    if plan.provider.provider == "offline":
        print("The offline provider judges by rules: no LLM call, no cost.")
    else:
        print(
            f"At most {users + judge:,} LLM calls: {users:,} for the simulated users, {judge:,} for the judge; besides retries, what "
            "custom metrics ask, and the analysis of what failed."
        )
    return EXIT_OK


def most_calls(config: RunConfig, simulation: Simulation | None, scenarios: int) -> tuple[int, int]:
    """How many requests the simulated users and the judge take at most, where nothing has to be asked again.

    Args:
        config: the settings.
        simulation: the conversations, where they were held before.
        scenarios: how many scenarios there are.
    """
    held = scenarios * config.num_conversations_per_scenario
    if simulation:
        held, turns, users = (
            len(simulation.conversations),
            sum(len(each.turns()) for each in simulation.conversations),
            0,
        )
    else:
        turns = users = held * config.max_turns
    of_turns = [name for name in config.metrics_to_run if name in BUILTIN_METRICS and name != GOAL_COMPLETION]
    a_turn = len(of_turns) if config.judge_mode == "per_metric" else min(len(of_turns), 1)
    return users, turns * a_turn + held * (GOAL_COMPLETION in config.metrics_to_run)


async def _check(path: Path, arguments: list[str]) -> Plan:
    async with Guest(LLMRelay(), print) as guest:
        return await prepare(path, overrides_of(arguments), "validate", process_environment(), guest.host)
