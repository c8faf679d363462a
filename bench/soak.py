"""Thousands of conversations against a server that fails in 5 % of all requests, in every way that it knows.

`python -m bench.soak` writes `docs/soak.json`, which `make docs` makes a table of. It needs what the tests need, and a few minutes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.support.fault_server import FaultServer
from tests.support.faults import LLM_ROLES, SLOW, Fault, Role, Struck, applies
from tests.support.project import Project, command_line, scenario

RATE = 0.05
SCENARIOS = 40
SECONDS_BETWEEN_SAMPLES = 2.0
RESULT = Path(__file__).parents[1] / "docs" / "soak.json"
GATES = {
    "numeric_thresholds": {"faithfulness": 3.5},
    "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
    "max_never_spoke_share": 0.5,
}


@dataclass
class Sampled:
    """What a process used, from second to second."""

    seconds: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)


def faults() -> Iterator[Struck]:
    """Every role that is part of a run, struck by every kind that applies to it."""
    for role in (*LLM_ROLES, Role.AGENT):
        kinds = tuple(fault for fault in Fault if applies(fault, role))
        yield Struck(role, kinds, RATE)


def serve(pipe: Connection) -> None:
    """Run the server in a process of its own until told to end; then tell what it did."""
    with FaultServer() as server:
        server.strike(*faults())
        pipe.send(server.port)
        pipe.recv()
        requests = {role: len(asked) for role, asked in server.requests.items()}
        struck: dict[str, int] = {}
        for (role, _), count in server.faults.counts.items():
            struck[role.value] = struck.get(role.value, 0) + count
        kinds = len({fault for _, fault in server.faults.counts})
        slow = sum(count for (_, fault), count in server.faults.counts.items() if fault in SLOW)
        pipe.send({"requests": requests, "struck": struck, "kinds": kinds, "slow": slow})


def soak(conversations: int, workers: int) -> dict[str, Any]:
    """Run once, sampling memory and descriptors; returns what docs/soak.json holds."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    server = _At(ours.recv())
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), server)  # type: ignore[arg-type]
        subjects = ("shoes", "hats", "coats")
        project.scenarios = [
            scenario(
                f"s{number}",
                goal=f"Case {number}. You want to know how many days you have to return {subjects[number % 3]}.",
            )
            for number in range(SCENARIOS)
        ]
        project.config |= GATES | {
            "num_conversations_per_scenario": conversations // SCENARIOS,
            "num_workers": workers,
            "llm_timeout_seconds": 2,
            "agent_timeout_seconds": 2,
        }
        sampled, code, seconds = _sampled(project)
        verdict = json.loads((project.output_dir / "verdict.json").read_text(encoding="utf-8"))
        simulation = json.loads((project.output_dir / "simulation.json").read_text(encoding="utf-8"))
    ours.send("end")
    served = ours.recv()
    process.join(10)
    silent = [each for each in simulation["conversations"] if each.get("agent_silence")]
    return {
        "conversations": len(simulation["conversations"]),
        "workers": workers,
        "rate": RATE,
        "seconds": round(seconds, 1),
        "exit_code": code,
        "failures": sorted({failure["type"] for failure in verdict["failures"]}),
        "coverage": verdict["coverage"],
        "attempts": verdict["attempts"],
        "agent_silent": len(silent),
        "retries": {role: used["retries"] for role, used in verdict["usage"].items()},
        "calls": {role: used["calls"] for role, used in verdict["usage"].items()},
        "served": served,
        "memory_mb": _tenths(sampled.memory_mb),
        "descriptors": _tenths(sampled.descriptors),
        "sampled_seconds": _tenths(sampled.seconds),
    }


@dataclass(frozen=True)
class _At:
    """Where the server is; what `Project` needs of one."""

    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def agent_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"


def _sampled(project: Project) -> tuple[Sampled, int, float]:
    """Run the command line, and look at its process every few seconds."""
    sampled = Sampled()
    started = time.monotonic()
    with (project.folder / "log").open("w") as log:
        running = subprocess.Popen(
            command_line("simulate-evaluate", str(project.write())), stdout=log, stderr=log, cwd=project.folder
        )
        while running.poll() is None:
            try:
                status = Path(f"/proc/{running.pid}/status").read_text(encoding="ascii")
                descriptors = sum(1 for _ in Path(f"/proc/{running.pid}/fd").iterdir())
            except OSError:  # it has just ended
                break
            memory = next((line for line in status.splitlines() if line.startswith("VmRSS")), "VmRSS 0")
            sampled.seconds.append(time.monotonic() - started)
            sampled.memory_mb.append(int(memory.split()[1]) / 1024)
            sampled.descriptors.append(descriptors)
            time.sleep(SECONDS_BETWEEN_SAMPLES)
        code = running.wait()
    return sampled, code, time.monotonic() - started


def _tenths(values: list[Any]) -> list[float]:
    """The value at every tenth of the run, the last one included."""
    if not values:
        return []
    return [round(float(values[min(len(values) - 1, step * (len(values) - 1) // 10)]), 1) for step in range(11)]


def main() -> int:
    """Soak, and write what was measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--conversations", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    measured = soak(options.conversations, options.workers)
    options.out.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(measured, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
