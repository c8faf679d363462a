"""What of an interrupted run is taken over, and when a run needs no resuming."""

from __future__ import annotations

import pytest

from arksim_ci.journal.lines import Header, Recorded
from arksim_ci.pipeline.conversations import test_cases
from arksim_ci.pipeline.record import Record, is_complete, is_finished
from arksim_ci.schema.judgement import Judgement, Measured
from arksim_ci.schema.simulation import Conversation, Message, Silence, SimulatedUserPrompt
from arksim_ci.schema.verdict import (
    AgentNeverSpoke,
    Failure,
    FailureLabelFound,
    IncompleteCoverage,
    MetricBelowMinPassRate,
    MetricNotEvaluated,
    RunNotCompleted,
)
from tests.support import samples
from tests.unit.pipeline.test_conversations import scenarios

HEADER = Header(inputs={}, simulation_id="s", evaluation_id="e", started_at="2026-01-01T00:00:00Z")


def conversation(conversation_id: str, turns: int = 1, silence: Silence | None = None, cause: str = "") -> Conversation:
    history = [
        Message(turn_id=turn, message_id=f"{turn}{role}", role=role, content="text")
        for turn in range(turns)
        for role in ("simulated_user", "assistant")
    ]
    return Conversation(
        conversation_id=conversation_id,
        scenario_id="***",
        conversation_history=history,
        simulated_user_prompt=SimulatedUserPrompt(simulated_user_prompt_template="", variables={}),
        agent_silence=silence,
        not_finished=cause or None,
    )


def judgement(conversation_id: str) -> Judgement:
    measured = (Measured(metric="clarity", value=4, reason=None),)
    return Judgement(conversation_id=conversation_id, turn_id=0, measured=measured)


NEVER = Silence(kind="never_spoke", cause="HTTP 500")
STOPPED = Silence(kind="stopped_answering", cause="HTTP 500")


@pytest.mark.parametrize(
    ("held", "finished"),
    [
        (conversation("c"), True),
        (conversation("c", silence=STOPPED), True),
        (conversation("c", turns=0, silence=NEVER), False),
        (conversation("c", cause="the run was cancelled"), False),
        (conversation("c", turns=0, cause="the run was cancelled"), False),
    ],
)
def test_which_conversations_need_not_be_held_again(held: Conversation, finished: bool) -> None:
    assert is_finished(held) is finished


def test_finished_test_cases_get_their_ids_back_and_the_others_new_ones() -> None:
    cases = test_cases(scenarios("a", "b"), 2, iter(["n0", "n1", "n2", "n3"]).__next__)
    earlier = Recorded(
        HEADER,
        {
            0: conversation("c0"),
            1: conversation("c1", cause="cancelled"),
            3: conversation("c3"),
            9: conversation("c9"),
        },
        (judgement("c0"), judgement("c1"), judgement("c3"), judgement("c9"), judgement("gone")),
    )
    with_ids, reused = Record(None, HEADER, earlier, str).take_over(cases)
    assert [case.conversation_id for case in with_ids] == ["c0", "n1", "n2", "c3"]
    assert [case.repetition for case in with_ids] == [0, 1, 0, 1]
    assert {name: each.scenario_id for name, each in reused.conversations.items()} == {"c0": "a", "c3": "b"}
    assert [each.conversation_id for each in reused.judgements] == ["c0", "c3"]


def test_two_test_cases_never_share_a_conversation() -> None:
    cases = test_cases(scenarios("a"), 2, iter(["n0", "n1"]).__next__)
    earlier = Recorded(HEADER, {0: conversation("c0"), 1: conversation("c0")})
    with_ids, reused = Record(None, HEADER, earlier, str).take_over(cases)
    assert [case.conversation_id for case in with_ids] == ["c0", "n1"]
    assert list(reused.conversations) == ["c0"]


def test_without_an_earlier_run_nothing_is_taken_over() -> None:
    cases = test_cases(scenarios("a"), 2, iter(["n0", "n1"]).__next__)
    record = Record(None, HEADER, None, str)
    with_ids, reused = record.take_over(cases)
    assert with_ids == cases
    assert (reused.conversations, reused.judgements) == ({}, [])
    assert record.resumed(0, 0) == ""
    assert "1 finished conversation and 3 judgements were reused" in record.resumed(1, 3)


GATE: list[Failure] = [
    AgentNeverSpoke(never_spoke=1, stopped_answering=0, test_cases=2, max_share=0),
    MetricBelowMinPassRate(metric="m", threshold=3, pass_rate=0.5, min_pass_rate=1, inherited=True),
    FailureLabelFound(metric="m", label="l", conversation_id="c", turn_id=0),
]
GAPS: list[Failure] = [
    RunNotCompleted(status="CANCELLED", cause="the run was cancelled"),
    IncompleteCoverage(unit="turns", evaluated=1, expected=2),
    MetricNotEvaluated(metric="m", evaluated=1, expected=2, causes=[]),
]


def test_a_run_that_measured_what_its_verdict_needs_is_complete() -> None:
    verdict = samples.all_green().verdict
    assert is_complete(verdict)
    assert is_complete(verdict.model_copy(update={"failures": GATE}))
    for gap in GAPS:
        assert not is_complete(verdict.model_copy(update={"failures": [*GATE, gap]}))
