"""The unique errors in the comment and in the Markdown report: evidence, fix, code changes, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arksim_ci.reports.advice import best_fix, line_range, other_fixes
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.figures import count
from arksim_ci.reports.markdown import Markdown, block, code, fence, inline, line, link, quoted
from arksim_ci.reports.results import Exchange, NumberedError, Results
from arksim_ci.reports.safe_text import one_line, without_commands
from arksim_ci.schema.recommendation import CodeFix, Recommendation
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, SEVERITIES

_SCENARIOS_SHOWN = 4
_COMPANIONS_SHOWN = 3
_MISSED_GOALS_SHOWN = 10


@dataclass(frozen=True)
class Limits:
    """How much a text shows: numbers of entries, and lengths of quoted texts in UTF-16 units."""

    errors: int
    conversations: int
    failures: int
    checks: int
    warnings: int
    text: int
    diff: int
    fold_missed_goals: bool = False
    """Whether missed goals that come with other errors are one sentence, not a part each."""


@dataclass(frozen=True)
class ErrorPart:
    """One unique error."""

    title: Markdown
    where: Markdown
    description: Markdown
    evidence: Markdown | None
    fix: Markdown | None
    reason: Markdown | None
    other_fixes: tuple[Markdown, ...]
    diffs: tuple[tuple[Markdown, Markdown], ...]
    dropped: tuple[Markdown, ...]


def split_errors(results: Results, limits: Limits) -> tuple[list[NumberedError], list[NumberedError]]:
    """The unique errors that are told each by itself, and the missed goals that are folded into one sentence."""
    if not limits.fold_missed_goals:
        return list(results.errors), []
    folded = [bool(results.companions(each)) for each in results.errors]
    pairs = list(zip(results.errors, folded, strict=True))
    return [each for each, fold in pairs if not fold], [each for each, fold in pairs if fold]


def error_part(numbered: NumberedError, results: Results, limits: Limits) -> ErrorPart:
    """One unique error, escaped."""
    error = numbered.error
    exchange = results.evidence(error)
    advice = results.recommendation(error.unique_error_id)
    severity = error.severity if error.severity in SEVERITIES else "medium"
    return ErrorPart(
        title=Markdown(f"{numbered.number}. {severity.capitalize()}: {inline(error.behavior_failure_category, 80)}"),
        where=_where(numbered, results),
        description=line(error.unique_error_description, limits.text),
        evidence=_evidence(exchange, results, limits) if exchange else None,
        fix=_fix(advice, limits) if advice else None,
        reason=_optional(advice.best_module_fix_reasoning if advice else "", limits.text),
        other_fixes=_other_fixes(advice, limits) if advice else (),
        diffs=tuple(_diff(each, limits) for each in advice.code_fixes) if advice else (),
        dropped=tuple(line(each, limits.text) for each in advice.dropped) if advice else (),
    )


def _where(numbered: NumberedError, results: Results) -> Markdown:
    whole = numbered.error.behavior_failure_category == GOAL_NOT_COMPLETED
    times = count(len(numbered.error.occurrences), "conversation" if whole else "turn")
    names = [code(each, 80) for each in numbered.scenario_ids[:_SCENARIOS_SHOWN]]
    more = len(numbered.scenario_ids) - len(names)
    where = times
    if names:
        noun = "scenario" if len(numbered.scenario_ids) == 1 else "scenarios"
        where += f" in {noun} {', '.join(names)}{f' and {more:,} more' if more else ''}"
    companions = results.companions(numbered)
    return Markdown(f"{where}, together with {_error_numbers(companions)}" if companions else where)


def _error_numbers(numbers: Sequence[int]) -> str:
    shown = [str(each) for each in numbers[:_COMPANIONS_SHOWN]]
    more = len(numbers) - len(shown)
    return f"{'error' if len(numbers) == 1 else 'errors'} {', '.join(shown)}{f' and {more:,} more' if more else ''}"


def missed_goals(missed: Sequence[NumberedError], results: Results) -> Markdown | None:
    """Missed goals that come with other errors, in one sentence: whoever fixes those looks at these last."""
    if not missed:
        return None
    times = count(sum(len(each.error.occurrences) for each in missed), "conversation")
    shown = []
    for each in missed[:_MISSED_GOALS_SHOWN]:
        names = ", ".join(code(name, 80) for name in each.scenario_ids[:1]) or "unknown scenario"
        more = f" and {len(each.scenario_ids) - 1:,} more" if len(each.scenario_ids) > 1 else ""
        shown.append(f"{each.number} ({names}{more}, with {_error_numbers(results.companions(each))})")
    left = len(missed) - len(shown)
    noun = "unique error" if len(missed) == 1 else "unique errors"
    return Markdown(
        f"**Goals missed along with these:** in {times} that already hold an error, the user also left without reaching"
        f" the goal: {noun} {', '.join(shown)}{f' and {left:,} more' if left else ''}."
    )


def _evidence(exchange: Exchange, results: Results, limits: Limits) -> Markdown:
    turn = exchange.turn
    lines = [f"**User:** {block(turn.user.content, limits.text)}"] if turn.user else []
    calls = ", ".join(code(call.name, 60) for call in (turn.agent.tool_calls or [])[:5])
    said = block(turn.agent.content, limits.text) or "(no text)"
    lines.append(f"**Agent:** {said}")
    if calls:
        lines.append(f"Tool calls: {calls}")
    name = results.names.get(exchange.conversation_id, exchange.conversation_id)
    lines.append(f"<sub>{code(name, 80)}, turn {turn.turn_id + 1}</sub>")
    return quoted(Markdown("\n\n".join(lines)))


def _fix(advice: Recommendation, limits: Limits) -> Markdown | None:
    module, text = best_fix(advice)
    where = f" in {module}" if module else ""
    return Markdown(f"**Fix{where}:** {inline(text, limits.text)}") if one_line(text) else None


def _other_fixes(advice: Recommendation, limits: Limits) -> tuple[Markdown, ...]:
    return tuple(Markdown(f"**{each.module}:** {inline(each.fix, limits.text)}") for each in other_fixes(advice))


def _diff(fix: CodeFix, limits: Limits) -> tuple[Markdown, Markdown]:
    return Markdown(f"{html_code(fix.file)}, {line_range(fix)}"), fence(fix.diff, "diff", limits.diff)


def html_code(text: str) -> Markdown:
    """A name inside an HTML line of a comment (a fold's title), where Markdown's code spans are not read."""
    shown = without_commands(one_line(text, 200)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markdown(f"<code>{shown}</code>")


def _optional(text: str, limit: int) -> Markdown | None:
    return inline(text, limit) or None


def more_errors(left_out: Sequence[NumberedError], context: CommentContext) -> Markdown | None:
    """How many unique errors were left out, and where they are."""
    if not left_out:
        return None
    by_severity = {severity: sum(each.error.severity == severity for each in left_out) for severity in SEVERITIES}
    counts = ", ".join(f"{number:,} {severity}" for severity, number in by_severity.items() if number)
    where = link(Markdown("the report"), None if context.fork else context.report_url)
    noun = "unique error is" if len(left_out) == 1 else "unique errors are"
    return Markdown(
        f"{len(left_out):,} more {noun} not shown here{f' ({counts})' if counts else ''}: all are in {where}."
    )
