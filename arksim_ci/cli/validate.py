"""`validate`: all checks, no call."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from arksim_ci.cli.start import overrides_of
from arksim_ci.config.environment import process_environment
from arksim_ci.gates.exit_codes import EXIT_OK
from arksim_ci.pipeline.preparation import Plan, prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.process import Guest


def validate(options: argparse.Namespace, arguments: list[str]) -> int:
    """Check a configuration and everything that it names.

    Raises:
        ConfigError: with every problem.
    """
    plan = asyncio.run(_check(Path(options.config), arguments))
    for warning in plan.inputs.warnings:
        print(f"warning: {warning}")
    scenarios = len(plan.scenarios.scenarios)
    if plan.simulation:
        work = f"{len(plan.simulation.conversations)} conversations of {scenarios} scenarios to judge"
    else:
        count = scenarios * plan.config.num_conversations_per_scenario
        work = f"{scenarios} scenarios, {count} conversations of up to {plan.config.max_turns} turns"
    custom = (
        f", custom metrics: {', '.join(metric.name for metric in plan.custom_metrics)}" if plan.custom_metrics else ""
    )
    print(f"{options.config} is valid for {plan.command}: {work}{custom}")
    return EXIT_OK


async def _check(path: Path, arguments: list[str]) -> Plan:
    async with Guest(LLMRelay(), print) as guest:
        return await prepare(path, overrides_of(arguments), "validate", process_environment(), guest.host)
