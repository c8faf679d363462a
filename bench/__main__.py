"""The benchmark's command line: `make bench`, or `python -m bench [--sizes 10,50,200] [--large] [--repeats 3]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench import load, measure, project, table, venvs

SIZES = (10, 50, 200)
LARGE = 1000
SERVED_AT_LEAST = 700


def main() -> int:
    """Measure, print the table. Returns the exit code: 1 where a run could not be measured."""
    options = _parser().parse_args()
    tools = [make() for name, make in (("peer", venvs.peer), ("ours", venvs.ours)) if options.only in (None, name)]
    sizes = [*options.sizes, LARGE] if options.large else options.sizes
    server_options = (
        f"--llm-seconds={options.llm_seconds}",
        f"--agent-seconds={options.agent_seconds}",
        f"--jitter={options.jitter}",
        f"--low-percent={options.low_percent}",
    )
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    with measure.mock_server("--llm-seconds=0") as server:
        served = asyncio.run(load.calls_per_second(server))
    print(f"The mock server serves {served:,.0f} calls a second; {SERVED_AT_LEAST} are needed.")
    print(
        f"{project.TURNS} turns a conversation, {project.WORKERS} workers; an LLM call takes {options.llm_seconds:g} s, "
        f"the agent {options.agent_seconds:g} s, ± {options.jitter:.0%}; "
        f"{options.low_percent} % of the turns have low scores.\n"
    )
    runs = []
    folder = Path(options.keep or tempfile.mkdtemp(prefix="bench-"))
    with measure.mock_server(*server_options) as server:
        for size in sizes:
            for repeat in range(options.repeats):
                for tool in tools:
                    try:
                        run = measure.run(tool, size, server, folder / f"{size}-{repeat}-{tool.name}")
                    except RuntimeError as error:
                        print(error, file=sys.stderr)
                        return 1
                    runs.append(run)
                    print(
                        f"{size} conversations, {tool.name}: {run.wall:.1f} s, CPU {run.cpu:.1f} s, {run.rss_mb:.0f} MB, "
                        f"first request after {run.start:.2f} s",
                        file=sys.stderr,
                    )
    print(table.table(runs))
    (folder / "runs.json").write_text(json.dumps([asdict(run) for run in runs], indent=1), encoding="utf-8")
    print(f"\nWhat the tools wrote, and every count: {folder}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description="ArkSim and we, side by side, against a mock server.")
    parser.add_argument("--sizes", type=_sizes, default=list(SIZES), help="conversations, multiples of 5: 10,50,200")
    parser.add_argument("--large", action="store_true", help=f"{LARGE} conversations as well: some 10 minutes a repeat")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each tool and size; the table has medians")
    parser.add_argument("--only", choices=("peer", "ours"), help="run one tool only")
    parser.add_argument("--llm-seconds", type=float, default=0.5)
    parser.add_argument("--agent-seconds", type=float, default=0.3)
    parser.add_argument("--jitter", type=float, default=0.0, help="share by which latencies vary, 0-1")
    parser.add_argument("--low-percent", type=int, default=92, help="share of turns with low scores, 0-100")
    parser.add_argument("--keep", help="folder for what the tools write, instead of a temporary one")
    return parser


def _sizes(text: str) -> list[int]:
    sizes = [int(part) for part in text.split(",")]
    if any(size < 1 or size % project.CONVERSATIONS_PER_SCENARIO for size in sizes):
        raise argparse.ArgumentTypeError(f"multiples of {project.CONVERSATIONS_PER_SCENARIO} are needed")
    return sizes


if __name__ == "__main__":
    sys.exit(main())
