"""The user's own Python in the action: in the user's environment, without our tokens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from arksim_ci.config.model import RunConfig
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.user_code.host import UserCodeHost


class ActionGuest:
    """Starts the process of the user's Python when it is first needed.

    Args:
        relay: answers `self.llm` of custom metrics.
        environment: the job's variables, without ours.
        user_venv: the user's environment.
        job_python: takes its place where there is none; None: our own interpreter.
        log: takes what the user's Python prints, line by line.
    """

    def __init__(
        self,
        relay: LLMRelay,
        environment: Mapping[str, str],
        user_venv: Path,
        job_python: Path | None,
        log: Callable[[str], None],
    ) -> None:
        self._relay = relay
        self._environment = environment
        self._user_venv = user_venv
        self._job_python = job_python
        self._log = log
        self._host: UserCodeHost | None = None

    def host(self, config: RunConfig) -> UserCodeHost:
        """The host of the process; made once."""
        if self._host is None:
            python = self._user_venv / "bin" / "python"
            self._host = UserCodeHost(
                python if python.is_file() else self._job_python or Path(sys.executable),
                self._environment,
                ask_llm=self._relay.ask,
                call_timeout_seconds=config.agent_timeout_seconds,
                log=self._log,
                model=config.model,
                provider=config.provider,
            )
        return self._host

    async def close(self) -> None:
        """End the process, where there is one."""
        if self._host is not None:
            await self._host.close()
