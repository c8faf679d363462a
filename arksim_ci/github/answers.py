"""What GitHub answers: an HTTP answer, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class GitHubRefused(Exception):
    """GitHub did not do what it was asked. `status` is 0 where no answer came. The text holds no secret."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


class PermissionMissing(GitHubRefused):
    """The token may not do this. `accepted` is what GitHub says would do, where it does."""

    def __init__(self, message: str, status: int, accepted: str = "") -> None:
        self.accepted = accepted
        super().__init__(message, status)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str = ""

    def json(self) -> Any:
        """The parsed body; None where it is no JSON."""
        try:
            return json.loads(self.body) if self.body else None
        except (ValueError, RecursionError):
            return None

    @property
    def message(self) -> str:
        """What the body says of an error."""
        value = self.json()
        text = value.get("message") if isinstance(value, dict) else None
        return text if isinstance(text, str) else ""
