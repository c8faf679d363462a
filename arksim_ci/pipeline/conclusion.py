"""From what was measured to the verdict: evaluation, expectation, decision."""

from __future__ import annotations

from collections.abc import Sequence

from arksim_ci import __version__
from arksim_ci.config.checks import gates
from arksim_ci.evaluation.build import Evaluated
from arksim_ci.evaluation.metrics import expected_metrics
from arksim_ci.gates.expectation import expected_conversations
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.stopping import Ending
from arksim_ci.schema.evaluation import ErrorScenarioMapping, Evaluation, UniqueError
from arksim_ci.schema.expectation import Expectation
from arksim_ci.schema.simulation import Conversation, Simulation
from arksim_ci.schema.verdict import Attempts, Judge, Run, Usage

__all__ = ["EVALUATION_SCHEMA", "Ending", "count_attempts", "evaluation_file", "expectation"]

EVALUATION_SCHEMA = "v1.1"


def evaluation_file(
    simulation_id: str,
    evaluation_id: str,
    generated_at: str,
    evaluated: Evaluated,
    errors: Sequence[UniqueError],
    mappings: Sequence[ErrorScenarioMapping],
) -> Evaluation:
    """Put evaluation.json together; each turn names the unique errors that it shows."""
    shown: dict[tuple[str, int], list[str]] = {}
    for error in errors:
        for occurrence in error.occurrences:
            shown.setdefault((occurrence.conversation_id, occurrence.turn_id), []).append(error.unique_error_id)
    conversations = [
        conversation.model_copy(
            update={
                "turn_scores": [
                    turn.model_copy(
                        update={"unique_error_ids": shown.get((conversation.conversation_id, turn.turn_id), [])}
                    )
                    for turn in conversation.turn_scores
                ]
            }
        )
        for conversation in evaluated.conversations
    ]
    return Evaluation(
        schema_version=EVALUATION_SCHEMA,
        generated_at=generated_at,
        evaluator_version=__version__,
        evaluation_id=evaluation_id,
        simulation_id=simulation_id,
        conversations=conversations,
        unique_errors=list(errors),
        error_scenario_mappings=list(mappings),
    )


def expectation(
    plan: Plan,
    simulation: Simulation,
    evaluated: Evaluated | None,
    ending: Ending,
    *,
    run: Run,
    judge: Judge,
    usage: Usage,
    warnings: Sequence[str],
) -> Expectation:
    """What should have been measured, and by which rules the run is decided."""
    config = plan.config
    return Expectation(
        conversations=expected_conversations(simulation, plan.scenarios.scenarios),
        metrics=expected_metrics(config.metrics_to_run, plan.custom_metrics) if evaluated else (),
        gates=gates(config),
        not_measured=tuple(evaluated.not_measured) if evaluated else (),
        status=ending.status,
        status_cause=ending.cause,
        run=run,
        attempts=count_attempts(simulation.conversations),
        judge=judge,
        usage=usage,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def count_attempts(conversations: Sequence[Conversation]) -> Attempts:
    """How often the test cases were tried. An attempt is made again only where the agent never spoke in it."""
    tried = [conversation for conversation in conversations if conversation.attempts]
    silences = [conversation.silence() for conversation in tried]
    still_silent = sum(silence is not None and silence.kind == "never_spoke" for silence in silences)
    retries = sum(conversation.attempts - 1 for conversation in tried)
    return Attempts(
        test_cases=len(conversations),
        attempts=sum(conversation.attempts for conversation in tried),
        silent_attempts=retries + still_silent,
        retries=retries,
        still_silent=still_silent,
    )
