"""The environment of this process: read here, and passed on from here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

_OURS = re.compile(r"INPUT_.*|ACTIONS_.*|GITHUB_(TOKEN|ENV|OUTPUT|PATH|STEP_SUMMARY|STATE)", re.IGNORECASE)
_PR_SET_DUMPABLE = 4


def process_environment() -> Mapping[str, str]:
    """The variables of this process, as they are now."""
    return dict(os.environ)


def without_tokens(environment: Mapping[str, str]) -> dict[str, str]:
    """What the user's commands and Python may see: without the action's inputs, the runner's tokens, and the files by which a step gives commands to the runner."""
    return {name: value for name, value in environment.items() if not _OURS.fullmatch(name)}


def hide_our_environment() -> bool:
    """Keep other processes of the same user from reading our memory and `/proc/PID/environ`; returns whether that worked.

    Linux only (`prctl(PR_SET_DUMPABLE, 0)`, see prctl(2) and proc(5)). It holds for this process until it ends; processes that it starts are
    not affected. Root with CAP_SYS_PTRACE, CAP_SYS_ADMIN or CAP_PERFMON, none of which a container has by default, can still read.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415  (a configuration error does not pay for it)

    return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
