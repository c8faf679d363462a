from __future__ import annotations

import pytest

from arksim_ci.user_code.metric_classes import (
    ChatMessage,
    QualitativeMetric,
    QualResult,
    QuantitativeMetric,
    QuantResult,
    ScoreInput,
    format_chat_history,
)


class Limit(QuantitativeMetric):
    def __init__(self) -> None:
        super().__init__(name="limit", additional_input={"limit": 3, "user_goal": "mine"}, scope="conversation")

    def score(self, score_input: ScoreInput) -> QuantResult:
        assert score_input.model_extra is not None
        return QuantResult(name=self.name, value=score_input.model_extra["limit"], reason=score_input.user_goal)


class Later(QualitativeMetric):
    async def evaluate(self, score_input: ScoreInput) -> QualResult:
        return QualResult(name=self.name, value="ok")


def test_additional_input_is_merged_and_the_scope_marked() -> None:
    given = ScoreInput(user_goal="theirs")
    result = Limit().run(given)
    assert (result.value, result.reason, result.scope) == (3.0, "mine", "conversation")
    assert given.user_goal == "theirs"
    assert given.model_extra == {}


async def test_a_metric_may_be_async_and_is_named_after_its_class() -> None:
    metric = Later(scope="conversation", label_colors={"ok": "green"})
    result = await metric.run(ScoreInput())
    assert (metric.name, result.value, result.scope) == ("Later", "ok", "conversation")


def test_no_llm_is_explained() -> None:
    with pytest.raises(RuntimeError, match="Limit has no LLM: accept `llm=None`"):
        _ = Limit().llm
    assert Later(llm="the LLM").llm == "the LLM"


def test_an_incomplete_metric_cannot_be_made() -> None:
    class Nothing(QuantitativeMetric):
        pass

    with pytest.raises(TypeError, match="score"):
        Nothing()  # type: ignore[abstract]


def test_history_is_written_as_a_prompt_needs_it() -> None:
    messages = [ChatMessage(role="user", content="Hi"), ChatMessage(role="assistant", content="Hello\nthere")]
    assert format_chat_history(messages) == "user: Hi\nassistant: Hello\nthere\n"
    assert format_chat_history([]) == ""
