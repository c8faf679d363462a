"""A question that a custom metric asks by itself, through `self.llm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arksim_ci.llm.client import ChatMessage, Question, Reading


def ask_for_custom_metric(
    messages: Sequence[ChatMessage], schema: Mapping[str, object] | None, case: str
) -> Question[object]:
    """Pass a custom metric's question on.

    Args:
        messages: the prompt, as the metric wrote it.
        schema: the JSON Schema of the answer; None for plain text.
        case: tells askers of the very same question apart.

    Returns:
        A question whose answer is the parsed JSON, or the text, as it came: the metric validates it.
    """
    return Question(
        name="custom_metric",
        role="judge",
        messages=tuple(messages),
        schema=schema,
        read=Reading,
        facts=None,
        case=case,
    )
