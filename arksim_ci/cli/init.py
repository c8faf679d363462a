"""`init`: a workflow, a config and scenarios to start from."""

from __future__ import annotations

import argparse
from pathlib import Path

from arksim_ci.cli.examples import examples_folder
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.gates.exit_codes import EXIT_OK
from arksim_ci.output import OutputRefused, write_whole

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
        try:
            write_whole(target, text)
        except OutputRefused as error:
            raise ConfigError(Problem(str(error))) from error
        print(f"wrote {target}")
    config = targets["config.yaml"]
    print(
        f"\nNext: 1. in {config}, set the endpoint and the thresholds; in {targets['scenarios.json']}, write who your users are."
        f"\n      2. check both: arksim-ci validate {config}"
        "\n      3. add the secret OPENAI_API_KEY to the repository, and open a pull request."
    )
    return EXIT_OK
