"""The comment's and the Markdown report's parts, escaped: what the templates lay out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arksim_ci.reports.call_diffs import CallDiff, call_diffs
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.failed_places import FailedCheck, failed_places
from arksim_ci.reports.figures import needed, number, passed_of, percent, reached
from arksim_ci.reports.headline import OFFLINE, OFFLINE_NOTE, figures_line, headline, short_commit
from arksim_ci.reports.markdown import (
    Markdown,
    cell_code,
    code,
    fence,
    inline,
    line,
    link,
    quoted,
)
from arksim_ci.reports.markdown_errors import (
    ErrorPart,
    Limits,
    error_part,
    html_code,
    missed_goals,
    more_errors,
    split_errors,
)
from arksim_ci.reports.rerun import rerun_blocks, scenarios_command
from arksim_ci.reports.results import Results
from arksim_ci.reports.sentences import Words, failure_sentences
from arksim_ci.schema.simulation import Conversation
from arksim_ci.schema.verdict import Check
from arksim_ci.schema.vocabulary import NOT_MEASURED

_PLACES_SHOWN = 8
_WORDS = Words(name=lambda text: code(text, 120), text=lambda text: inline(text, 300))


@dataclass(frozen=True)
class Parts:
    """Everything that a Markdown text says, in the order in which it says it."""

    title: Markdown
    lead: Markdown
    facts: Markdown
    notices: tuple[Markdown, ...]
    failures: tuple[Markdown, ...]
    more_failures: int
    call_diffs: tuple[tuple[Markdown, Markdown], ...]
    warnings: tuple[Markdown, ...]
    more_warnings: int
    checks: tuple[Markdown, ...]
    more_checks: int
    errors: tuple[ErrorPart, ...]
    missed_goals: Markdown | None
    more_errors: Markdown | None
    places: tuple[Markdown, ...]
    more_places: int
    rerun_scenarios: Markdown
    conversations: tuple[Markdown, ...]
    more_conversations: int
    rerun: tuple[Markdown, ...]
    links: Markdown
    judge: Markdown
    marker: Markdown


def parts(results: Results, context: CommentContext, limits: Limits) -> Parts:
    """Build the parts of a comment or report."""
    verdict = results.verdict
    head = headline(results)
    agent = f": {inline(verdict.run.agent_name, 80)}" if verdict.run.agent_name else ""
    sentences = [Markdown(each) for each in failure_sentences(results, _WORDS)]
    checks = sorted(verdict.checks, key=lambda check: {False: 0, None: 1, True: 2}[check.passed])
    whole, missed = split_errors(results, limits)
    errors = whole[: limits.errors]
    conversations = results.simulation.conversations
    places = failed_places(results)
    return Parts(
        title=Markdown(f"{head.mark} {head.title}{agent}" if ":" not in head.title else f"{head.mark} {head.title}"),
        lead=Markdown(head.lead),
        facts=_facts(results, context, with_agent=":" in head.title),
        notices=tuple(_notices(results, context)),
        failures=tuple(sentences[: limits.failures]),
        more_failures=max(len(sentences) - limits.failures, 0),
        call_diffs=tuple(_call_diff(each, limits) for each in call_diffs(results)[: limits.failures]),
        warnings=tuple(line(each, 400) for each in verdict.warnings[: limits.warnings]),
        more_warnings=max(len(verdict.warnings) - limits.warnings, 0),
        checks=tuple(_check_row(each, results) for each in checks[: limits.checks]),
        more_checks=max(len(checks) - limits.checks, 0),
        errors=tuple(error_part(each, results, limits) for each in errors),
        more_errors=more_errors(whole[limits.errors :], context),
        missed_goals=missed_goals(missed, results),
        places=tuple(_place(each, results) for each in places[: limits.failures]),
        more_places=max(len(places) - limits.failures, 0),
        rerun_scenarios=fence(scenarios_command(context), "sh", 2000),
        conversations=tuple(_conversation_row(each, results) for each in conversations[: limits.conversations]),
        more_conversations=max(len(conversations) - limits.conversations, 0),
        rerun=rerun_blocks(results, context),
        links=_links(context),
        judge=_judge(results),
        marker=Markdown(context.marker),
    )


def _place(failed: FailedCheck, results: Results) -> Markdown:
    """A failed check with its conversations, each by its scenario and, where the run has it, its id."""
    shown = [_called(each, results) for each in failed.conversations[:_PLACES_SHOWN]]
    more = len(failed.conversations) - _PLACES_SHOWN
    left = f" and {more:,} more" if more > 0 else ""
    return Markdown(f"{code(failed.check.name, 80)}: {', '.join(shown)}{left}")


def _called(conversation_id: str, results: Results) -> str:
    name = results.names.get(conversation_id)
    shown = code(conversation_id, 80)
    return f"{code(name, 80)} (conversation {shown})" if name else f"conversation {shown}"


def _call_diff(difference: CallDiff, limits: Limits) -> tuple[Markdown, Markdown]:
    mode = html_code(difference.match_mode)
    title = f"{html_code(difference.scenario_id)}: {mode} match, {difference.where}"
    return Markdown(title), fence(difference.diff, "diff", limits.diff)


def _facts(results: Results, context: CommentContext, *, with_agent: bool) -> Markdown:
    commit = short_commit(results.verdict)
    facts = list(figures_line(results))
    if with_agent and results.verdict.run.agent_name:
        facts.insert(0, inline(results.verdict.run.agent_name, 80))
    if commit:
        facts.insert(-2, f"commit {link(code(commit), context.commit_url)}")
    return Markdown(" · ".join(facts))


def _notices(results: Results, context: CommentContext) -> Iterable[Markdown]:
    if context.gate_changes:
        shown = ", ".join(code(path, 200) for path in context.gate_changes[:10])
        more = len(context.gate_changes) - 10
        files = f"{shown}{f' and {more:,} more' if more > 0 else ''}"
        yield quoted(
            Markdown(
                f"**This pull request changes its own gate:** {files}. Review these changes first: what this comment says"
                " was decided by the changed gate."
            )
        )
    if context.fork:
        yield quoted(
            Markdown(
                "**Reported by a fork's run, not verified.** The fork's own workflow made these results and could have"
                " changed them. Its HTML report is not linked."
            )
        )
    if results.verdict.judge.provider == OFFLINE:
        yield quoted(Markdown(f"**Rules, not judgement.** {OFFLINE_NOTE}"))


def _check_row(check: Check, results: Results) -> Markdown:
    wanted = needed(check)
    if check.kind == "qualitative":
        labels = check.labels or []
        shown = ", ".join(inline(label, 60) for label in labels[:6])
        wanted = f"none of {shown}{f' and {len(labels) - 6} more' if len(labels) > 6 else ''}"
    rate = passed_of(check)
    if check.min_pass_rate < 1:
        rate += f", {percent(check.min_pass_rate)} needed"
    result = {True: "passed", False: "**failed**", None: "**not decided**"}[check.passed]
    return Markdown(f"| {cell_code(check.name, 80)} | {result} | {reached(results, check)} | {wanted} | {rate} |")


def _conversation_row(conversation: Conversation, results: Results) -> Markdown:
    scored = results.scored.get(conversation.conversation_id)
    errors = sorted({results.error_numbers[each] for turn in (scored.turn_scores if scored else []) for each in turn.unique_error_ids
                     if each in results.error_numbers})  # fmt: skip
    silence = conversation.silence()
    note = (
        {"never_spoke": "agent never spoke", "stopped_answering": "agent stopped answering"}[silence.kind]
        if silence
        else ""
    )
    note = note or ("broke off" if conversation.not_finished else "")
    status = scored.evaluation_status if scored else "not judged"
    cells = [
        cell_code(results.names[conversation.conversation_id], 80),
        cell_code(conversation.conversation_id, 80),
        str(len(conversation.turns())),
        _score(scored.goal_completion_score if scored else NOT_MEASURED),
        _score(scored.turn_success_ratio if scored else NOT_MEASURED),
        _score(scored.overall_agent_score if scored else NOT_MEASURED),
        f"{status} ({note})" if note else status,
        ", ".join(map(str, errors)) or "–",
    ]
    return Markdown(f"| {' | '.join(cells)} |")


def _score(value: float) -> str:
    return "–" if value == NOT_MEASURED else number(value)


def _links(context: CommentContext) -> Markdown:
    named = (
        ("Full report", None if context.fork else context.report_url),
        ("All files", context.evaluation_artifact_url),
        ("Focus files", context.focus_artifact_url),
        ("Run", context.run_url),
        ("Step summary", context.summary_url),
        ("Documentation", context.documentation_url),
    )
    return Markdown(" · ".join(link(Markdown(label), url) for label, url in named if url))


def _judge(results: Results) -> Markdown:
    judge, version = results.verdict.judge, results.verdict.run.version
    if judge.provider == OFFLINE:
        who = "Scored by offline rules"
    else:
        who = f"Judged by {inline(judge.provider, 40)} {code(judge.model, 80)}, {inline(judge.judge_mode, 40)} mode"
    hashed = f" · prompts {code(judge.prompts_hash[:12])}" if judge.prompts_hash else ""
    return Markdown(f"{who}{hashed} · arksim-ci {inline(version, 40)}")
