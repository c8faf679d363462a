"""What one judgement measured: what the evaluation collects and the journal keeps."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

_FROZEN = ConfigDict(frozen=True)


class Measured(BaseModel):
    """One metric's value: a number on the metric's own scale, or a label."""

    model_config = _FROZEN

    metric: str
    value: float | str
    reason: str | None
    metadata: dict[str, Any] | None = None


class Judgement(BaseModel):
    """What one judgement measured, of a turn or (`turn_id` None) of a whole conversation."""

    model_config = _FROZEN

    conversation_id: str
    turn_id: int | None
    measured: tuple[Measured, ...]
