"""`demo`: the whole job on a sample agent, with rules instead of an LLM, so without a key."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from arksim_ci.cli.examples import examples_folder
from arksim_ci.cli.run import run_it
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.overrides import Overrides
from arksim_ci.gates.exit_codes import EXIT_EVAL_FAILED, EXIT_INTERNAL_ERROR, EXIT_OK

_STARTUP_SECONDS = 15.0


def demo(options: argparse.Namespace, _: list[str]) -> int:
    """Start the sample agent, test it, and print the comment that a reviewer would see.

    Returns:
        0 where the demo worked, whatever it found; the faults of the sample agent are there to be found.

    Raises:
        ConfigError: the folder can't be used.
    """
    folder = Path(options.folder or tempfile.mkdtemp(prefix="arksim-demo-")).absolute()
    _copy_sample(folder)
    port = _free_port()
    # What the sample's config says, whatever the variable LLM_PROVIDER says.
    values = {
        "agent_config.api_config.endpoint": f"http://127.0.0.1:{port}/v1/chat/completions",
        "provider": "offline",
    }
    with _agent(folder / "agent.py", port):
        overrides = [Overrides(values, "the demo", folder)]
        result = run_it(folder / "config.yaml", overrides, "simulate-evaluate")
    from arksim_ci.reports.comment import render_comment  # noqa: PLC0415
    from arksim_ci.reports.context import CommentContext  # noqa: PLC0415

    context = CommentContext(config_path="config.yaml", focus_folder=str(result.folder / "focus"))
    print("The comment on the pull request:\n")
    print(render_comment(result.results, context))
    print(f"The HTML report: {(result.folder / 'final_report.html').as_uri()}")
    print(f"As a gate, this run would end with exit code {result.exit_code}.")
    return EXIT_OK if result.exit_code in (EXIT_OK, EXIT_EVAL_FAILED) else EXIT_INTERNAL_ERROR


def _copy_sample(folder: Path) -> None:
    """Put the sample's files into the folder.

    Raises:
        ConfigError: other files of these names are there already, or the folder can't be used.
    """
    sources = [path for path in (examples_folder() / "support-agent").iterdir() if path.is_file()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            target = folder / source.name
            if target.exists() and target.read_bytes() != source.read_bytes():
                raise ConfigError(
                    Problem("is there already, and is not the sample's; give an empty folder", str(target))
                )
        for source in sources:
            shutil.copyfile(source, folder / source.name)
    except OSError as error:
        raise ConfigError(Problem(f"can't be used: {error.strerror}", str(folder))) from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _agent(script: Path, port: int) -> Iterator[None]:
    """The sample agent, from when it answers until the end of the block."""
    process = subprocess.Popen(  # noqa: S603  (our own example)
        [sys.executable, "-I", str(script), "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + _STARTUP_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the sample agent did not start: {script}")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(10)
