"""The decision: a pure function of what was measured and what should have been.

Written so that, at default tolerances, removing or spoiling any part of the evaluation never turns a failing verdict
into a passing one: a check passes only where every value that it reads is there and good.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Final, Literal

from arksim_ci.gates.assertions import check_assertions
from arksim_ci.gates.coverage import broken_off, causes_of, coverage_of, gap_warnings, shortfall, tally
from arksim_ci.gates.exit_codes import EXIT_EVAL_FAILED, EXIT_INTERNAL_ERROR, EXIT_OK
from arksim_ci.gates.labels import check_labels
from arksim_ci.gates.measurements import Measurements, spoiled_entries, took_place
from arksim_ci.gates.rates import CheckResult, at_least
from arksim_ci.gates.thresholds import check_threshold
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.expectation import Expectation, ExpectedConversation
from arksim_ci.schema.verdict import (
    AgentNeverSpoke,
    AssertionFailed,
    Coverage,
    Failure,
    FailureLabelFound,
    IncompleteCoverage,
    MetricBelowMinPassRate,
    MetricNotEvaluated,
    RunNotCompleted,
    Verdict,
)

SCHEMA_VERSION: Final = "v1"
_GATE_FAILURES: Final = (AgentNeverSpoke, MetricBelowMinPassRate, FailureLabelFound, AssertionFailed)


def decide(evaluation: Evaluation, expectation: Expectation, *, generated_at: str | None = None) -> Verdict:
    """Decide a run. Never raises on what the schema allows.

    Test cases in which the agent fell silent take no part in checks and coverage; where there are more of them than
    allowed, that is a failure of its own. Without any check (no threshold, label or assertion) everything has to be
    measured, and `passed` is None where it was.

    Args:
        evaluation: what the judge made of the conversations.
        expectation: what should have been measured, and the gates.
        generated_at: the verdict's time stamp, ISO 8601; by default that of the evaluation.

    Returns:
        The verdict. `exit_code` is 1 where a gate failed, else 3 where `failures` is not empty, else 0.
    """
    conversations = _with_an_answering_agent(expectation)
    measurements = Measurements(evaluation, expectation)
    results, failed_assertions = _checks(expectation, conversations, measurements)
    counted = tally(conversations, expectation.metrics, measurements)
    silence = _too_much_silence(expectation)

    failures: list[Failure] = [*_not_completed(expectation), *silence]
    assertion_held = any(item.check.kind == "assertion" and item.check.evaluated_conversations for item in results)
    if not counted.evaluated_values and (counted.expected_values or not assertion_held):
        # Whatever `min_coverage` allows: nothing measured is nothing shown.
        if conversations or not silence:
            tested = len(conversations or expectation.conversations)
            failures.append(IncompleteCoverage(unit="conversations", evaluated=0, expected=tested))
    else:
        read = [metric for metric in expectation.metrics if not results or any(metric in item.read for item in results)]
        relevant = tally(conversations, read, measurements)
        failures += shortfall(relevant, expectation.gates.min_coverage, gated=bool(results))
    for result in results:
        failures += _failures_of(result, failed_assertions)

    reported = {metric.name for item in results if _is_undecided(item) for metric in item.read}
    return _verdict(
        expectation,
        failures,
        results,
        evaluation_id=evaluation.evaluation_id,
        simulation_id=evaluation.simulation_id,
        generated_at=evaluation.generated_at if generated_at is None else generated_at,
        coverage=coverage_of(counted),
        warnings=[
            *gap_warnings(conversations, expectation.metrics, measurements, reported),
            *_nothing_to_read(results),
            *spoiled_entries(evaluation, expectation),
        ],
    )


def decide_simulation(expectation: Expectation, *, simulation_id: str, generated_at: str) -> Verdict:
    """Decide a run that only simulates: by the agent's silence, and by whether every conversation came to its end.

    Args:
        expectation: the test cases as they were held. Thresholds, labels and assertions are not read.
        simulation_id: the id of the simulation file.
        generated_at: the verdict's time stamp, ISO 8601.

    Returns:
        A verdict without checks and without an evaluation id.
    """
    conversations = _with_an_answering_agent(expectation)
    held = sum(took_place(conversation) for conversation in conversations)
    silence = _too_much_silence(expectation)
    failures: list[Failure] = [*_not_completed(expectation), *silence]
    if not conversations:
        if not silence:
            tested = len(expectation.conversations)
            failures.append(IncompleteCoverage(unit="conversations", evaluated=0, expected=tested))
    elif not held or not at_least(held, expectation.gates.min_coverage * len(conversations)):
        failures.append(IncompleteCoverage(unit="conversations", evaluated=held, expected=len(conversations)))
    nothing = Coverage(
        expected_conversations=len(conversations),
        simulated_conversations=held,
        evaluated_conversations=0,
        expected_turns=0,
        evaluated_turns=0,
        expected_metric_values=0,
        evaluated_metric_values=0,
    )
    return _verdict(
        expectation,
        failures,
        [],
        evaluation_id="",
        simulation_id=simulation_id,
        generated_at=generated_at,
        coverage=nothing,
        warnings=broken_off(conversations),
    )


def exit_code_of(failures: Sequence[Failure]) -> Literal[0, 1, 3]:
    """The exit code that failures mean: a failed gate wins over what could not be measured."""
    if any(isinstance(failure, _GATE_FAILURES) for failure in failures):
        return EXIT_EVAL_FAILED
    return EXIT_INTERNAL_ERROR if failures else EXIT_OK


def _with_an_answering_agent(expectation: Expectation) -> list[ExpectedConversation]:
    return [conversation for conversation in expectation.conversations if conversation.silence is None]


def _checks(
    expectation: Expectation, conversations: list[ExpectedConversation], measurements: Measurements
) -> tuple[list[CheckResult], list[AssertionFailed]]:
    gates = expectation.gates
    results = [
        check_threshold(name, threshold, conversations, expectation, measurements)
        for name, threshold in gates.numeric_thresholds.items()
    ]
    results += [
        check_labels(name, forbidden, conversations, expectation, measurements)
        for name, forbidden in gates.qualitative_failure_labels.items()
    ]
    failed: list[AssertionFailed] = []
    if any(conversation.assertions for conversation in expectation.conversations):
        result, failed = check_assertions(conversations, gates)
        results.append(result)
    return results, failed


def _not_completed(expectation: Expectation) -> list[Failure]:
    if expectation.status == "COMPLETED":
        return []
    return [RunNotCompleted(status=expectation.status, cause=expectation.status_cause)]


def _silent(expectation: Expectation) -> tuple[int, int]:
    """In how many test cases the agent never spoke, and in how many it stopped answering."""
    kinds = [conversation.silence.kind for conversation in expectation.conversations if conversation.silence]
    return kinds.count("never_spoke"), kinds.count("stopped_answering")


def _too_much_silence(expectation: Expectation) -> list[Failure]:
    never_spoke, stopped_answering = _silent(expectation)
    silent, tested = never_spoke + stopped_answering, len(expectation.conversations)
    allowed = expectation.gates.max_never_spoke_share
    if not silent or at_least(allowed, silent / tested):
        return []
    return [
        AgentNeverSpoke(
            never_spoke=never_spoke, stopped_answering=stopped_answering, test_cases=tested, max_share=allowed
        )
    ]


def _is_undecided(result: CheckResult) -> bool:
    return bool(result.expected_conversations) and (not result.covered or result.check.passed is None)


def _failures_of(result: CheckResult, failed_assertions: Sequence[AssertionFailed]) -> list[Failure]:
    check = result.check
    failures: list[Failure] = []
    if check.passed is False:
        if check.kind == "numeric" or not check.inherited:
            failures.append(
                MetricBelowMinPassRate(
                    metric=check.name,
                    threshold=check.threshold,
                    pass_rate=check.pass_rate,
                    min_pass_rate=check.min_pass_rate,
                    inherited=check.inherited,
                )
            )
        if check.kind == "qualitative":
            failures += [
                FailureLabelFound(
                    metric=check.name,
                    label=str(place.value),
                    conversation_id=place.conversation_id,
                    turn_id=place.turn_id,
                )
                for place in check.failing
            ]
        elif check.kind == "assertion":
            failures += failed_assertions
    if _is_undecided(result):
        failures.append(
            MetricNotEvaluated(
                metric=check.name,
                evaluated=check.evaluated_conversations,
                expected=result.expected_conversations,
                causes=causes_of(result.gaps),
            )
        )
    return failures


def _silence_tolerated(expectation: Expectation) -> list[str]:
    never_spoke, stopped_answering = _silent(expectation)
    if not never_spoke + stopped_answering or _too_much_silence(expectation):
        return []
    return [
        f"The agent never spoke in {never_spoke} and stopped answering in {stopped_answering} of "
        f"{len(expectation.conversations)} test cases. That is tolerated; they are left out of every check."
    ]


def _nothing_to_read(results: Sequence[CheckResult]) -> list[str]:
    return [
        f"The check {result.check.name} passed because no conversation has anything for it to read."
        for result in results
        if result.check.passed and not result.expected_conversations
    ]


def _verdict(
    expectation: Expectation,
    failures: list[Failure],
    results: Sequence[CheckResult],
    *,
    evaluation_id: str,
    simulation_id: str,
    generated_at: str,
    coverage: Coverage,
    warnings: Sequence[str],
) -> Verdict:
    rates = [result.check.pass_rate for result in results if result.check.pass_rate is not None]
    passed = False if failures else (True if results else None)
    return Verdict(
        schema_version=SCHEMA_VERSION,
        evaluation_id=evaluation_id,
        simulation_id=simulation_id,
        generated_at=generated_at,
        run=expectation.run,
        status=expectation.status,
        passed=passed,
        exit_code=exit_code_of(failures),
        score=mean(rates) * 100 if rates else None,
        checks=[result.check for result in results],
        failures=failures,
        coverage=coverage,
        attempts=expectation.attempts,
        judge=expectation.judge,
        usage=expectation.usage,
        warnings=[*expectation.warnings, *_silence_tolerated(expectation), *warnings],
        metric_scales={metric.name: metric.scale for metric in expectation.metrics if metric.scale},
    )
