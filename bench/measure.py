"""Run one tool once, and say what it cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import project
from bench.venvs import ROOT, Tool


@dataclass(frozen=True, slots=True)
class Run:
    """One run's cost. CPU is user and system time of the tool's process and its children, RSS the largest of them."""

    tool: str
    conversations: int
    wall: float
    cpu: float
    rss_mb: float
    start: float
    """Seconds from the start of the process to its first conversation's first request."""
    stats: dict[str, Any]
    """What the mock server counted."""

    def calls(self, role: str) -> int:
        """LLM calls of a role."""
        return int(self.stats["roles"][role]["calls"])

    def tokens(self, kind: str) -> int:
        """`prompt_tokens`, `cached_tokens` or `output_tokens` of all roles."""
        return sum(int(counts[kind]) for counts in self.stats["roles"].values())

    @property
    def chain(self) -> float:
        """Seconds that the longest conversation took, the judging of its end, root causes and recommendations after it."""
        calls = sum(self.calls(role) for role in self.stats["roles"])
        steps_after = 3 if self.calls("analysis") else 1
        return float(self.stats["longest_chain_seconds"] + steps_after * self.stats["llm_seconds"] / calls)

    @property
    def work(self) -> float:
        """Seconds that the LLM takes for all calls, with every worker busy all the time."""
        return float(self.stats["llm_seconds"]) / project.WORKERS


@contextmanager
def mock_server(*options: str) -> Iterator[str]:
    """The mock server in a process of its own. Gives its address."""
    command = [sys.executable, "-m", "bench.mock_server", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def fetch(url: str) -> Any:
    """The JSON that a GET returns."""
    with urllib.request.urlopen(url, timeout=10) as response:
        return json.load(response)


def run(tool: Tool, conversations: int, server: str, folder: Path) -> Run:
    """Run `simulate-evaluate` over so many conversations in a new folder.

    Raises:
        RuntimeError: the tool failed, or did not judge every turn: its figures would say nothing.
    """
    config = project.write(folder, conversations, server)
    fetch(f"{server}/reset")
    with (folder / "log.txt").open("w") as log:
        started_at, started = time.time(), time.monotonic()
        process = subprocess.Popen(
            [*tool.command, "simulate-evaluate", str(config)],
            cwd=folder,
            env=_environment(server),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    stats = fetch(f"{server}/stats")
    turns = project.judged_turns(folder)
    if process.returncode or turns != conversations * project.TURNS or stats["unknown_requests"]:
        raise RuntimeError(
            f"{tool.name} ended with {process.returncode} and judged {turns} of {conversations * project.TURNS} turns; "
            f"see {folder / 'log.txt'}"
        )
    return Run(
        tool=tool.name,
        conversations=conversations,
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        rss_mb=usage.ru_maxrss / 1024,
        start=stats["first_request_at"] - started_at,
        stats=stats,
    )


def cpu_of(command: Sequence[str], server: str = "") -> tuple[float, float]:
    """CPU and wall seconds of a command, whatever its exit code."""
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env=_environment(server), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started


def _environment(server: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-mock-key", "OPENAI_BASE_URL": f"{server}/v1"}
