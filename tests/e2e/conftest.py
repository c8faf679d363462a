"""What end-to-end tests share: the image, the step as GitHub's runner starts it, GitHub and an LLM on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.docker import Docker, docker
from tests.support.docker_action import Step
from tests.support.tools import ROOT

SUPPORT_AGENT = ROOT / "examples" / "support-agent"


@pytest.fixture(scope="session")
def containers() -> Iterator[Docker]:
    """A Docker daemon that has the action's image."""
    with docker() as daemon:
        daemon.build()
        yield daemon


@pytest.fixture(scope="session")
def gateway(containers: Docker) -> str:
    """This machine's address on the default bridge."""
    return containers.gateway()


@pytest.fixture
def serve_sample_agent(gateway: str) -> Iterator[Callable[..., int]]:
    """Starts the sample agent on this machine, as an earlier `run:` step would, and gives its port."""
    with ExitStack() as stack:

        def start(*, fixed: bool = False, host: str = "0.0.0.0") -> int:
            command = [sys.executable, "-u", str(SUPPORT_AGENT / "agent.py"), "--host", host, "--port", "0"]
            process = subprocess.Popen([*command, *(["--fixed"] if fixed else [])], stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            assert process.stdout is not None
            stack.callback(process.stdout.close)
            return int(process.stdout.readline().split(":")[2].split("/")[0])

        yield start


@pytest.fixture
def step(containers: Docker, tmp_path: Path) -> Step:
    """A step whose workspace holds the sample project in `arksim/`. No GitHub answers it."""
    return step_with_project(Step(containers, tmp_path))


def step_with_project(step: Step) -> Step:
    """The sample project, checked out."""
    for name in ("agent.py", "config.yaml", "scenarios.json", "custom_metrics.py"):
        step.write(f"arksim/{name}", (SUPPORT_AGENT / name).read_text(encoding="utf-8"))
    return step


def leftovers(containers: Docker) -> str:
    """Containers of ours that still run."""
    return containers("ps", "--quiet", "--filter", "name=arksim-")


