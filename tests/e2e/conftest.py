"""What end-to-end tests share: the image, the step as GitHub's runner starts it, GitHub and an LLM on this machine."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arksim_ci.pipeline.stored import load_results
from arksim_ci.reports.html import render_html_report
from arksim_ci.reports.results import Results
from tests.support.docker import Docker, docker
from tests.support.docker_action import PULL_REQUEST, Step
from tests.support.fake_github import FakeGitHub
from tests.support.fake_results_service import FakeResultsService
from tests.support.project import arksim_ci
from tests.support.report_page import chromium
from tests.support.tools import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


class Project:
    """The sample project in a repository on a fake GitHub: every step checks it out anew."""

    def __init__(self, containers: Docker, folder: Path, github: FakeGitHub, results: FakeResultsService) -> None:
        self._containers = containers
        self._folder = folder
        self.github = github
        self._results = results
        self._steps = 0

    def step(self) -> Step:
        """A step of a job for the pull request, with the sample project in `arksim/`."""
        self._steps += 1
        folder = self._folder / str(self._steps)
        folder.mkdir()
        step = Step(self._containers, folder, self.github, self._results)
        for name in ("agent.py", "config.yaml", "scenarios.json", "custom_metrics.py"):
            step.write(f"arksim/{name}", (SUPPORT_AGENT / name).read_text(encoding="utf-8"))
        return step

    def comments(self) -> list[str]:
        """The comments on the pull request."""
        return self.github.bodies(PULL_REQUEST)

    def artifact_names(self) -> list[str]:
        """What was uploaded."""
        return sorted(artifact.name for artifact in self._results.finished())

    def blob(self, name: str) -> bytes:
        """An artifact's bytes."""
        (artifact,) = [each for each in self._results.finished() if each.name == name]
        return self._results.memory.blobs[artifact.key][0]

    def zip(self, name: str) -> list[str]:
        """The names of the files in a zip artifact."""
        with zipfile.ZipFile(io.BytesIO(self.blob(name))) as archive:
            assert archive.testzip() is None
            return archive.namelist()


@pytest.fixture
def project(containers: Docker, gateway: str, tmp_path: Path) -> Iterator[Project]:
    """The sample project, its pull request, and GitHub to answer."""
    with FakeGitHub(host=gateway) as github, FakeResultsService(host=gateway) as results:
        yield Project(containers, tmp_path, github, results)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. Its driver keeps an event loop running in this thread, so it ends before other modules' tests begin."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a real run: the sample agent with its planted faults, scored by the offline provider."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    finished = arksim_ci("demo", str(folder), timeout=120)
    assert finished.code == 0, finished.err
    return folder / "results" / "evaluation"


@pytest.fixture(scope="session")
def results(demo: Path) -> Results:
    """What that run left behind."""
    return load_results(demo)


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[Results], Path]:
    """Writes the page of some results."""

    def write(found: Results) -> Path:
        path = tmp_path / "page.html"
        path.write_text(render_html_report(found), encoding="utf-8", newline="")
        return path

    return write
