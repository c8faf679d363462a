"""Metrics of all four kinds, by rules: numeric and label, of a turn and of a whole conversation.

arksim-ci simulate-evaluate examples/custom-agent/config.yaml --custom_metrics_file_paths examples/custom-agent/metrics.py
"""

from __future__ import annotations

import re

from arksim.evaluator import QualitativeMetric, QualResult, QuantitativeMetric, QuantResult, ScoreInput

ORDER = re.compile(r"\bORD-\d+\b")


def answers(score_input: ScoreInput) -> list[str]:
    """What the agent said, in order."""
    return [message.content for message in score_input.chat_history if message.role == "assistant"]


class NamesTheOrder(QuantitativeMetric):
    """Numeric, of a turn: 1 where the answer names the order that it speaks of, else 0."""

    def __init__(self, llm: object = None) -> None:
        super().__init__(name="names_the_order", score_range=(0, 1), llm=llm)

    def score(self, score_input: ScoreInput) -> QuantResult:
        found = ORDER.findall(answers(score_input)[-1])
        return QuantResult(
            name=self.name, value=1 if found else 0, reason=f"Orders named: {', '.join(found) or 'none'}."
        )


class ToolUse(QualitativeMetric):
    """Label, of a turn: whether the agent looked something up, did something, or only spoke."""

    def __init__(self, llm: object = None) -> None:
        colors = {"looked up": "green", "acted": "orange", "spoke": "grey"}
        super().__init__(name="tool_use", label_colors=colors, llm=llm)

    def evaluate(self, score_input: ScoreInput) -> QualResult:
        names = [call["name"] if isinstance(call, dict) else call.name for call in score_input.tool_calls]
        label = "acted" if "cancel_order" in names else "looked up" if names else "spoke"
        return QualResult(name=self.name, value=label, reason=f"Tools: {', '.join(names) or 'none'}.")


class Brevity(QuantitativeMetric):
    """Numeric, of a conversation: 5 for up to 20 words an answer, 0 from 120 words on, evenly between."""

    def __init__(self, llm: object = None) -> None:
        super().__init__(name="brevity", score_range=(0, 5), scope="conversation", llm=llm)

    def score(self, score_input: ScoreInput) -> QuantResult:
        said = answers(score_input)
        words = sum(len(answer.split()) for answer in said) / max(len(said), 1)
        value = 5 * (1 - min(max((words - 20) / 100, 0), 1))
        return QuantResult(name=self.name, value=round(value, 2), reason=f"{words:.0f} words an answer.")


class StaysInRole(QualitativeMetric):
    """Label, of a conversation: whether the agent ever speaks of being a model instead of the shop's support."""

    def __init__(self, llm: object = None) -> None:
        super().__init__(
            name="stays_in_role", label_colors={"yes": "green", "no": "red"}, scope="conversation", llm=llm
        )

    def evaluate(self, score_input: ScoreInput) -> QualResult:
        broke = next((answer for answer in answers(score_input) if "language model" in answer.lower()), None)
        return QualResult(
            name=self.name, value="no" if broke else "yes", reason=broke or "It speaks as the shop's support."
        )
