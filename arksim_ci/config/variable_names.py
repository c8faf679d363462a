"""Which environment variables a configuration may name."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refusal(name: str) -> str | None:
    """Why a configuration may not read this variable, or None where it may.

    A configuration can come from a pull request, so the runner's own tokens are out of its reach.
    """
    if not _NAME.fullmatch(name):
        return "this is not the name of a variable (letters, digits and underscores, not beginning with a digit)"
    upper = name.upper()
    if upper.startswith(("INPUT_", "ACTIONS_")) or upper == "GITHUB_TOKEN":
        return (
            f"the variable {name} is refused: INPUT_*, ACTIONS_* and GITHUB_TOKEN carry tokens of the runner, which a "
            "configuration could send away; pass the value in a variable of its own"
        )
    return None
