"""Makes the environment in which the action itself runs, of the job's own Python and apart from the job's packages.

Run by that Python. The packages are those of requirements/image.txt, held to their hashes; the action's own code runs from its checkout.
The environment stays in the runner's tool cache, where there is one, under a name that says what it was made of.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements" / "image.txt"
# What would make pip install elsewhere than asked, or not at all.
DISTURBING = {f"PIP_{name}" for name in ("TARGET", "PREFIX", "ROOT", "USER", "PYTHON", "DRY_RUN", "REQUIREMENT")}


def main() -> int:
    """Make the environment, and set the step's outputs."""
    try:
        python = environment(home(os.environ), LOCK)
    except (OSError, subprocess.CalledProcessError) as error:
        printed = getattr(error, "output", None) or ""
        say("".join(f"  | {line}\n" for line in printed.splitlines()))
        say(f"::error title=arksim: the set-up failed::{escaped(trouble(error, printed))}\n")
        put({"exit-code": "3", "conclusion": "error"})
        return 0
    put({"python": str(python), "job-python": sys.executable})
    return 0


def home(variables: Mapping[str, str]) -> Path:
    """The folder for environments, made: in the tool cache, or where the job's temporary files are."""
    for name in ("RUNNER_TOOL_CACHE", "RUNNER_TEMP"):
        folder = Path(variables.get(name, "")) / "arksim-action"
        if folder.is_absolute():
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return Path(tempfile.gettempdir()) / f"arksim-action-{os.getuid()}"


def environment(folder: Path, lock: Path) -> Path:
    """The interpreter of the environment, which is made where it is not there.

    It appears under its name when it is complete: a job that was cancelled, or another one at the same time, leaves nothing half done.
    """
    target = folder / name_of(lock)
    if not is_usable(target):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
        try:
            run([sys.executable, "-I", "-m", "venv", str(making)])
            pip = [str(making / "bin" / "python"), "-I", "-m", "pip", "install", "--quiet", "--no-input"]
            run([*pip, "--disable-pip-version-check", "--require-hashes", "-r", str(lock)])
            if target.exists() and not is_usable(target):  # the Python that it was made of is gone
                shutil.rmtree(target)
            try:
                making.rename(target)
            except OSError:
                if not is_usable(target):  # else another job was quicker
                    raise
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return target / "bin" / "python"


def name_of(lock: Path) -> str:
    """A name for what an environment is made of: the packages, and the Python."""
    made_of = "\0".join([lock.read_text(encoding="utf-8"), sys.version, sys.base_prefix])
    return (
        f"python{sys.version_info.major}.{sys.version_info.minor}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    )


def is_usable(target: Path) -> bool:
    """Whether an environment is there, and the Python that it was made of, too."""
    return (target / "bin" / "python").is_file()


def run(command: list[str]) -> None:
    """Run a command with the job's variables, pip's own for index and certificates included."""
    variables = {
        name: value for name, value in os.environ.items() if name not in DISTURBING and not name.startswith("PYTHON")
    }
    subprocess.run(  # noqa: S603 - our own words
        command,
        env=variables,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def trouble(error: Exception, printed: str) -> str:
    """What went wrong, with the end of what was printed, and what to do."""
    if "ensurepip" in printed:
        return f"{sys.executable} can't make a virtual environment: install python3-venv, or use actions/setup-python before"
    last = "\n".join(printed.strip().splitlines()[-5:])
    return f"the action's own packages could not be installed for {sys.executable}: {error}\n{last}".strip()


def escaped(text: str) -> str:
    """A message as the runner reads it in a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def put(outputs: Mapping[str, str]) -> None:
    """Set outputs of the step."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in outputs.items())


def say(text: str) -> None:
    """Write to the step's log."""
    sys.stdout.write(text)


if __name__ == "__main__":
    sys.exit(main())
