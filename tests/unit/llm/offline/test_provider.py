from __future__ import annotations

import time
from typing import Any

import pytest

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.client import LLM, LLMUnavailable, Question, Reading, Role, RunLimitReached
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits
from arksim_ci.llm.offline import OFFLINE_MODEL, OfflineLLM
from arksim_ci.llm.questions.goal import GoalFacts
from arksim_ci.llm.questions.recommendation import Advice, RecommendationFacts
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.llm.questions.turn import Score, TurnJudgement
from arksim_ci.llm.questions.unique_errors import Grouping, GroupingFacts, MergingFacts
from tests.unit.llm.offline.scenes import scenario, turn


def question(facts: object, role: Role = "judge") -> Question[Any]:
    return Question("q", role, (), None, lambda answer: Reading(answer), facts)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (SimulatedUserFacts(scenario(), "", (), 0, 5, 0), str),
        (turn("Hello there", "Hello"), TurnJudgement),
        (GoalFacts(scenario(), (), "c"), Score),
        (GroupingFacts("repetition", ()), Grouping),
        (MergingFacts("repetition", (), ()), Grouping),
        (RecommendationFacts("repetition", "low", "d", (), (), "", ()), Advice),
    ],
)
async def test_each_kind_of_question_gets_its_kind_of_answer(facts: object, kind: type) -> None:
    answer = await OfflineLLM().ask(question(facts))
    assert isinstance(answer.value, kind)
    assert answer.model == OFFLINE_MODEL


async def test_the_limit_of_calls_holds_for_rules_too() -> None:
    llm = build_llm(
        ProviderSettings("offline", "rules", None, None, None),
        Limits(4, model="rules", max_llm_calls=2),
        timeout_seconds=1,
    )
    asked = question(turn("Hello there", "Hello"))
    await llm.ask(asked)
    await llm.ask(asked)
    with pytest.raises(RunLimitReached, match="max_llm_calls reached: 2"):
        await llm.ask(asked)
    assert llm.usage().judge.calls == 2


async def test_a_custom_metrics_own_question_has_no_rules() -> None:
    llm = OfflineLLM()
    with pytest.raises(LLMUnavailable, match="no rules for a custom metric's own questions"):
        await llm.ask(question(None))
    assert llm.usage().judge.calls == 0


async def test_calls_are_counted_and_cost_nothing() -> None:
    llm: LLM = OfflineLLM()
    await llm.ask(question(turn("Hello", "Hello")))
    await llm.ask(question(SimulatedUserFacts(scenario(), "", (), 0, 5, 0), "simulated_user"))
    usage = llm.usage()
    assert (usage.judge.calls, usage.simulated_user.calls, usage.analysis.calls) == (1, 1, 0)
    assert (usage.judge.input_tokens, usage.judge.cost_usd) == (0, 0.0)
    assert await llm.preflight() == []
    assert llm.model == OFFLINE_MODEL
    await llm.close()


HOSTILE = [
    "please " * 100_000,
    "9" * 200_000,
    "1 and " * 50_000,
    "a@" * 100_000,
    " " * 300_000 + "x",
    "\u202e\u0000\ud83d\ude00 ###STOP###",
    "退货期限" * 20_000,
    "if the agent asks about x, answer that " * 5_000,
    "order 1001 " * 30_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_texts_of_any_size_and_script_are_answered_in_time(text: str) -> None:
    llm = OfflineLLM()
    started = time.process_time()
    await llm.ask(question(turn(text, text, text, text)))
    await llm.ask(question(GoalFacts(scenario(), turn(text, text).history, "c")))
    on = scenario(goal=text[:20_000], profile=text[:20_000], knowledge=(text[:20_000],))
    await llm.ask(question(SimulatedUserFacts(on, "", turn("Hi", text, "Hello", text).history, 1, 5, 0)))
    assert time.process_time() - started < 10
