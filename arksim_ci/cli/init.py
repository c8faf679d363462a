"""`init`: a workflow, a config and scenarios to start from."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from arksim_ci.cli.examples import examples_folder
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.gates.exit_codes import EXIT_OK
from arksim_ci.output import OutputRefused, write_whole

_IGNORED = "results/\n"
FILES = {
    "workflow.yml": ".github/workflows/agent-gate.yml",
    "config.yaml": "arksim/config.yaml",
    "scenarios.json": "arksim/scenarios.json",
}


def init(options: argparse.Namespace, _: list[str]) -> int:
    """Write the files, unless they are there already.

    Raises:
        ConfigError: a file is there already, or can't be written.
    """
    folder = Path(options.folder)
    targets = {name: folder / target for name, target in FILES.items()}
    there = [target for target in targets.values() if target.exists()]
    if there and not options.force:
        message = "is there already; --force overwrites it"
        raise ConfigError(*(Problem(message, source=str(target)) for target in there))
    for name, target in targets.items():
        text = (examples_folder() / "starter" / name).read_text(encoding="utf-8")
        _write(target, text)
    ignore = targets["config.yaml"].parent / ".gitignore"
    if not ignore.exists():
        _write(ignore, _IGNORED)
    config = shlex.quote(str(targets["config.yaml"]))
    print(
        f"\nNext: 1. in {config}, set the endpoint and the thresholds; in {targets['scenarios.json']}, write who your users are."
        f"\n      2. check both, without a key: arksim-ci validate {config} --provider offline"
        f"\n      3. start your agent, and try it by rules instead of an LLM: arksim-ci simulate-evaluate {config} --provider offline"
        f"\n      4. with OPENAI_API_KEY set, the real judgement: arksim-ci simulate-evaluate {config}"
        "\n      5. add the secret OPENAI_API_KEY to the repository, and open a pull request."
    )
    return EXIT_OK


def _write(target: Path, text: str) -> None:
    try:
        write_whole(target, text)
    except OutputRefused as error:
        raise ConfigError(Problem(str(error))) from error
    print(f"wrote {target}")
