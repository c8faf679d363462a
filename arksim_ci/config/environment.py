"""The environment of this process: read here, and passed on from here."""

from __future__ import annotations

import os
from collections.abc import Mapping


def process_environment() -> Mapping[str, str]:
    """The variables of this process, as they are now."""
    return dict(os.environ)
