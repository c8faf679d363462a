"""`simulate`, `evaluate` and `simulate-evaluate`: the run from a terminal."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci.cli.start import RunBroke, overrides_of, run_until_signal, unless_stopped
from arksim_ci.config.environment import process_environment
from arksim_ci.config.errors import ConfigError
from arksim_ci.output import JOURNAL
from arksim_ci.pipeline.preparation import prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.process import Guest, forget_verdict, real_surroundings
from arksim_ci.redaction import redactor

if TYPE_CHECKING:
    from arksim_ci.cli.progress import PlainProgress
    from arksim_ci.config.overrides import Overrides
    from arksim_ci.pipeline.run import RunResult
    from arksim_ci.schema.verdict import Command


def run_command(options: argparse.Namespace, arguments: list[str]) -> int:
    """Run what the command line says, and print the closing block.

    Raises:
        ConfigError: with every problem.
    """
    config = Path(options.config)
    result = run_it(
        config,
        overrides_of(arguments),
        options.command,
        resume=not options.fresh,
        verbose=options.verbose,
    )
    _show(result, config)
    return result.exit_code


def run_it(
    path: Path, overrides: Sequence[Overrides], command: Command, *, resume: bool = True, verbose: bool = False
) -> RunResult:
    """Run, showing progress on standard error.

    Args:
        path: config.yaml.
        overrides: settings that beat the file.
        command: what is run.
        resume: whether an interrupted run of the same inputs is continued.
        verbose: whether the conversations are printed.

    Raises:
        CancelledAtStart: a signal came before the run had begun.
        ConfigError: with every problem. An old verdict.json is removed then, where the folder is known.
    """
    try:
        result = run_until_signal(lambda stop: _run(path, overrides, command, stop, resume=resume, verbose=verbose))
    except ConfigError:
        forget_verdict(path, overrides, command)
        raise
    for sentence in result.trouble:
        print(f"error: {result.redact(sentence)}", file=sys.stderr)
    return result


def _show(result: RunResult, config: Path) -> None:
    """Print the closing block, and which command comes next."""
    from rich.console import Console  # noqa: PLC0415

    from arksim_ci.cli.closing import file_lines, rerun_command  # noqa: PLC0415
    from arksim_ci.pipeline.record import is_complete  # noqa: PLC0415
    from arksim_ci.reports.terminal import closing_block  # noqa: PLC0415

    files = file_lines(result.folder, result.files)
    Console(highlight=False, soft_wrap=True).print(closing_block(result.results, files))
    if command := rerun_command(config, result.folder, result.files):
        print(f"Rerun only what failed: {result.redact(command)}")
    if not is_complete(result.results.verdict) and (result.folder / JOURNAL).is_file():
        print("Start the same command again to go on where this run stopped: nothing that is finished is asked twice.")


async def _run(
    path: Path, overrides: Sequence[Overrides], command: Command, stop: asyncio.Event, *, resume: bool, verbose: bool
) -> RunResult:
    relay = LLMRelay()
    async with Guest(relay, lambda line: print(line, file=sys.stderr)) as guest:
        plan = await unless_stopped(prepare(path, overrides, command, process_environment(), guest.host), stop)
        from arksim_ci.pipeline.run import run  # noqa: PLC0415  (a configuration error does not pay for it)
        from arksim_ci.pipeline.stopping import describe  # noqa: PLC0415

        progress = _progress(plan.secrets, verbose=verbose)
        logging.basicConfig(level=logging.ERROR, stream=sys.stderr, format="%(levelname)s %(message)s")
        try:
            return await run(plan, real_surroundings(progress, stop), guest.host(plan.config), relay, resume=resume)
        except ConfigError:
            raise
        except Exception as bug:
            raise RunBroke(redactor(plan.secrets)(describe(bug))) from bug
        finally:
            progress.close()


def _progress(secrets: Sequence[str], *, verbose: bool) -> PlainProgress:
    from arksim_ci.cli.progress import BarProgress, PlainProgress  # noqa: PLC0415

    redact = redactor(secrets)
    if sys.stderr.isatty() and not verbose:
        return BarProgress(sys.stderr, redact=redact)
    return PlainProgress(sys.stderr, verbose=verbose, redact=redact)
