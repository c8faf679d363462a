"""What can go wrong with the user's Python."""

from __future__ import annotations

from arksim_ci.config.errors import ConfigError


class UserCodeFailed(Exception):
    """The user's code gave no usable result. The text is a short cause; the traceback is in the log."""


class UserCodeNotLoadable(ConfigError):
    """A file of the user, or a class in it, can't be loaded (exit code 2). Holds every problem, with file, line and advice."""


class WorkerEnded(UserCodeFailed):
    """The worker process ended while the call was under way. `alone`: nothing else ran there, so this call ended it."""

    def __init__(self, cause: str, alone: bool) -> None:
        super().__init__(cause)
        self.alone = alone


class CallTimedOut(UserCodeFailed):
    """The user's code did not return in time."""
