"""Docker for the end-to-end tests: a daemon, the base image, our image."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from arksim_ci.agents.reach import gateway_of
from tests.support.tools import CACHE, ROOT, missing

IMAGE = "arksim-action:e2e"
_BASE = "python:3.13-slim"
_FOLDER = CACHE / "e2e"


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
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with _locked("build"):
            self._build()

    def _build(self) -> None:
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
    """The daemon that is there, or one of our own, shared by all test processes; its images stay in `.cache`."""
    present = Docker(os.environ.get("DOCKER_HOST"))
    if not shutil.which("docker"):
        missing("the docker command line is not installed (Debian: docker.io)")
    if present.answers():
        yield present
        return
    if not shutil.which("dockerd") or os.geteuid() != 0:
        missing("no Docker daemon answers, and only root with dockerd installed (Debian: docker.io) can start one here")
    with _our_daemon() as own:
        yield own


@contextlib.contextmanager
def _our_daemon() -> Iterator[Docker]:
    """Start the daemon where nobody has yet, and stop it where nobody else uses it any more."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    # Its socket lies in a folder with a short name: paths of sockets are limited.
    state = Path(tempfile.gettempdir()) / f"arksim-docker-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
    own = Docker(f"unix://{state}/docker.sock")
    with (_FOLDER / "users.lock").open("w") as users:
        with _locked("daemon"):
            fcntl.flock(users, fcntl.LOCK_SH)
            if not own.answers():
                _start(own, state)
        try:
            yield own
        finally:
            with _locked("daemon"):
                try:
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _stop(state)
                except BlockingIOError:
                    pass  # another test process goes on with it


def _start(own: Docker, state: Path) -> None:
    _clean(state)
    state.mkdir()
    command = ["dockerd", "--data-root", str(_FOLDER / "docker"), "--exec-root", f"{state}/exec"]
    command += ["--pidfile", f"{state}/pid", "--host", own.environment["DOCKER_HOST"]]
    # By way of a shell that ends: the daemon outlives the test process that happens to be first.
    subprocess.run(["sh", "-c", f'exec "$@" >{state}/log 2>&1 &', "sh", *command], check=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not own.answers():
        if time.monotonic() > deadline:
            _stop(state)
            missing(f"dockerd does not start on this machine: {(state / 'log').read_text(errors='replace')[-600:]}")
        time.sleep(0.2)


def _stop(state: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        pid = int((state / "pid").read_text())
        assert b"dockerd" in Path(f"/proc/{pid}/cmdline").read_bytes()
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while Path(f"/proc/{pid}/exe").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    _clean(state)


def _clean(state: Path) -> None:
    """Remove what a daemon leaves in its folder; a mount is among it."""
    subprocess.run(["umount", "--quiet", str(state / "exec" / "netns" / "default")], check=False, capture_output=True)
    shutil.rmtree(state, ignore_errors=True)


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """One test process at a time."""
    with (_FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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
