"""The judging of a run: when it happens, what it survives, what it asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from arksim_ci.evaluation.evaluator import Evaluator
from arksim_ci.evaluation.judge import MetricHost
from arksim_ci.llm.client import AnswerInvalid, LLMUnavailable, Question, RunLimitReached
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.evaluation import QualResult, QuantResult
from arksim_ci.schema.judgement import Judgement, Measured
from arksim_ci.schema.simulation import Conversation, Silence
from arksim_ci.schema.vocabulary import DEFAULT_METRICS, STOP_SIGNAL, TURN_METRICS
from arksim_ci.user_code.errors import UserCodeFailed
from tests.unit.evaluation.judging import (
    TOOL_CALL,
    Script,
    ScriptedJudge,
    agent,
    conversation,
    good_answer,
    metrics_asked,
    scenario,
    turn_of,
    two_turns,
    user,
)


def evaluator(
    judge: ScriptedJudge,
    metrics: Sequence[str] = DEFAULT_METRICS,
    mode: Literal["combined", "per_metric"] = "combined",
    **fields: Any,
) -> Evaluator:
    return Evaluator(judge, metrics_to_run=metrics, judge_mode=mode, **fields)


async def judged(
    script: Script, *conversations: Conversation, metrics: Sequence[str] = DEFAULT_METRICS, **fields: Any
) -> Evaluator:
    """Judge conversations as `evaluate` does."""
    made = evaluator(ScriptedJudge(script), metrics, **fields)
    for number, held in enumerate(conversations):
        made.conversation_ended(held, scenario(), number)
    await made.settle()
    return made


def good(question: Question[Any], number: int) -> object:
    return good_answer(question)


class Host:
    """Custom metrics that answer as the test says."""

    def __init__(self, *results: QuantResult | QualResult | Exception) -> None:
        self.results = list(results)
        self.inputs: list[tuple[str, dict[str, Any]]] = []
        self.cases: list[str] = []

    async def score(self, metric_name: str, score_input: dict[str, object], case: str = "") -> QuantResult | QualResult:
        self.cases.append(case)
        self.inputs.append((metric_name, score_input))
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, Exception):
            raise result
        return result


def custom(name: str = "clarity", kind: Any = "numeric", scope: Any = "turn", scale: Any = (0, 5)) -> CustomMetric:
    return CustomMetric(name=name, kind=kind, scope=scope, scale=scale)


async def judged_by_host(host: MetricHost, metric: CustomMetric, held: Conversation | None = None) -> Evaluator:
    return await judged(good, held or two_turns(), custom_metrics=[metric], host=host)


class TestWhen:
    async def test_a_turn_is_judged_while_its_conversation_goes_on(self) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge)
        made.turn_answered("c1", scenario(), (user(0), agent(0)), 0)
        while made.pending:
            await asyncio.sleep(0)

        assert made.measurements.get("c1", 0, "helpfulness") is not None
        made.turn_answered("c1", scenario(), (user(0), agent(0), user(1), agent(1)), 0)
        made.conversation_ended(two_turns(), scenario(), 0)
        await made.settle()
        assert [question.name for question in judge.questions] == ["judge_turn", "judge_turn", "judge_goal"]

    async def test_a_file_is_judged_as_a_run_is(self) -> None:
        made = await judged(good, two_turns("c1"), two_turns("c2"))

        for name in ("c1", "c2"):
            assert all(made.measurements.get(name, turn, metric) for turn in (0, 1) for metric in TURN_METRICS)
            assert made.measurements.get(name, None, "goal_completion") is not None

    async def test_turns_are_judged_side_by_side(self) -> None:
        judge = ScriptedJudge()
        judge.hold = asyncio.Event()
        made = evaluator(judge)
        made.conversation_ended(two_turns(), scenario(), 0)
        for _ in range(5):
            await asyncio.sleep(0)

        assert len(judge.questions) == 3
        judge.hold.set()
        await made.settle()

    async def test_repetitions_are_told_apart(self) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge, ["goal_completion"])
        made.conversation_ended(two_turns("c1"), scenario(), 0)
        made.conversation_ended(two_turns("c2"), scenario(), 1)
        await made.settle()

        assert [question.case for question in judge.questions] == ["0", "1"]

    @pytest.mark.parametrize(
        "held",
        [
            conversation(user(0), agent(0), user(1), agent_silence=Silence(kind="stopped_answering", cause="HTTP 500")),
            conversation(user(0), agent(0), user(1)),
            conversation(user(0), agent(0), not_finished="the deadline was reached"),
        ],
    )
    async def test_a_conversation_that_broke_off_is_judged_by_its_turns_alone(self, held: Conversation) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge)
        made.conversation_ended(held, scenario(), 0)
        await made.settle()

        assert [question.name for question in judge.questions] == ["judge_turn"]

    async def test_a_conversation_without_the_agent_is_not_judged(self) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge)
        made.conversation_ended(conversation(user(0, STOP_SIGNAL)), scenario(), 0)
        await made.settle()

        assert judge.questions == []

    async def test_the_stop_signal_is_not_shown_to_the_judge(self) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge)
        made.conversation_ended(conversation(user(0), agent(0), user(1, STOP_SIGNAL)), scenario(), 0)
        await made.settle()

        goal = next(question for question in judge.questions if question.name == "judge_goal")
        assert STOP_SIGNAL not in goal.messages[1].content


class TestWhat:
    async def test_combined_asks_once_a_turn_and_per_metric_once_a_metric(self) -> None:
        for mode, requests in (("combined", 2 + 1), ("per_metric", 2 * 6 + 1)):
            judge = ScriptedJudge()
            made = evaluator(judge, mode=mode)  # type: ignore[arg-type]
            made.conversation_ended(two_turns(), scenario(), 0)
            await made.settle()

            assert judge.requests == requests
            assert made.measurements.get("c1", 1, "agent_behavior_failure") is not None

    @pytest.mark.parametrize(
        ("chosen", "asked"),
        [(DEFAULT_METRICS, True), ((), True), (("tool_call_behavior_failure",), True), (("coherence",), False)],
    )
    async def test_tool_calls_are_judged_where_there_are_any(self, chosen: tuple[str, ...], asked: bool) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge, chosen)
        made.conversation_ended(conversation(user(0), agent(0, calls=[TOOL_CALL]), user(1), agent(1)), scenario(), 0)
        await made.settle()

        by_turn = {
            turn_of(question): metrics_asked(question) for question in judge.questions if question.name == "judge_turn"
        }
        assert ("tool_call_behavior_failure" in by_turn[0]) is asked
        assert "tool_call_behavior_failure" not in by_turn.get(1, ())

    async def test_a_failure_label_alone_runs(self) -> None:
        made = await judged(good, two_turns(), metrics=["agent_behavior_failure"])

        assert made.measurements.get("c1", 0, "agent_behavior_failure") is not None
        assert made.measurements.get("c1", None, "goal_completion") is None


class TestFailures:
    """What fails costs its own value only, is asked again at the end, and says why it is missing."""

    async def test_one_bad_metric_does_not_spoil_the_others(self) -> None:
        def seven(question: Question[Any], number: int) -> object:
            return (
                good_answer(question, relevance={"reason": "r", "score": 7})
                if "relevance" in metrics_asked(question)
                else good(question, number)
            )

        made = await judged(seven, two_turns())

        assert made.measurements.get("c1", 0, "relevance") is None
        assert made.measurements.cause("c1", 0, "relevance") == 'relevance: "score" must be a number from 1 to 5, not 7'
        assert made.measurements.get("c1", 0, "helpfulness") is not None
        assert made.measurements.get("c1", 0, "agent_behavior_failure") is not None

    async def test_only_what_is_missing_is_asked_again(self) -> None:
        asked: list[tuple[str, ...]] = []

        def seven_at_first(question: Question[Any], number: int) -> object:
            asked.append(metrics_asked(question))
            return good_answer(question, **({"relevance": {"reason": "r", "score": 7}} if number < 2 else {}))

        made = await judged(seven_at_first, conversation(user(0), agent(0)), metrics=["helpfulness", "relevance"])

        assert asked == [("helpfulness", "relevance"), ("helpfulness", "relevance"), ("relevance",)]
        assert made.measurements.get("c1", 0, "relevance") is not None

    @pytest.mark.parametrize("failure", [LLMUnavailable("HTTP 500"), AnswerInvalid("truncated")])
    async def test_one_unlucky_judgement_does_not_fail_the_run(self, failure: Exception) -> None:
        def unlucky_twice(question: Question[Any], number: int) -> object:
            if number < 2:
                raise failure
            return good(question, number)

        made = await judged(unlucky_twice, conversation(user(0), agent(0)), metrics=["helpfulness"])

        assert made.measurements.get("c1", 0, "helpfulness") is not None

    async def test_a_judgement_that_keeps_failing_is_asked_three_times_in_all(self) -> None:
        requests = 0

        def down(question: Question[Any], number: int) -> object:
            nonlocal requests
            requests += 1
            raise LLMUnavailable("HTTP 500 from the judge")

        made = await judged(down, two_turns(), metrics=["helpfulness"])

        assert requests == 2 * 3
        assert made.measurements.cause("c1", 0, "helpfulness") == "HTTP 500 from the judge"
        await made.settle()
        assert requests == 2 * 3

    async def test_failures_wait_for_the_end_of_the_run(self) -> None:
        order: list[tuple[str, int]] = []

        def fails_first(question: Question[Any], number: int) -> object:
            order.append((question.case, turn_of(question)))
            if number == 0:
                raise LLMUnavailable("HTTP 500")
            return good(question, number)

        await judged(fails_first, two_turns("c1"), two_turns("c2"), metrics=["helpfulness"])

        assert order == [("0", 0), ("0", 1), ("1", 0), ("1", 1), ("0", 0)]

    async def test_nothing_is_asked_after_a_limit_of_the_run(self) -> None:
        requests = 0

        def limited(question: Question[Any], number: int) -> object:
            nonlocal requests
            requests += 1
            if requests == 1:
                raise LLMUnavailable("HTTP 500")
            raise RunLimitReached("max_llm_calls is 1")

        made = await judged(limited, two_turns(), metrics=["helpfulness"])
        made.conversation_ended(two_turns("c2"), scenario(), 0)
        await made.settle()

        assert requests == 2
        assert made.measurements.cause("c1", 0, "helpfulness") == "HTTP 500"
        assert made.measurements.cause("c1", 1, "helpfulness") == "max_llm_calls is 1"
        assert made.measurements.cause("c2", 0, "helpfulness") == "max_llm_calls is 1"

    async def test_a_bug_is_not_lost_and_costs_one_judgement(self) -> None:
        def buggy(question: Question[Any], number: int) -> object:
            if number == 0:
                raise KeyError("oops")
            return good(question, number)

        made = evaluator(ScriptedJudge(buggy), ["helpfulness"])
        made.conversation_ended(two_turns(), scenario(), 0)
        with pytest.raises(ExceptionGroup) as raised:
            await made.settle()

        assert isinstance(raised.value.exceptions[0], KeyError)
        assert made.measurements.cause("c1", 0, "helpfulness") == "internal error: KeyError: 'oops'"
        assert made.measurements.get("c1", 1, "helpfulness") is not None


class TestEndingEarly:
    async def test_cancel_stops_what_is_under_way_and_names_the_cause(self) -> None:
        judge = ScriptedJudge()
        judge.hold = asyncio.Event()
        made = evaluator(judge)
        made.conversation_ended(two_turns(), scenario(), 0)
        await asyncio.sleep(0)
        made.cancel("the run was cancelled")
        made.conversation_ended(two_turns("c2"), scenario(), 0)
        await made.settle()

        assert made.pending == 0
        for name in ("c1", "c2"):
            assert made.measurements.cause(name, 0, "helpfulness") == "the run was cancelled"

    async def test_halt_lets_what_is_under_way_finish(self) -> None:
        judge = ScriptedJudge()
        judge.hold = asyncio.Event()
        made = evaluator(judge, ["helpfulness"])
        made.conversation_ended(two_turns(), scenario(), 0)
        await asyncio.sleep(0)
        made.halt("the deadline was reached")
        made.conversation_ended(two_turns("c2"), scenario(), 0)
        judge.hold.set()
        await made.settle()

        assert made.measurements.get("c1", 0, "helpfulness") is not None
        assert made.measurements.get("c2", 0, "helpfulness") is None

    async def test_settle_can_be_given_up_without_losing_what_comes_in(self) -> None:
        judge = ScriptedJudge()
        judge.hold = asyncio.Event()
        made = evaluator(judge, ["helpfulness"])
        made.conversation_ended(two_turns(), scenario(), 0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(made.settle(), 0.01)
        judge.hold.set()
        await made.settle()

        assert made.measurements.get("c1", 0, "helpfulness") is not None


class TestResume:
    async def test_what_was_measured_is_not_paid_for_again(self) -> None:
        kept: list[str] = []

        def half(question: Question[Any], number: int) -> object:
            if question.name == "judge_goal":
                raise LLMUnavailable("HTTP 500")
            return good(question, number)

        first = await judged(half, two_turns(), on_measured=lambda judgement: kept.append(judgement.model_dump_json()))
        judge = ScriptedJudge()
        resumed = evaluator(judge)
        for line in kept:
            resumed.restore(Judgement.model_validate_json(line))
        resumed.conversation_ended(two_turns(), scenario(), 0)
        await resumed.settle()

        assert [question.name for question in judge.questions] == ["judge_goal"]
        assert resumed.measurements.get("c1", 1, "verbosity") == first.measurements.get("c1", 1, "verbosity")
        assert resumed.measurements.get("c1", None, "goal_completion") is not None

    async def test_a_half_measured_turn_is_asked_for_its_rest(self) -> None:
        judge = ScriptedJudge()
        made = evaluator(judge, ["helpfulness", "coherence"])
        coherence = Measured(metric="coherence", value=3, reason="r")
        made.restore(Judgement(conversation_id="c1", turn_id=0, measured=(coherence,)))
        made.conversation_ended(conversation(user(0), agent(0)), scenario(), 0)
        await made.settle()

        assert metrics_asked(judge.questions[0]) == ("helpfulness",)


class TestCustomMetrics:
    async def test_a_turn_metric_sees_the_conversation_so_far(self) -> None:
        host = Host(QuantResult(name="other", value=2, reason="r", metadata={"k": [1]}))
        held = conversation(user(0, "a"), agent(0, "b"), user(1, "c"), agent(1, "d", [TOOL_CALL]))
        made = evaluator(ScriptedJudge(), custom_metrics=[custom()], host=host)
        made.conversation_ended(held, scenario("Opens at nine.", "Closes at six."), 0)
        await made.settle()

        assert host.inputs[1] == (
            "clarity",
            {
                "chat_history": [
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"},
                    {"role": "user", "content": "c"},
                    {"role": "assistant", "content": "d"},
                ],
                "current_turn": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}],
                "knowledge": "Knowledge 1:\nOpens at nine.\n\nKnowledge 2:\nCloses at six.",
                "user_goal": "You want to know when the shop opens.",
                "profile": "You are brief.",
                "tool_calls": [TOOL_CALL.model_dump()],
            },
        )
        measured = made.measurements.get("c1", 1, "clarity")
        assert measured is not None
        assert (measured.value, measured.metadata) == (2, {"k": [1]})

    async def test_the_questions_of_a_metric_are_told_apart_by_repetition_and_turn(self) -> None:
        host = Host(QuantResult(name="other", value=2))
        held = conversation(user(0, "a"), agent(0, "b"), user(1, "a"), agent(1, "b"))
        made = evaluator(ScriptedJudge(), custom_metrics=[custom(), custom("whole", scope="conversation")], host=host)
        made.conversation_ended(held, scenario(), 0)
        made.conversation_ended(held.model_copy(update={"conversation_id": "c2"}), scenario(), 1)
        await made.settle()

        assert len(set(host.cases)) == len(host.cases) == 6

    async def test_a_conversation_metric_sees_the_whole_conversation_once(self) -> None:
        host = Host(QualResult(name="needs", value="partial"))
        made = await judged_by_host(host, custom("needs", "qualitative", "conversation", None))

        (seen,) = host.inputs
        assert len(seen[1]["chat_history"]) == 4
        assert seen[1]["current_turn"] == []
        measured = made.measurements.get("c1", None, "needs")
        assert measured is not None
        assert measured.value == "partial"

    @pytest.mark.parametrize(
        ("result", "cause"),
        [
            (
                QuantResult(name="clarity", value=7),
                "the metric returned 7, outside its score_range 0 to 5: fix the metric, or widen its score_range",
            ),
            (
                QuantResult(name="clarity", value=float("nan")),
                "the metric returned nan, which is no number: fix the metric",
            ),
            (
                QuantResult(name="clarity", value=float("inf")),
                "the metric returned inf, which is no number: fix the metric",
            ),
            (
                QualResult(name="clarity", value="good"),
                "the metric is numeric but returned a QualResult: fix the metric",
            ),
            (UserCodeFailed("ZeroDivisionError in metrics.py, line 4"), "ZeroDivisionError in metrics.py, line 4"),
        ],
    )
    async def test_a_result_that_is_none_costs_its_own_value_only(self, result: Any, cause: str) -> None:
        made = await judged_by_host(Host(result), custom())

        assert made.measurements.get("c1", 0, "clarity") is None
        assert made.measurements.cause("c1", 0, "clarity") == cause
        assert made.measurements.get("c1", 0, "helpfulness") is not None

    async def test_a_failed_metric_is_run_again(self) -> None:
        host = Host(UserCodeFailed("the worker died"), QuantResult(name="clarity", value=5))
        made = await judged_by_host(host, custom(), conversation(user(0), agent(0)))

        assert made.measurements.get("c1", 0, "clarity") is not None

    async def test_what_it_returns_can_be_written_to_a_file(self) -> None:
        result = QualResult(
            name="tone", value="bad\ud800", reason="\udc00", metadata={"\ud800": float("nan"), "b": "\ud800"}
        )
        made = await judged_by_host(Host(result), custom("tone", "qualitative", "turn", None))

        measured = made.measurements.get("c1", 0, "tone")
        assert measured is not None
        assert measured.model_dump_json().encode()
        assert measured.value == "bad\ufffd"
        assert measured.metadata == {"\ufffd": None, "b": "\ufffd"}

    def test_custom_metrics_need_somebody_to_run_them(self) -> None:
        with pytest.raises(ValueError, match="host"):
            evaluator(ScriptedJudge(), custom_metrics=[custom()])
