"""The assertions of the scenarios: always gates, decided by the tool calls that were made and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from arksim_ci.gates.measurements import Place, not_measured, took_place
from arksim_ci.gates.rates import ASSERTIONS, CheckResult, Outcome, decide_check
from arksim_ci.gates.trajectory import match
from arksim_ci.schema.expectation import ExpectedConversation, Gates, NotMeasured
from arksim_ci.schema.simulation import ToolCall
from arksim_ci.schema.verdict import AssertionFailed, Failing


def check_assertions(
    conversations: Sequence[ExpectedConversation], gates: Gates
) -> tuple[CheckResult, list[AssertionFailed]]:
    """Hold the tool calls of each conversation to all assertions of its scenario.

    A conversation that broke off is not measured, unless a call that it made is already one too many.

    Args:
        conversations: those that the check is about; without assertions a conversation has no part in it.
        gates: the tolerances.

    Returns:
        The check, and each assertion that failed.
    """
    asserted = [conversation for conversation in conversations if conversation.assertions]
    outcomes: list[Outcome] = []
    failed: list[AssertionFailed] = []
    for conversation in asserted:
        outcome, failures = _outcome(conversation)
        outcomes.append(outcome)
        failed += failures
    applies_nowhere = bool(conversations) and not asserted
    return decide_check(ASSERTIONS, "assertion", outcomes, gates, applies_nowhere=applies_nowhere), failed


def _outcome(conversation: ExpectedConversation) -> tuple[Outcome, list[AssertionFailed]]:
    actual = [call for turn in conversation.turns for call in turn.tool_calls]
    held = took_place(conversation)
    failing: list[Failing] = []
    failed: list[AssertionFailed] = []
    for assertion in conversation.assertions:
        result = match(assertion.expected, actual, assertion.match_mode)
        if result.passed or not (held or result.extra):
            continue
        failing.append(
            Failing(
                conversation_id=conversation.conversation_id,
                scenario_id=conversation.scenario_id,
                value=result.explanation,
            )
        )
        failed.append(
            AssertionFailed(
                conversation_id=conversation.conversation_id,
                scenario_id=conversation.scenario_id,
                match_mode=assertion.match_mode,
                expected=[call.model_dump() for call in assertion.expected],
                actual=[_as_made(call) for call in actual],
                diff=list(result.diff),
            )
        )
    gaps: tuple[NotMeasured, ...] = ()
    if not held:
        cause = conversation.not_finished or "the conversation has no turn"
        gaps = (not_measured(Place(conversation.conversation_id, None), ASSERTIONS, cause),)
    if failing:
        return Outcome("failed", tuple(failing), gaps), failed
    return Outcome("not measured" if gaps else "passed", gaps=gaps), []


def _as_made(call: ToolCall) -> dict[str, object]:
    return {"name": call.name, "arguments": call.arguments}
