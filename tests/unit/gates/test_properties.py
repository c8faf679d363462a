"""What holds for every evaluation: nothing that is removed or spoiled ever helps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from arksim_ci.gates.measurements import Measurements
from arksim_ci.gates.verdict import decide, decide_simulation
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.expectation import Expectation, ExpectedConversation, ExpectedMetric, ExpectedTurn
from arksim_ci.schema.scenario import ExpectedToolCall
from arksim_ci.schema.vocabulary import TURN_METRICS
from tests.unit.gates.builders import BUILTIN, asserts, call, expectation, held

CUSTOM = (
    ExpectedMetric(name="clarity", kind="numeric", scope="turn", scale=(0, 10)),
    ExpectedMetric(name="latency", kind="numeric", scope="turn"),
    ExpectedMetric(name="fit", kind="numeric", scope="conversation", scale=(0, 5)),
    ExpectedMetric(name="statements", kind="qualitative", scope="turn"),
    ExpectedMetric(name="needs", kind="qualitative", scope="conversation"),
)
ALL = (*BUILTIN, *CUSTOM)
NUMERIC = [metric.name for metric in ALL if metric.kind == "numeric"] + ["overall_score"]
QUALITATIVE = [metric.name for metric in ALL if metric.kind == "qualitative"]
LOOSE_NUMBERS = st.one_of(st.sampled_from([1.0, 3.0, 5.0, 0.0, 0.5, 9.0]), st.just(-1.0), st.just(math.nan))
LOOSE_LABELS = st.sampled_from(["no failure", "False information", "unsafe action", "evaluation_run_failed", "odd"])
OK_OR_BAD = st.sampled_from(["ok", "bad"])


@st.composite
def cases(draw: st.DrawFn) -> list[ExpectedConversation]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        turns = tuple(
            ExpectedTurn(turn_id=turn_id, tool_calls=(call("lookup"),) if draw(st.booleans()) else ())
            for turn_id in range(draw(st.integers(1, 3)))
        )
        fate = draw(st.sampled_from(["ended"] * 6 + ["silent", "broke off"]))
        assertion = asserts(ExpectedToolCall(name="lookup"), mode="within")
        found.append(
            held(
                f"c{number}",
                turns if draw(st.integers(0, 9)) else (),
                silence="stopped_answering" if fate == "silent" else None,
                not_finished="outage" if fate == "broke off" else None,
                assertions=[assertion] if draw(st.booleans()) else [],
            )
        )
    return found


@st.composite
def expectations(draw: st.DrawFn, *, tolerant: bool = False) -> Expectation:
    shares = st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0])
    rates = st.one_of(shares, st.dictionaries(st.sampled_from([*NUMERIC, *QUALITATIVE, "assertions"]), shares))
    return expectation(
        *draw(cases()),
        metrics=[metric for metric in ALL if draw(st.integers(0, 5))],
        thresholds=draw(st.dictionaries(st.sampled_from(NUMERIC), st.sampled_from([0.4, 1.0, 3.0]), max_size=3)),
        labels=draw(
            st.dictionaries(
                st.sampled_from(QUALITATIVE), st.just(["false information", "Unsafe Action", "bad"]), max_size=2
            )
        ),
        min_pass_rate=draw(rates) if tolerant else 1.0,
        min_coverage=draw(shares) if tolerant else 1.0,
        max_never_spoke_share=draw(shares) if tolerant else 0.0,
        status=draw(st.sampled_from(["COMPLETED"] * 9 + ["TIMED_OUT"])),
    )


def quality(draw: st.DrawFn) -> tuple[st.SearchStrategy[float], st.SearchStrategy[str]]:
    """Mostly good values, so that passing runs are drawn as well."""
    if draw(st.integers(0, 3)):
        return st.just(5.0), st.just("no failure")
    return LOOSE_NUMBERS, LOOSE_LABELS


@st.composite
def evaluations(draw: st.DrawFn, expected: Expectation) -> Evaluation:
    conversations: list[dict[str, Any]] = []
    for case in expected.conversations:
        numbers, labels = quality(draw)
        share = st.sampled_from([1.0, 0.5, 0.2, -1.0, 2.0]) if draw(st.integers(0, 3)) == 0 else st.just(1.0)
        turns = [
            {
                "turn_id": turn.turn_id,
                "scores": [{"name": name, "value": draw(numbers)} for name in (*TURN_METRICS, "clarity", "latency")],
                "turn_score": 1,
                "turn_behavior_failure": draw(labels),
                "turn_behavior_failure_reason": "",
                "qual_scores": [
                    {"name": "statements", "value": draw(OK_OR_BAD)},
                    *([{"name": "tool_call_behavior_failure", "value": draw(labels)}] if turn.tool_calls else []),
                ],
            }
            for turn in case.turns
        ]
        conversations.append(
            {
                "conversation_id": case.conversation_id,
                "goal_completion_score": draw(share),
                "goal_completion_reason": "",
                "turn_success_ratio": 1,
                "overall_agent_score": draw(share),
                "evaluation_status": "Done",
                "turn_scores": turns,
                "convo_scores": [{"name": "fit", "value": draw(numbers)}],
                "convo_qual_scores": [{"name": "needs", "value": draw(OK_OR_BAD)}],
            }
        )
    return as_evaluation(conversations)


def as_evaluation(conversations: list[dict[str, Any]]) -> Evaluation:
    return Evaluation.model_validate(
        {
            "schema_version": "v1.1",
            "generated_at": "",
            "evaluator_version": "",
            "evaluation_id": "e",
            "simulation_id": "s",
            "conversations": conversations,
            "unique_errors": [],
        }
    )


LISTS = ("turn_scores", "convo_scores", "convo_qual_scores")
NO_NUMBERS = st.sampled_from([-1.0, math.nan, math.inf, -math.inf])
NO_LABELS = st.sampled_from(["evaluation_run_failed", "", "EVALUATION_RUN_FAILED"])


def spoil(draw: st.DrawFn, conversations: list[dict[str, Any]]) -> None:
    """Remove, duplicate or spoil one thing, in place."""
    if not conversations:
        return
    conversation = draw(st.sampled_from(conversations))
    part: list[Any] = conversation[draw(st.sampled_from(LISTS))]
    turn = draw(st.sampled_from(conversation["turn_scores"])) if conversation["turn_scores"] else None
    if turn and draw(st.booleans()):
        part = turn[draw(st.sampled_from(["scores", "qual_scores"]))]

    def change(target: dict[str, Any], key: str, values: st.SearchStrategy[Any]) -> None:
        target[key] = draw(values)

    actions: list[Callable[[], object]] = [
        lambda: conversations.remove(conversation),
        lambda: conversations.append({**conversation}),
        lambda: conversations.append({**conversation, "turn_scores": []}),
        lambda: change(conversation, "conversation_id", st.sampled_from(["stranger", ""])),
        lambda: change(conversation, "goal_completion_score", NO_NUMBERS),
        lambda: change(conversation, "overall_agent_score", NO_NUMBERS),
    ]
    if turn:
        actions += [
            lambda: change(turn, "turn_behavior_failure", st.one_of(NO_LABELS, st.just("gibberish"))),
            lambda: change(turn, "turn_id", st.just(77)),
        ]
    if part:
        entry = draw(st.sampled_from(part))
        actions += [lambda: part.remove(entry), lambda: part.append({**entry})]
        if "value" in entry:
            values: st.SearchStrategy[Any] = NO_LABELS if isinstance(entry["value"], str) else NO_NUMBERS
            actions += [
                lambda: change(entry, "value", values),
                lambda: part.append({**entry, "value": draw(values)}),
                lambda: change(entry, "name", st.just("stranger")),
            ]
    draw(st.sampled_from(actions))()


@st.composite
def runs_and_spoiled(draw: st.DrawFn) -> tuple[Expectation, Evaluation, Evaluation]:
    expected = draw(expectations())
    whole = draw(evaluations(expected))
    conversations = whole.model_dump()["conversations"]
    for _ in range(draw(st.integers(1, 4))):
        spoil(draw, conversations)
    return expected, whole, as_evaluation(conversations)


@st.composite
def tolerant_runs(draw: st.DrawFn) -> tuple[Expectation, Evaluation]:
    expected = draw(expectations(tolerant=True))
    whole = draw(evaluations(expected))
    conversations = whole.model_dump()["conversations"]
    for _ in range(draw(st.integers(0, 3))):
        spoil(draw, conversations)
    return expected, as_evaluation(conversations)


@settings(max_examples=400, deadline=None)
@given(runs_and_spoiled())
def test_nothing_that_is_removed_or_spoiled_turns_a_failing_verdict_into_a_passing_one(
    run: tuple[Expectation, Evaluation, Evaluation],
) -> None:
    expected, whole, spoiled = run
    before, after = decide(whole, expected), decide(spoiled, expected)
    if before.exit_code != 0:
        assert after.exit_code != 0
    for check, again in zip(before.checks, after.checks, strict=True):
        if check.passed is not True:
            assert again.passed is not True


@settings(max_examples=300, deadline=None)
@given(runs_and_spoiled())
def test_exit_0_means_that_everything_the_gates_read_was_measured(
    run: tuple[Expectation, Evaluation, Evaluation],
) -> None:
    expected, _, spoiled = run
    verdict = decide(spoiled, expected)
    if verdict.exit_code != 0:
        return
    measurements = Measurements(spoiled, expected)
    read = {*expected.gates.numeric_thresholds, *expected.gates.qualitative_failure_labels}
    if "overall_score" in read:
        read |= {"goal_completion", "agent_behavior_failure"}
    if "agent_behavior_failure" in read:
        read.add("tool_call_behavior_failure")
    gated = bool(verdict.checks)
    assert expected.status == "COMPLETED"
    assert all(case.silence is None and case.not_finished is None and case.turns for case in expected.conversations)
    assert not [
        gap
        for case in expected.conversations
        for gap in measurements.gaps(case, [item for item in expected.metrics if not gated or item.name in read])
    ]


@settings(max_examples=400, deadline=None)
@given(tolerant_runs())
def test_with_tolerances_every_check_is_decided_by_the_documented_rule(run: tuple[Expectation, Evaluation]) -> None:
    expected, judged = run
    verdict = decide(judged, expected)
    answering = [case for case in expected.conversations if case.silence is None]
    for check in verdict.checks:
        measured, passed = check.evaluated_conversations, check.passed_conversations
        assert passed <= measured
        if not measured:
            assert check.pass_rate is None
            continue
        assert check.pass_rate == passed / measured
        if check.kind == "numeric":
            total = len(answering)
            if measured >= expected.gates.min_coverage * total - 1e-9:
                assert check.passed is (passed / measured >= check.min_pass_rate)
            elif (passed + total - measured) / total < check.min_pass_rate:
                assert check.passed is False
            else:
                assert check.passed is None
    if any(check.passed is False for check in verdict.checks):
        assert verdict.exit_code == 1
    elif any(check.passed is None for check in verdict.checks):
        assert verdict.exit_code != 0


@settings(max_examples=200, deadline=None)
@given(tolerant_runs())
def test_the_decision_is_deterministic_and_consistent(run: tuple[Expectation, Evaluation]) -> None:
    expected, judged = run
    verdict = decide(judged, expected)
    assert verdict == decide(judged.model_copy(deep=True), expected.model_copy(deep=True))
    assert (verdict.exit_code == 0) is (not verdict.failures)
    assert (verdict.passed is False) is bool(verdict.failures)
    assert (verdict.passed is None) is (not verdict.failures and not verdict.checks)
    assert verdict.score is None or 0 <= verdict.score <= 100
    figures = verdict.coverage
    assert figures.evaluated_conversations <= figures.simulated_conversations <= figures.expected_conversations
    assert figures.evaluated_turns <= figures.expected_turns
    assert figures.evaluated_metric_values <= figures.expected_metric_values


@settings(max_examples=200, deadline=None)
@given(tolerant_runs())
def test_the_order_of_conversations_and_turns_decides_nothing(run: tuple[Expectation, Evaluation]) -> None:
    expected, judged = run
    turned = judged.model_copy(
        update={
            "conversations": [
                item.model_copy(update={"turn_scores": item.turn_scores[::-1]}) for item in judged.conversations[::-1]
            ]
        }
    )
    one, other = decide(judged, expected), decide(turned, expected)
    assert one.model_dump(exclude={"warnings"}) == other.model_dump(exclude={"warnings"})


ANY_NUMBER = st.floats(allow_nan=True, allow_infinity=True)
ANY_NAME = st.one_of(
    st.sampled_from(["c0", "c1", "faithfulness", "overall_score", "assertions", ""]), st.text(max_size=3)
)
ANY_METRIC = st.builds(
    ExpectedMetric,
    name=ANY_NAME,
    kind=st.sampled_from(["numeric", "qualitative"]),
    scope=st.sampled_from(["turn", "tool_turn", "conversation"]),
    scale=st.none() | st.tuples(ANY_NUMBER, ANY_NUMBER),
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_the_schema_allows_is_decided(data: st.DataObject) -> None:
    draw = data.draw
    names = st.lists(ANY_NAME, max_size=4)
    expected = expectation(
        *(
            held(name, draw(st.integers(0, 2)), silence=draw(st.sampled_from([None, None, "never_spoke"])))
            for name in draw(names)
        ),
        metrics=draw(st.lists(ANY_METRIC, max_size=5)),
        thresholds=draw(st.dictionaries(ANY_NAME, ANY_NUMBER, max_size=3)),
        labels=draw(st.dictionaries(ANY_NAME, st.lists(st.text(max_size=3), max_size=2), max_size=3)),
        min_pass_rate=draw(ANY_NUMBER),
        min_coverage=draw(ANY_NUMBER),
        max_never_spoke_share=draw(ANY_NUMBER),
    )
    number = st.builds(lambda name, value: {"name": name, "value": value}, ANY_NAME, ANY_NUMBER)
    label = st.builds(lambda name, value: {"name": name, "value": value}, ANY_NAME, st.text(max_size=3))
    judged = as_evaluation(
        [
            {
                "conversation_id": name,
                "goal_completion_score": draw(ANY_NUMBER),
                "goal_completion_reason": "",
                "turn_success_ratio": draw(ANY_NUMBER),
                "overall_agent_score": draw(ANY_NUMBER),
                "evaluation_status": "Failed",
                "turn_scores": [
                    {
                        "turn_id": draw(st.integers(-1, 2)),
                        "scores": draw(st.lists(number, max_size=3)),
                        "turn_score": 0,
                        "turn_behavior_failure": draw(st.text(max_size=3)),
                        "turn_behavior_failure_reason": "",
                        "qual_scores": draw(st.lists(label, max_size=3)),
                    }
                    for _ in range(draw(st.integers(0, 2)))
                ],
                "convo_scores": draw(st.lists(number, max_size=2)),
                "convo_qual_scores": draw(st.lists(label, max_size=2)),
            }
            for name in draw(names)
        ]
    )
    verdict = decide(judged, expected)
    assert verdict.exit_code in (0, 1, 3)
    if not expected.conversations:
        assert verdict.exit_code != 0
    assert decide_simulation(expected, simulation_id="", generated_at="").exit_code in (0, 1, 3)
