"""The judge by rules: which rule decides a turn's label, and the scores that go with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arksim_ci.llm.offline.rules import clarification, false_information, omission, repetition, requests, scores, tools
from arksim_ci.llm.offline.rules.view import Finding, TurnView, view_of
from arksim_ci.llm.questions.turn import Label, Score, TurnFacts, TurnJudgement
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, NO_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE

Rule = Callable[[TurnView], Finding | None]

BEHAVIOR_RULES: Final[tuple[Rule, ...]] = (
    false_information.contradicted_figure,
    false_information.contradicted_statement,
    requests.ignored_request,
    requests.refused_although_known,
    clarification.assumed_detail,
    clarification.stated_assumption,
    requests.off_topic,
    omission.missing_figure,
    repetition.repeated_answer,
    requests.too_long_for_request,
    omission.missing_details,
)
"""In this order; the first that finds something gives the label."""
TOOL_RULES: Final[tuple[Rule, ...]] = (
    tools.unasked_tool,
    tools.hidden_tool_error,
    clarification.assumed_detail,
)


def judge_turn(facts: TurnFacts) -> TurnJudgement:
    """Score and label one turn on the metrics that are asked for."""
    view = view_of(facts)
    failure = first_finding(view, BEHAVIOR_RULES)
    contradiction = failure if failure is not None and failure.label == false_information.LABEL else None
    scored: dict[str, Callable[[], Score]] = {
        "helpfulness": lambda: scores.helpfulness(view, failure),
        "coherence": lambda: scores.coherence(view),
        "verbosity": lambda: scores.verbosity(view),
        "relevance": lambda: scores.relevance(view, failure),
        "faithfulness": lambda: scores.faithfulness(view, contradiction),
    }
    labelled: dict[str, Callable[[], Label]] = {
        AGENT_BEHAVIOR_FAILURE: lambda: _label(failure),
        TOOL_CALL_BEHAVIOR_FAILURE: lambda: _label(first_finding(view, TOOL_RULES)),
    }
    return TurnJudgement(
        scores={name: scored[name]() for name in facts.metrics if name in scored},
        labels={name: labelled[name]() for name in facts.metrics if name in labelled},
    )


def first_finding(view: TurnView, rules: tuple[Rule, ...]) -> Finding | None:
    """What the first rule that finds something says."""
    return next((finding for rule in rules if (finding := rule(view)) is not None), None)


def _label(finding: Finding | None) -> Label:
    if finding is None:
        return Label(NO_FAILURE, "No rule found a failure in this turn.")
    return Label(finding.label, finding.reason)
