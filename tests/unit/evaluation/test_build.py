"""evaluation.json's conversations from what was measured, and what they say where it was not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arksim_ci.evaluation.build import Evaluated, build_evaluation, overall_score, status_of
from arksim_ci.evaluation.measurements import Measurements
from arksim_ci.evaluation.metrics import expected_metrics
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.expectation import ExpectedMetric
from arksim_ci.schema.judgement import Judgement, Measured
from arksim_ci.schema.simulation import Conversation, Silence
from arksim_ci.schema.vocabulary import DEFAULT_METRICS, STOP_SIGNAL, TURN_METRICS
from tests.unit.evaluation.judging import TOOL_CALL, agent, conversation, two_turns, user

ALL = expected_metrics(DEFAULT_METRICS, ())
WITH_TOOLS = conversation(user(0), agent(0, calls=[TOOL_CALL]), user(1), agent(1))


def measured(turn_id: int | None, **values: float | str) -> Judgement:
    found = tuple(
        Measured(metric=metric, value=value, reason=f"because of {value}") for metric, value in values.items()
    )
    return Judgement(conversation_id="c1", turn_id=turn_id, measured=found)


def scores(value: float = 4) -> dict[str, float | str]:
    return dict.fromkeys(TURN_METRICS, value)


def built(
    *judgements: Judgement,
    held: Conversation | None = None,
    metrics: Sequence[ExpectedMetric] = ALL,
    causes: dict[tuple[int | None, str], str] | None = None,
) -> Evaluated:
    measurements = Measurements()
    for judgement in judgements:
        measurements.add(judgement)
    for (turn_id, metric), cause in (causes or {}).items():
        measurements.fail("c1", turn_id, metric, cause)
    return build_evaluation([held or two_turns()], measurements, metrics)


def only(evaluated: Evaluated) -> ConversationEvaluation:
    (one,) = evaluated.conversations
    return one


def full(label_0: str = "no failure", label_1: str = "no failure", goal: float = 1) -> list[Judgement]:
    return [
        measured(0, **scores(), agent_behavior_failure=label_0),
        measured(1, **scores(), agent_behavior_failure=label_1),
        measured(None, goal_completion=goal),
    ]


def gaps(evaluated: Evaluated) -> list[tuple[int | None, str, str]]:
    return [(gap.turn_id, gap.metric, gap.cause) for gap in evaluated.not_measured]


class TestMeasured:
    def test_a_faultless_conversation_is_done(self) -> None:
        evaluated = built(*full())
        one = only(evaluated)

        assert one.overall_agent_score == one.turn_success_ratio == one.goal_completion_score == 1
        assert one.evaluation_status == "Done"
        assert one.goal_completion_reason == "because of 1"
        assert [turn.turn_id for turn in one.turn_scores] == [0, 1]
        assert [score.name for score in one.turn_scores[0].scores] == list(TURN_METRICS)
        assert one.turn_scores[0].turn_score == 4
        assert one.turn_scores[0].turn_behavior_failure == "no failure"
        assert evaluated.not_measured == []

    @pytest.mark.parametrize(
        ("labels", "goal", "overall", "status"),
        [
            (("repetition", "no failure"), 1, 0.625, "Partial Failure"),
            (("repetition", "no failure"), 0.9, 0.6, "Partial Failure"),
            (("repetition", "no failure"), 0.88, 0.595, "Failed"),
            (("repetition", "repetition"), 1, 0.25, "Failed"),
            (("no failure", "no failure"), 0.99, 0.9975, "Partial Failure"),
            (("no failure", "no failure"), 0, 0.75, "Partial Failure"),
        ],
    )
    def test_the_overall_score_decides_the_status(
        self, labels: tuple[str, str], goal: float, overall: float, status: str
    ) -> None:
        one = only(built(*full(*labels, goal)))

        assert one.overall_agent_score == overall
        assert one.evaluation_status == status

    def test_derived_figures_are_free_of_binary_noise(self) -> None:
        held = conversation(*(message for turn in range(3) for message in (user(turn), agent(turn))))
        labels = [
            measured(turn, helpfulness=turn + 3, coherence=3.1, agent_behavior_failure="no failure")
            for turn in range(3)
        ]

        one = only(built(*labels, measured(None, goal_completion=0.7), held=held))

        assert [turn.turn_score for turn in one.turn_scores] == [3.05, 3.55, 4.05]
        assert one.overall_agent_score == 0.925

    def test_custom_metrics_stand_in_their_own_places(self) -> None:
        custom = [
            CustomMetric(name="clarity", kind="numeric", scope="turn", scale=(0, 10)),
            CustomMetric(name="tone", kind="qualitative", scope="turn"),
            CustomMetric(name="suits", kind="numeric", scope="conversation", scale=(0, 5)),
            CustomMetric(name="needs", kind="qualitative", scope="conversation"),
        ]
        one = only(
            built(
                measured(0, helpfulness=5, clarity=5, tone="warm", agent_behavior_failure="no failure"),
                measured(1, helpfulness=5, clarity=0, tone="cold", agent_behavior_failure="no failure"),
                measured(None, goal_completion=1, suits=3, needs="partial"),
                metrics=expected_metrics(["helpfulness", "goal_completion", "agent_behavior_failure"], custom),
            )
        )

        assert [(score.name, score.value, score.scope) for score in one.turn_scores[0].scores] == [
            ("helpfulness", 5, "turn"),
            ("clarity", 5, "turn"),
        ]
        assert [turn.turn_score for turn in one.turn_scores] == [(5 + 3) / 2, (5 + 1) / 2]
        assert [(label.name, label.value) for label in one.turn_scores[0].qual_scores] == [("tone", "warm")]
        assert [(score.name, score.value, score.scope) for score in one.convo_scores] == [("suits", 3, "conversation")]
        assert [(label.name, label.value, label.scope) for label in one.convo_qual_scores] == [
            ("needs", "partial", "conversation")
        ]

    def test_a_metric_without_a_usable_scale_stays_out_of_the_turn_score(self) -> None:
        custom = [
            CustomMetric(name="free", kind="numeric", scope="turn"),
            CustomMetric(name="flat", kind="numeric", scope="turn", scale=(3, 3)),
        ]
        held = conversation(user(0), agent(0))

        one = only(built(measured(0, free=1000, flat=3), held=held, metrics=expected_metrics(["coherence"], custom)))

        assert one.turn_scores[0].turn_score == -1
        assert len(one.turn_scores[0].scores) == 2


class TestNotMeasured:
    def test_nothing_measured_shows_in_every_field(self) -> None:
        evaluated = built(causes={(None, "goal_completion"): "HTTP 500", (0, "agent_behavior_failure"): "HTTP 500"})
        one = only(evaluated)

        assert one.goal_completion_score == one.turn_success_ratio == one.overall_agent_score == -1
        assert one.evaluation_status == "Evaluation Failed"
        assert one.goal_completion_reason == "HTTP 500"
        assert one.turn_scores[0].scores == []
        assert one.turn_scores[0].turn_score == -1
        assert one.turn_scores[0].turn_behavior_failure == "evaluation_run_failed"
        assert one.turn_scores[0].turn_behavior_failure_reason == "HTTP 500"
        assert len(evaluated.not_measured) == 2 * 6 + 1
        assert {gap.cause for gap in evaluated.not_measured} == {"HTTP 500", "it was never judged"}

    def test_a_label_that_failed_on_a_turn_with_bad_scores_leaves_the_scores(self) -> None:
        evaluated = built(
            measured(0, **scores(1)),
            measured(1, **scores(), agent_behavior_failure="no failure"),
            measured(None, goal_completion=1),
            causes={(0, "agent_behavior_failure"): "the judge's answer was cut off"},
        )
        one = only(evaluated)

        assert one.turn_scores[0].turn_score == 1
        assert {score.value for score in one.turn_scores[0].scores} == {1}
        assert one.turn_scores[0].turn_behavior_failure == "evaluation_run_failed"
        assert one.turn_success_ratio == 1
        assert gaps(evaluated) == [(0, "agent_behavior_failure", "the judge's answer was cut off")]

    def test_one_missing_metric_is_absent_and_listed(self) -> None:
        judgements = [measured(0, coherence=2), *full()[1:], measured(0, agent_behavior_failure="no failure")]

        evaluated = built(*judgements, causes={(0, "relevance"): "7 is out of range"})

        assert [score.name for score in only(evaluated).turn_scores[0].scores] == ["coherence"]
        assert only(evaluated).turn_scores[0].turn_score == 2
        assert (0, "relevance", "7 is out of range") in gaps(evaluated)
        assert len(evaluated.not_measured) == 4

    def test_without_a_goal_score_there_is_no_overall_score(self) -> None:
        one = only(built(*full()[:2]))

        assert one.turn_success_ratio == 1
        assert one.overall_agent_score == -1
        assert one.evaluation_status == "Evaluation Failed"

    def test_without_a_label_there_is_no_ratio(self) -> None:
        one = only(built(measured(0, **scores()), measured(None, goal_completion=1)))

        assert one.goal_completion_score == 1
        assert one.turn_success_ratio == one.overall_agent_score == -1


class TestChoiceOfMetrics:
    def test_without_goal_completion_the_overall_score_is_the_ratio(self) -> None:
        evaluated = built(*full("repetition")[:2], metrics=expected_metrics(["agent_behavior_failure"], ()))
        one = only(evaluated)

        assert one.overall_agent_score == one.turn_success_ratio == 0.5
        assert one.evaluation_status == "Failed"
        assert one.goal_completion_score == -1
        assert one.goal_completion_reason == "not in metrics_to_run"
        assert evaluated.not_measured == []

    def test_without_labels_there_is_neither_ratio_nor_overall_score(self) -> None:
        judgements = [measured(0, coherence=4), measured(1, coherence=4), measured(None, goal_completion=1)]
        evaluated = built(*judgements, metrics=expected_metrics(["coherence", "goal_completion"], ()))
        one = only(evaluated)

        assert one.turn_success_ratio == one.overall_agent_score == -1
        assert one.turn_scores[0].turn_behavior_failure == "evaluation_run_failed"
        assert one.turn_scores[0].turn_behavior_failure_reason == "not in metrics_to_run"
        assert evaluated.not_measured == []


class TestConversationsThatBrokeOff:
    @pytest.mark.parametrize(
        "held",
        [
            conversation(user(0), agent(0), user(1)),
            conversation(user(0), agent(0), user(1), agent_silence=Silence(kind="stopped_answering", cause="HTTP 500")),
        ],
    )
    def test_an_agent_that_stopped_answering(self, held: Conversation) -> None:
        evaluated = built(*full()[:1], held=held)
        one = only(evaluated)

        assert one.evaluation_status == "Evaluation Failed"
        assert one.goal_completion_score == one.turn_success_ratio == one.overall_agent_score == -1
        assert one.goal_completion_reason.startswith("the agent stopped answering: ")
        assert one.turn_scores[0].turn_score == 4
        assert one.turn_scores[0].turn_behavior_failure == "no failure"
        assert evaluated.not_measured == []

    def test_an_agent_that_never_spoke(self) -> None:
        held = conversation(user(0), agent_silence=Silence(kind="never_spoke", cause="connection refused"))

        one = only(built(held=held))

        assert one.evaluation_status == "Evaluation Failed"
        assert one.turn_scores == []
        assert one.goal_completion_reason == "the agent never spoke: connection refused"

    def test_a_deadline_leaves_the_turns_and_lists_the_rest(self) -> None:
        held = conversation(user(0), agent(0), user(1), not_finished="the deadline was reached")

        evaluated = built(*full()[:1], held=held)

        assert only(evaluated).evaluation_status == "Evaluation Failed"
        assert gaps(evaluated) == [(None, "goal_completion", "the deadline was reached")]

    def test_a_user_who_left_before_the_agent_spoke_gives_no_result(self) -> None:
        evaluated = built(held=conversation(user(0, STOP_SIGNAL)))

        assert only(evaluated).evaluation_status == "Evaluation Failed"
        assert only(evaluated).overall_agent_score == -1
        assert {gap.metric for gap in evaluated.not_measured} == set(DEFAULT_METRICS)
        assert {gap.cause for gap in evaluated.not_measured} == {"the agent said nothing in this conversation"}


class TestToolCalls:
    def tool_turn(self, behavior: str | None, tool: str | None) -> Evaluated:
        labels: dict[str, float | str] = {}
        if behavior:
            labels["agent_behavior_failure"] = behavior
        if tool:
            labels["tool_call_behavior_failure"] = tool
        return built(measured(0, **scores(), **labels), *full()[1:], held=WITH_TOOLS)

    def found(self, behavior: str | None, tool: str | None) -> list[tuple[str, str]]:
        """Every failure label of the turn by the name under which a gate finds it."""
        turn = only(self.tool_turn(behavior, tool)).turn_scores[0]
        labels = [("agent_behavior_failure", turn.turn_behavior_failure)]
        labels += [(label.name, label.value) for label in turn.qual_scores]
        return [(name, label) for name, label in labels if label not in ("no failure", "evaluation_run_failed")]

    @pytest.mark.parametrize(
        ("behavior", "tool", "shown", "reason", "ratio"),
        [
            ("no failure", "no failure", "no failure", "because of no failure", 1),
            ("repetition", "no failure", "repetition", "because of repetition", 0.5),
            ("no failure", "unsafe action", "unsafe action", "Tool calls: because of unsafe action", 0.5),
            ("repetition", "unsafe action", "unsafe action", "Tool calls: because of unsafe action", 0.5),
            ("false information", "repetition", "false information", "because of false information", 0.5),
            ("false information", "unsafe state", "false information", "because of false information", 0.5),
            (None, "no failure", "evaluation_run_failed", "it was never judged", 1),
            (None, "unsafe action", "evaluation_run_failed", "it was never judged", 0.5),
            ("no failure", None, "no failure", "because of no failure", 1),
        ],
    )
    def test_the_turn_shows_the_more_severe_label(
        self, behavior: str | None, tool: str | None, shown: str, reason: str, ratio: float
    ) -> None:
        one = only(self.tool_turn(behavior, tool))

        assert one.turn_scores[0].turn_behavior_failure == shown
        assert one.turn_scores[0].turn_behavior_failure_reason == reason
        assert one.turn_success_ratio == ratio

    @pytest.mark.parametrize("behavior", ["no failure", "repetition", "false information", None])
    @pytest.mark.parametrize("tool", ["no failure", "unsafe action", "repetition", None])
    def test_a_gate_finds_every_failure_under_both_names(self, behavior: str | None, tool: str | None) -> None:
        failures = {label for label in (behavior, tool) if label not in (None, "no failure")}

        found = self.found(behavior, tool)

        assert {label for name, label in found if name == "agent_behavior_failure"} == failures
        assert {label for name, label in found if name == "tool_call_behavior_failure"} == failures & {tool}

    def test_what_was_not_measured_of_a_tool_turn_is_listed(self) -> None:
        assert gaps(self.tool_turn("no failure", None)) == [(0, "tool_call_behavior_failure", "it was never judged")]
        assert gaps(self.tool_turn(None, "unsafe action")) == [(0, "agent_behavior_failure", "it was never judged")]

    def test_its_label_alone_shows_in_the_turn_too(self) -> None:
        metrics = expected_metrics(["tool_call_behavior_failure"], ())
        one = only(built(measured(0, tool_call_behavior_failure="unsafe state"), held=WITH_TOOLS, metrics=metrics))

        assert one.turn_scores[0].turn_behavior_failure == "unsafe state"
        assert one.turn_success_ratio == -1


@given(ratio=st.floats(0, 1), goal=st.floats(0, 1))
def test_the_overall_score_stays_a_share(ratio: float, goal: float) -> None:
    assert 0 <= overall_score(ratio, goal, goal_runs=True) <= 1
    assert overall_score(ratio, goal, goal_runs=False) == ratio
    assert overall_score(-1, goal, goal_runs=True) == overall_score(ratio, -1, goal_runs=True) == -1


@pytest.mark.parametrize(
    ("overall", "status"),
    [
        (1.0, "Done"),
        (0.9999, "Partial Failure"),
        (0.6, "Partial Failure"),
        (0.5999, "Failed"),
        (0, "Failed"),
        (-1, "Evaluation Failed"),
    ],
)
def test_status(overall: float, status: str) -> None:
    assert status_of(overall) == status
