"""How a run ends early: at its deadline, when it is told to stop, or through a bug of ours."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final

from arksim_ci.config.errors import ConfigError
from arksim_ci.schema.verdict import RunStatus

logger = logging.getLogger(__name__)

GRACE_SECONDS: Final = 2.0
"""What is in flight gets this long once no new work is started."""
LAST_SECONDS: Final = 0.5
"""What was then cancelled gets this long to clean up. What does not is left behind."""
CANCELLED: Final = "it was told to stop"
TIMED_OUT: Final = "run_timeout_seconds was over"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. `cause` is empty where it was completed."""

    status: RunStatus
    cause: str = ""

    @property
    def early(self) -> bool:
        """Whether something is missing."""
        return self.status != "COMPLETED"


class Watch:
    """Lets each part of a run go on until it is done, the run's time is over, or the run is told to stop.

    Args:
        stop: set by whoever wants the run to end.
        seconds_left: until the run's deadline; None where there is none.
        redact: replaces secrets in what is logged of a bug.
    """

    def __init__(
        self, stop: asyncio.Event, seconds_left: Callable[[], float | None], redact: Callable[[str], str]
    ) -> None:
        self._stop = stop
        self._seconds_left = seconds_left
        self._redact = redact

    async def let(
        self,
        work: Coroutine[object, object, None],
        *,
        halt: Callable[[str], None],
        give_up: Callable[[str], None] = lambda cause: None,
    ) -> Ending:
        """Let `work` go on as long as it may, and say how it ended. It takes at most 2.5 seconds once it has to end.

        Args:
            work: a part of the run.
            halt: called with the cause when work has to end early, to keep new work from starting; what is in flight then gets
                `GRACE_SECONDS`.
            give_up: called after these, or after a bug, to stop what is in flight elsewhere than in `work`.

        Raises:
            ConfigError: as `work` does. Every other exception is a bug: it ends the work, and nothing that is finished is lost.
        """
        early = self._early()
        if early:
            work.close()
            halt(early.cause)
            return early
        task = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stopped}, timeout=self._seconds_left(), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return self._own_ending(task, halt, give_up)
            ending = Ending("CANCELLED", CANCELLED) if stopped.done() else Ending("TIMED_OUT", TIMED_OUT)
            halt(ending.cause)
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
            give_up(ending.cause)
            task.cancel()
            await asyncio.wait({task}, timeout=LAST_SECONDS)
        finally:
            stopped.cancel()
            task.cancel()
        if task.done() and not task.cancelled() and (bug := task.exception()):
            self._log(bug)
        return ending

    def _early(self) -> Ending | None:
        if self._stop.is_set():
            return Ending("CANCELLED", CANCELLED)
        left = self._seconds_left()
        return Ending("TIMED_OUT", TIMED_OUT) if left is not None and left <= 0 else None

    def _own_ending(
        self, task: asyncio.Future[None], halt: Callable[[str], None], give_up: Callable[[str], None]
    ) -> Ending:
        bug = task.exception()
        if bug is None:
            return Ending("COMPLETED")
        if isinstance(bug, ConfigError) or not isinstance(bug, Exception):
            raise bug
        self._log(bug)
        ending = Ending("FAILED", f"internal error: {self._redact(describe(bug))}")
        halt(ending.cause)
        give_up(ending.cause)
        return ending

    def _log(self, bug: BaseException) -> None:
        logger.error("The run broke off through a bug:\n%s", self._redact("".join(traceback.format_exception(bug))))


def describe(bug: BaseException) -> str:
    """A bug in a few words; of a group, the first one."""
    while isinstance(bug, BaseExceptionGroup):
        bug = bug.exceptions[0]
    return f"{type(bug).__name__}: {bug}"
