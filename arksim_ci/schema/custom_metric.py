"""What is known of a custom metric once its Python file has loaded in the worker process."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class CustomMetric(BaseModel):
    """One custom metric that really runs.

    `scale` is the lowest and highest value of a numeric one, where its class states them. `labels` are the keys of `label_colors` of a
    qualitative one; empty where it lists none, and then any label is possible. `file` is the Python file that defines it, for messages.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    kind: Literal["numeric", "qualitative"]
    scope: Literal["turn", "conversation"]
    scale: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()
    file: str = ""
