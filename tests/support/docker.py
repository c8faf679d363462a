"""Docker for the end-to-end tests: a daemon, the base image, our image."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from arksim_ci.agents.reach import gateway_of
from tests.support.tools import CACHE, ROOT, missing

IMAGE = "arksim-action:e2e"
_BASE = "python:3.13-slim"


class Docker:
    """The docker command line, at one daemon."""

    def __init__(self, host: str | None) -> None:
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "DOCKER_CLI_HINTS": "false",
        }
        if host:
            self.environment["DOCKER_HOST"] = host

    def __call__(self, *arguments: str, timeout: float = 120, check: bool = True) -> str:
        """Run `docker ARGUMENTS` and return what it prints."""
        done = subprocess.run(
            ["docker", *arguments], env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"docker {arguments[0]}: {done.stderr.strip()[-2000:]}")
        return done.stdout.strip()

    def answers(self) -> bool:
        """Whether there is a daemon."""
        try:
            return bool(self("info", "--format", "{{.ServerVersion}}", timeout=20, check=False))
        except (OSError, subprocess.SubprocessError):
            return False

    def gateway(self) -> str:
        """The address under which a container on the default bridge reaches this machine."""
        return gateway_of(self("run", "--rm", "--entrypoint", "cat", _BASE, "/proc/net/route"))

    def build(self) -> None:
        """Build the action's image; the base image is made of Debian packages where none can be pulled."""
        if not self("image", "ls", "--quiet", _BASE) and not self("pull", "--quiet", _BASE, check=False):
            if not shutil.which("mmdebstrap") or os.geteuid() != 0:
                missing(f"{_BASE} can't be pulled, and mmdebstrap, run as root, is not there to make one")
            self._run([str(ROOT / ".ci" / "base-image")], "the base image can't be made")
        network = ["--network", "host"]  # the packages come the way that this machine reaches them
        self._run(["docker", "build", *network, "--tag", IMAGE, str(ROOT)], "the image can't be built")

    def _run(self, command: list[str], failure: str) -> None:
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, f"{failure}: {done.stdout[-1500:]}\n{done.stderr[-1500:]}"


@contextlib.contextmanager
def docker() -> Iterator[Docker]:
    """The daemon that is there, or one of our own for as long as it is needed; its images stay in `.cache`."""
    present = Docker(os.environ.get("DOCKER_HOST"))
    if not shutil.which("docker"):
        missing("the docker command line is not installed (Debian: docker.io)")
    if present.answers():
        yield present
        return
    if not shutil.which("dockerd") or os.geteuid() != 0:
        missing("no Docker daemon answers, and only root with dockerd installed (Debian: docker.io) can start one here")
    folder = CACHE / "e2e"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "docker.lock").open("w") as lock, tempfile.TemporaryDirectory(prefix="arksim-docker-") as temporary:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two daemons can't share one folder
        with _daemon(folder / "docker", Path(temporary)) as own:
            yield own


@contextlib.contextmanager
def _daemon(data: Path, temporary: Path) -> Iterator[Docker]:
    """A daemon of our own. Its socket and its state lie in a folder with a short name: paths of sockets are limited."""
    own = Docker(f"unix://{temporary}/docker.sock")
    log = temporary / "log"
    command = ["dockerd", "--data-root", str(data), "--exec-root", f"{temporary}/exec"]
    command += ["--pidfile", f"{temporary}/pid", "--host", own.environment["DOCKER_HOST"]]
    with log.open("wb") as output:
        daemon = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not own.answers():
            if daemon.poll() is not None or time.monotonic() > deadline:
                _no_daemon(log)
            time.sleep(0.2)
        yield own
    finally:
        daemon.terminate()
        try:
            daemon.wait(30)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _no_daemon(log: Path) -> NoReturn:
    missing(f"dockerd does not start on this machine: {log.read_text(errors='replace').strip()[-600:]}")


def run_arguments(image: str, mounts: Mapping[Path, str], variables: Mapping[str, str], name: str) -> list[str]:
    """The arguments of `docker` with which GitHub's runner starts a container action: no terminal, no input, the default bridge.

    The variables' values come from the environment of the docker command line, as the runner passes them: so they may have any name.
    """
    arguments = ["run", "--name", name, "--workdir", "/github/workspace", "--rm"]
    for variable in variables:
        arguments += ["-e", variable]
    for folder, inside in mounts.items():
        arguments += ["-v", f"{folder}:{inside}"]
    return [*arguments, image]
