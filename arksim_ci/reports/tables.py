"""The three CSV files. What was not measured is an empty cell, never -1: no mean over a column can count it.

Text cells are safe to open in a spreadsheet (`safe_text.csv_cell`). Column names: contract section 4.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import csv_cell
from arksim_ci.schema.evaluation import ConversationEvaluation, QualResult, QuantResult, TurnEvaluation
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    EVALUATION_RUN_FAILED,
    GOAL_COMPLETION,
    NOT_MEASURED,
    TURN_METRICS,
)

_CONVERSATION = (
    "conversation_id",
    "scenario_id",
    "turns",
    "goal_completion_score",
    "turn_success_ratio",
    "final_score",
    "status",
    "goal_completion_reason",
)
_TURN = (
    "conversation_id",
    "scenario_id",
    "turn_id",
    *(f"{metric}_score" for metric in TURN_METRICS),
    "turn_score",
    "agent_behavior_failure",
    "agent_behavior_failure_reason",
)
_ERROR = (
    "unique_error_id",
    "unique_error",
    "agent_behaviour_failure_category",
    "severity",
    "occurrences",
    "scenario_ids",
    "best_module_fix",
    "best_module_fix_reasoning",
    "best_code_fix_location",
    "best_code_fix",
)


def conversations_csv(results: Results) -> str:
    """agent_performance_per_convo.csv: one row a judged conversation, one more column a custom metric."""
    scored = list(results.scored.values())
    custom = _names((*each.convo_scores, *each.convo_qual_scores) for each in scored)
    return _table(_CONVERSATION, custom, (_conversation_row(each, results, custom) for each in scored))


def turns_csv(results: Results) -> str:
    """agent_performance_per_turn.csv: one row a turn, one more column a custom metric."""
    scored = [(each.conversation_id, turn) for each in results.scored.values() for turn in each.turn_scores]
    custom = _names((*turn.scores, *turn.qual_scores) for _, turn in scored)
    return _table(_TURN, custom, (_turn_row(name, turn, results, custom) for name, turn in scored))


def errors_csv(results: Results) -> str:
    """unique_errors.csv: one row a unique error, most severe first. Occurrences are `conversation:turn_id`."""
    return _table(_ERROR, (), _error_rows(results))


def _conversation_row(scored: ConversationEvaluation, results: Results, custom: Sequence[str]) -> list[str]:
    return [
        csv_cell(scored.conversation_id),
        csv_cell(results.scenario_of(scored.conversation_id)),
        str(len(scored.turn_scores)),
        _measured(scored.goal_completion_score),
        _measured(scored.turn_success_ratio),
        _measured(scored.overall_agent_score),
        scored.evaluation_status,
        csv_cell(scored.goal_completion_reason),
        *_custom_cells((*scored.convo_scores, *scored.convo_qual_scores), custom),
    ]


def _turn_row(conversation_id: str, turn: TurnEvaluation, results: Results, custom: Sequence[str]) -> list[str]:
    values = {score.name: score.value for score in turn.scores}
    labelled = turn.turn_behavior_failure != EVALUATION_RUN_FAILED
    return [
        csv_cell(conversation_id),
        csv_cell(results.scenario_of(conversation_id)),
        str(turn.turn_id),
        *(_number(values[metric]) if metric in values else "" for metric in TURN_METRICS),
        _measured(turn.turn_score),
        csv_cell(turn.turn_behavior_failure) if labelled else "",
        csv_cell(turn.turn_behavior_failure_reason),
        *_custom_cells((*turn.scores, *turn.qual_scores), custom),
    ]


def _error_rows(results: Results) -> Iterable[list[str]]:
    for numbered in results.errors:
        error = numbered.error
        advice = results.recommendation(error.unique_error_id)
        cells = (
            error.unique_error_id,
            error.unique_error_description,
            error.behavior_failure_category,
            error.severity,
            "; ".join(f"{each.conversation_id}:{each.turn_id}" for each in error.occurrences),
            "; ".join(numbered.scenario_ids),
            advice.best_module_fix if advice else "",
            advice.best_module_fix_reasoning if advice else "",
            (advice.best_code_fix_location or "") if advice else "",
            (advice.best_code_fix or "") if advice else "",
        )
        yield [csv_cell(each) for each in cells]


def _names(groups: Iterable[Iterable[QuantResult | QualResult]]) -> tuple[str, ...]:
    """The custom metrics in alphabetical order: the same columns whatever was measured first."""
    known = {*TURN_METRICS, GOAL_COMPLETION, AGENT_BEHAVIOR_FAILURE}
    return tuple(sorted({result.name for group in groups for result in group} - known))


def _custom_cells(found: Iterable[QuantResult | QualResult], names: Sequence[str]) -> list[str]:
    values = {each.name: each.value for each in found}
    cells = (values.get(name, "") for name in names)
    return [_number(cell) if isinstance(cell, float) else csv_cell(cell) for cell in cells]


def _table(columns: Sequence[str], custom: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV text. A custom metric named as a column of ours keeps its values apart: `status (metric)`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *(csv_cell(f"{name} (metric)" if name in columns else name) for name in custom)])
    writer.writerows(rows)
    return text.getvalue()


def _measured(value: float) -> str:
    return "" if value == NOT_MEASURED else _number(value)


def _number(value: float) -> str:
    return f"{round(value, 4):.10g}"
