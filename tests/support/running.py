"""A run of the command line that is still going on, to be interrupted."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping

from tests.support.project import Finished, Project, clean_environment, command_line


class Running:
    """`arksim-ci COMMAND config.yaml ARGUMENTS` in the background."""

    def __init__(
        self,
        project: Project,
        command: str = "simulate-evaluate",
        *arguments: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._project = project
        self._process = subprocess.Popen(
            command_line(command, str(project.write()), *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=project.folder,
            env=clean_environment(environment or {}),
        )

    @property
    def over(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """SIGKILL: nothing can be done about it."""
        self._process.kill()
        self._process.communicate()

    def send(self, name: signal.Signals) -> None:
        self._process.send_signal(name)

    def finish(self, timeout: float = 60) -> Finished:
        """Wait for the end."""
        out, err = self._process.communicate(timeout=timeout)
        return Finished(self._process.returncode, out, err, self._project.output_dir)

    def seconds_until_the_end(self, most: float = 30) -> float:
        """Wait for the process to end, and say how long it took."""
        started = time.monotonic()
        self._process.wait(most)
        return time.monotonic() - started
