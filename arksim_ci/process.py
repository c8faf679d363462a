"""What a run takes from the process that it runs in: the clock, new ids, the commit, the user's Python beside it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arksim_ci.config.environment import process_environment
from arksim_ci.config.errors import ConfigError
from arksim_ci.output import VERDICT

if TYPE_CHECKING:
    from arksim_ci.config.document import Document
    from arksim_ci.config.model import RunConfig
    from arksim_ci.config.overrides import Overrides
    from arksim_ci.pipeline.relay import LLMRelay
    from arksim_ci.pipeline.surroundings import Surroundings
    from arksim_ci.progress import Progress
    from arksim_ci.schema.verdict import Command
    from arksim_ci.user_code.host import UserCodeHost


def collect_garbage_rarely() -> None:
    """Look for reference cycles after 50,000 new objects instead of 700, and never at the exit.

    A run's objects live long: looking took a tenth of its CPU, and a quarter of a second more when it was over.
    """
    gc.set_threshold(50_000, 20, 50)
    atexit.register(gc.freeze)


class Guest:
    """The user's own Python, in a process that starts when it is first needed.

    Args:
        relay: answers `self.llm` of custom metrics.
        log: takes what the user's Python prints, line by line, secrets replaced.
    """

    def __init__(self, relay: LLMRelay, log: Callable[[str], None]) -> None:
        self._relay = relay
        self._log = log
        self._host: UserCodeHost | None = None

    def host(self, config: RunConfig) -> UserCodeHost:
        """The host of the process; made once."""
        if self._host is None:
            from arksim_ci.config.variables import secrets  # noqa: PLC0415
            from arksim_ci.redaction import redactor  # noqa: PLC0415
            from arksim_ci.user_code.host import UserCodeHost  # noqa: PLC0415  (a configuration error does not pay for it)

            redact = redactor(secrets(config, process_environment()))
            self._host = UserCodeHost(
                Path(sys.executable),
                process_environment(),
                ask_llm=self._relay.ask,
                call_timeout_seconds=config.agent_timeout_seconds,
                log=lambda line: self._log(redact(line)),
                model=config.model,
                provider=config.provider,
            )
        return self._host

    async def __aenter__(self) -> Guest:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._host is not None:
            await self._host.close()


def real_surroundings(progress: Progress, stop: asyncio.Event) -> Surroundings:
    """The real clock, ids and environment of this process."""
    import time  # noqa: PLC0415
    import uuid  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from arksim_ci.pipeline.surroundings import Surroundings  # noqa: PLC0415

    return Surroundings(
        environment=process_environment(),
        progress=progress,
        now=lambda: datetime.now(UTC),
        monotonic=time.monotonic,
        sleep=asyncio.sleep,
        new_id=lambda: str(uuid.uuid4()),
        commit=_commit(),
        stop=stop,
    )


def forget_verdict(
    path: Path, overrides: Sequence[Overrides], command: Command, document: Document | None = None
) -> None:
    """Remove an earlier verdict, so that nobody takes it for that of a run that could not begin."""
    from arksim_ci.config.load import examine  # noqa: PLC0415

    with contextlib.suppress(ConfigError, OSError):
        loaded, _ = examine(path, overrides, environment=process_environment(), command=command, document=document)
        (loaded.config.output_dir / VERDICT).unlink(missing_ok=True)


def _commit() -> str | None:
    """The commit that is checked out here, if this is a git repository."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607  (the user's own git)
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None if found.returncode == 0 else None
