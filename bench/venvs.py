"""The virtual environments of the two tools, each from its locked requirements, made once."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that is measured: its name, and the command line before `simulate-evaluate config.yaml`."""

    name: str
    command: tuple[str, ...]


def peer() -> Tool:
    """ArkSim at the version that `requirements/peer.txt` locks; the same environment as the tests compare with."""
    folder = ROOT / ".cache" / "peer"
    _make(folder, ROOT / "requirements" / "peer.txt", folder / ".installed")
    return Tool("arksim", (str(folder / "bin" / "arksim"),))


def ours() -> Tool:
    """This checkout, on nothing but its run-time requirements."""
    folder = ROOT / ".cache" / "bench"
    _make(folder, ROOT / "requirements" / "runtime.txt", folder / ".installed")
    return Tool("arksim-ci", (str(folder / "bin" / "python"), "-m", "arksim_ci"))


def _make(folder: Path, requirements: Path, done: Path) -> None:
    if done.exists() and done.stat().st_mtime >= requirements.stat().st_mtime:
        return
    print(f"Installing {requirements.name} (once) ...", file=sys.stderr)
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    installed = subprocess.run(
        [*pip, "--require-hashes", "-r", str(requirements)], stderr=subprocess.PIPE, text=True, check=False
    )
    if installed.returncode:
        raise SystemExit(installed.stderr)
    done.touch()
