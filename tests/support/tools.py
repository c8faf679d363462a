"""Tools that are no part of ours: installed once into `.cache`, by their locks. Where that is impossible, tests say so."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
ORACLES = ROOT / "tests" / "e2e" / "oracles"
LINT_LOCK = ROOT / "requirements" / "lint.txt"
XSD_LOCK = ROOT / "requirements" / "junit-xsd.txt"
ACT_LOCK = ROOT / "requirements" / "e2e.txt"


def missing(reason: str) -> NoReturn:
    """Skip the test for want of a tool; where everything is demanded (`ARKSIM_REQUIRE_ALL=1`), fail."""
    if os.environ.get("ARKSIM_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def npm_tools() -> Path:
    """The folder with `node_modules` of tests/e2e/oracles."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        missing("Node.js with npm is not installed; it runs GitHub's own artifact client, Azurite and Prism")
    names = ("package.json", "package-lock.json", ".npmrc")

    def install(folder: Path) -> list[str]:
        for name in names:
            shutil.copy(ORACLES / name, folder / name)
        return [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]

    return installed("oracles", [ORACLES / name for name in names], install)


def lint_tools() -> Path:
    """The `bin` folder of a venv with the checkers of requirements/lint.txt."""
    return _venv("lint", LINT_LOCK)


def act() -> Path:
    """`act`, which runs workflow files without GitHub."""
    return _venv("act", ACT_LOCK) / "act"


def junit_xsd() -> Path:
    """The common XSD of JUnit files, Jenkins' junit-10.xsd, as the sources of pytest bring it along."""

    def install(folder: Path) -> list[str]:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--dest", str(folder)]
        return [*pip, "--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", str(XSD_LOCK)]

    folder = installed("junit-xsd", [XSD_LOCK], install)
    (archive,) = folder.glob("pytest-*.tar.gz")
    target = folder / "junit-10.xsd"
    with tarfile.open(archive) as sources:
        member = sources.extractfile(f"{archive.name.removesuffix('.tar.gz')}/testing/example_scripts/junit-10.xsd")
        assert member is not None
        target.write_bytes(member.read())
    return target


def _venv(name: str, lock: Path) -> Path:
    """The `bin` folder of a venv with what a lock names."""

    def install(folder: Path) -> list[str]:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        return [*pip, "--require-hashes", "-r", str(lock)]

    return installed(name, [lock], install) / "bin"


def installed(name: str, locks: list[Path], command: Callable[[Path], list[str]]) -> Path:
    """Run an installation once for each state of its lock files; parallel test processes wait for the first."""
    state = hashlib.sha256(b"\0".join(path.read_bytes() for path in locks)).hexdigest()
    folder = CACHE / name
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / ".installed"
        if stamp.exists() and stamp.read_text() == state:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            done = subprocess.run(command(folder), capture_output=True, text=True, timeout=900, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            missing(f"{name}: can't be installed: {error}")
        if done.returncode:
            missing(f"{name}: can't be installed: {done.stderr.strip()[-500:]}")
        stamp.write_text(state)
    return folder
