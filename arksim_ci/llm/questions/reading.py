"""How a judge's values are read: in range, of a known label, and with a reason, or a problem that says what is allowed."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

from arksim_ci.llm.questions.transcript import clean
from arksim_ci.schema.vocabulary import normalize_label


class Unusable(Exception):
    """A value that can't be used. The text is a sentence for the LLM, which may repair it."""


def read_reason(fields: dict[object, object], name: str) -> str:
    """The reason of a metric.

    Raises:
        Unusable: there is none.
    """
    reason = fields.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise Unusable(f'{name}: "reason" must be a text that names the evidence')
    return clean(reason.strip())


def read_score(fields: dict[object, object], name: str, scale: tuple[float, float]) -> float:
    """The score of a metric, inside `scale` (lowest, highest).

    Raises:
        Unusable: there is none, it is no number, or it lies outside.
    """
    low, high = scale
    score = fields.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not low <= score <= high:
        raise Unusable(f'{name}: "score" must be a number from {low:g} to {high:g}, not {_shown(score)}')
    return float(score)


def read_label(fields: dict[object, object], name: str, allowed: Sequence[str]) -> str:
    """The label of a metric, as the vocabulary writes it; case and outer spaces in the answer don't matter.

    Raises:
        Unusable: it is none of the allowed ones.
    """
    label = fields.get("label")
    if isinstance(label, str):
        for known in allowed:
            if normalize_label(label) == normalize_label(known):
                return known
    listed = ", ".join(f'"{known}"' for known in allowed)
    raise Unusable(f'{name}: "label" must be one of {listed}, not {_shown(label)}')


def read_object(value: object, name: str, fields: str) -> dict[object, object]:
    """The value as an object; `fields` says in a message what it should hold.

    Raises:
        Unusable: it is something else.
    """
    if not isinstance(value, dict):
        raise Unusable(f"{name}: must be a JSON object with {fields}, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """A value, short enough for a message."""
    return "nothing" if value is None else clean(reprlib.repr(value))
