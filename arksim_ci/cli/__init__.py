"""The command line: `arksim-ci COMMAND ...`."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from arksim_ci import __version__
from arksim_ci.cli.start import CancelledAtStart, RunBroke
from arksim_ci.config.errors import ConfigError
from arksim_ci.gates.exit_codes import EXIT_CONFIG_ERROR, EXIT_INTERNAL_ERROR
from arksim_ci.process import collect_garbage_rarely

_RUN_COMMANDS = {
    "simulate": "hold the conversations and write simulation.json",
    "evaluate": "judge the conversations of an existing simulation.json",
    "simulate-evaluate": "hold the conversations and judge each turn while they go on",
}
_WRONG = "2 something in the configuration, or in a file that it names, is wrong: every problem is listed, nothing was spent or written"
_CODES_OF_A_RUN = (
    "0 the run was completed, everything that the gates read was measured, and every gate passed",
    "1 a gate failed, or the agent never spoke or stopped answering in more test cases than allowed",
    _WRONG,
    "3 the run could not be completed or measured, and no gate had failed by then",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the arguments after the program's name; those of the process by default.

    Returns:
        The documented exit code.
    """
    collect_garbage_rarely()
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
    except RunBroke as broke:
        print_bug(broke.__cause__ or broke, str(broke))
        return EXIT_INTERNAL_ERROR
    except Exception as bug:
        print_bug(bug)
        return EXIT_INTERNAL_ERROR


def print_problems(error: ConfigError) -> None:
    """Print every problem of a configuration to standard error, one a line."""
    from arksim_ci.reports.safe_text import log_text  # noqa: PLC0415  (needed only where something is wrong)

    count = len(error.problems)
    print(f"arksim-ci: {count} problem{'s' if count != 1 else ''}; nothing was spent or written", file=sys.stderr)
    for problem in error.problems:
        text = log_text(str(problem)).replace("\n", "\n    ")
        print(f"  {text}", file=sys.stderr)


def print_bug(bug: BaseException, text: str = "") -> None:
    """Print where a bug of ours is.

    Args:
        bug: what was raised. Its own text is left out: it may hold what nobody should read.
        text: what it says, with every secret replaced, where the secrets are known.
    """
    from arksim_ci.reports.safe_text import log_text  # noqa: PLC0415  (needed only where something is wrong)

    name = log_text(text) or type(bug).__name__
    print(f"arksim-ci: internal error: {name}; please report it with these lines:", file=sys.stderr)
    for frame in traceback.extract_tb(bug.__traceback__):
        print(f"  {frame.filename}:{frame.lineno} in {frame.name}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arksim-ci",
        description="The quality gate for chat agents: simulated users talk to the agent, an LLM judge scores every turn, "
        "thresholds decide.",
        epilog="Exit codes: 0 every gate passed, 1 a gate failed, 2 the configuration is wrong, 3 the run could not be completed "
        "or measured. `arksim-ci COMMAND --help` tells everything about a command.",
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action="version", version=f"arksim-ci {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, text in _RUN_COMMANDS.items():
        run = _command(commands, name, text, "arksim_ci.cli.run", "run_command", _CODES_OF_A_RUN, takes_overrides=True)
        run.add_argument("config", metavar="CONFIG", help="config.yaml")
        run.add_argument("--verbose", action="store_true", help="print the conversations as they go on")
        run.add_argument(
            "--fresh", action="store_true", help="start anew, also where a run of the same inputs was interrupted"
        )
    validate = _command(
        commands,
        "validate",
        "check the configuration and every file that it names, without a call",
        "arksim_ci.cli.validate",
        "validate",
        ("0 nothing is wrong", "2 something is wrong: every problem is listed"),
        takes_overrides=True,
    )
    validate.add_argument("config", metavar="CONFIG", help="config.yaml")
    done = ("0 done", "2 an argument is wrong, or a file can't be read or written")
    text = "render every report again from the JSON files of a run"
    report = _command(commands, "report", text, "arksim_ci.cli.report", "report", done)
    report.add_argument("output_dir", metavar="OUTPUT_DIR", help="the folder of a run's results")
    report.add_argument("--against", metavar="OLD_DIR", help="tell which errors of an earlier run are fixed")
    codes = ("0 the demo worked, whatever it found", "2 the folder can't be used", "3 the demo could not be completed")
    text = "test a sample agent with sample scenarios, by rules instead of an LLM, without a key"
    demo = _command(commands, "demo", text, "arksim_ci.cli.demo", "demo", codes)
    demo.add_argument("folder", metavar="DIR", nargs="?", help="where to put it; a temporary folder by default")
    text = "write a workflow, config.yaml and scenarios.json to start from"
    init = _command(commands, "init", text, "arksim_ci.cli.init", "init", ("0 done", "2 a file is there already"))
    init.add_argument("folder", metavar="DIR", nargs="?", default=".", help="the project; this folder by default")
    init.add_argument("--force", action="store_true", help="overwrite files that are there")
    text = "print the JSON Schema of a kind of file"
    schema = _command(commands, "schema", text, "arksim_ci.cli.texts", "print_schema", done)
    schema.add_argument(
        "file", choices=("config", "scenarios", "simulation", "evaluation", "verdict", "recommendations")
    )
    text = "print every prompt that is sent"
    _command(commands, "show-prompts", text, "arksim_ci.cli.texts", "print_prompts", ("0 done",))
    return parser


class _Parser(argparse.ArgumentParser):
    """A command's parser. Its help lists the exit codes and, where config keys may follow, those."""

    takes_overrides = False
    exit_codes: Sequence[str] = ()

    def format_help(self) -> str:
        text = super().format_help()
        if self.takes_overrides:
            from arksim_ci.cli.keys import keys_text  # noqa: PLC0415  (reads every setting's description)

            text += f"\n{keys_text()}"
        codes = "\n".join(f"  {code}" for code in self.exit_codes)
        return f"{text}\nexit codes:\n{codes}\n" if codes else text


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    text: str,
    module: str,
    function: str,
    exit_codes: Sequence[str],
    *,
    takes_overrides: bool = False,
) -> _Parser:
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)
    parser.takes_overrides, parser.exit_codes = takes_overrides, exit_codes
    if takes_overrides:
        parser.usage = f"arksim-ci {name} CONFIG [--key value ...]"
    parser.set_defaults(module=module, function=function, command=name, parser=parser)
    return parser
