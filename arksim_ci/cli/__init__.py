"""The command line: `arksim-ci COMMAND ...`."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from arksim_ci import __version__
from arksim_ci.cli.start import CancelledAtStart
from arksim_ci.config.errors import ConfigError
from arksim_ci.gates.exit_codes import EXIT_CONFIG_ERROR, EXIT_INTERNAL_ERROR

_RUN_COMMANDS = {
    "simulate": "hold the conversations and write simulation.json",
    "evaluate": "judge the conversations of an existing simulation.json",
    "simulate-evaluate": "both, each turn judged while its conversation goes on",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the arguments after the program's name; those of the process by default.

    Returns:
        The documented exit code.
    """
    options, rest = _parser().parse_known_args(argv)
    if rest and not options.parser.takes_overrides:
        options.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    command: Callable[[argparse.Namespace, list[str]], int] = getattr(import_module(options.module), options.function)
    try:
        return command(options, rest)
    except ConfigError as error:
        print_problems(error)
        return EXIT_CONFIG_ERROR
    except CancelledAtStart:
        print("arksim-ci: cancelled before the run began; nothing was written", file=sys.stderr)
        return EXIT_INTERNAL_ERROR
    except Exception as bug:
        print_bug(bug)
        return EXIT_INTERNAL_ERROR


def print_problems(error: ConfigError) -> None:
    """Print every problem of a configuration to standard error, one a line."""
    count = len(error.problems)
    print(f"arksim-ci: {count} problem{'s' if count != 1 else ''} in the configuration", file=sys.stderr)
    for problem in error.problems:
        text = str(problem).replace("\r", " ").replace("\n", "\n    ")
        print(f"  {text}", file=sys.stderr)


def print_bug(bug: Exception) -> None:
    """Print where a bug of ours is. Its own text is left out: it may hold what nobody should read."""
    print(f"arksim-ci: internal error: {type(bug).__name__}; please report it with these lines:", file=sys.stderr)
    for frame in traceback.extract_tb(bug.__traceback__):
        print(f"  {frame.filename}:{frame.lineno} in {frame.name}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arksim-ci",
        description="The quality gate for chat agents: simulated users talk to the agent, an LLM judge scores every turn, "
        "thresholds decide.",
        epilog="Exit codes: 0 every gate passed, 1 a gate failed, 2 the configuration is wrong, 3 the run could not be completed "
        "or measured.",
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action="version", version=f"arksim-ci {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, text in _RUN_COMMANDS.items():
        run = _command(commands, name, text, "arksim_ci.cli.run", "run_command", takes_overrides=True)
        run.add_argument("config", metavar="CONFIG", help="config.yaml")
        run.add_argument("--verbose", action="store_true", help="print the conversations as they go on")
        run.add_argument(
            "--fresh", action="store_true", help="start anew, also where a run of the same inputs was interrupted"
        )
    validate = _command(
        commands,
        "validate",
        "check everything without a call",
        "arksim_ci.cli.validate",
        "validate",
        takes_overrides=True,
    )
    validate.add_argument("config", metavar="CONFIG", help="config.yaml")
    report = _command(commands, "report", "render every report again", "arksim_ci.cli.report", "report")
    report.add_argument("output_dir", metavar="OUTPUT_DIR", help="the folder of a run's results")
    report.add_argument("--against", metavar="OLD_DIR", help="tell which errors of an earlier run are fixed")
    demo = _command(commands, "demo", "test a sample agent, without a key", "arksim_ci.cli.demo", "demo")
    demo.add_argument("folder", metavar="DIR", nargs="?", help="where to put it; a temporary folder by default")
    init = _command(commands, "init", "write a workflow, a config and scenarios", "arksim_ci.cli.init", "init")
    init.add_argument("folder", metavar="DIR", nargs="?", default=".", help="the project; this folder by default")
    init.add_argument("--force", action="store_true", help="overwrite files that are there")
    schema = _command(commands, "schema", "print a file's JSON Schema", "arksim_ci.cli.texts", "print_schema")
    schema.add_argument(
        "file", choices=("config", "scenarios", "simulation", "evaluation", "verdict", "recommendations")
    )
    _command(commands, "show-prompts", "print every prompt that is sent", "arksim_ci.cli.texts", "print_prompts")
    return parser


class _Parser(argparse.ArgumentParser):
    """A command's parser; where config keys may follow, its help lists them."""

    takes_overrides = False

    def format_help(self) -> str:
        text = super().format_help()
        if not self.takes_overrides:
            return text
        from arksim_ci.cli.keys import keys_text  # noqa: PLC0415  (reads every setting's description)

        return f"{text}\n{keys_text()}"


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    text: str,
    module: str,
    function: str,
    *,
    takes_overrides: bool = False,
) -> _Parser:
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)
    parser.takes_overrides = takes_overrides
    if takes_overrides:
        parser.usage = f"arksim-ci {name} CONFIG [--key value ...]"
    parser.set_defaults(module=module, function=function, command=name, parser=parser)
    return parser
