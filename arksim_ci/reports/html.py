"""final_report.html: one page that needs nothing but itself, for a reader who may not know the tool."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from markupsafe import Markup, escape

from arksim_ci.reports.advice import best_fix, line_range, other_fixes
from arksim_ci.reports.agent_markdown import agent_html
from arksim_ci.reports.call_diffs import call_diffs
from arksim_ci.reports.charts import distributions, heat_map
from arksim_ci.reports.context import file_context
from arksim_ci.reports.conversation_views import ConversationViews
from arksim_ci.reports.failed_places import FailedCheck, failed_places
from arksim_ci.reports.figures import count, date, needed, number, passed_of, percent, reached
from arksim_ci.reports.headline import OFFLINE, OFFLINE_NOTE, figures_line, headline, short_commit, story
from arksim_ci.reports.rerun import scenarios_command
from arksim_ci.reports.results import NumberedError, Results
from arksim_ci.reports.safe_text import cut, one_line, visible
from arksim_ci.reports.sentences import Words, failure_sentences
from arksim_ci.reports.templates import read, render_html
from arksim_ci.schema.recommendation import Recommendation
from arksim_ci.schema.verdict import Check, Failing
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, SEVERITIES

_LONGEST_TEXT = 4000
_DIFF_LINES = 200
_LINKS_SHOWN = 12
_CALL_DIFFS_SHOWN = 50
_FAILURES_SHOWN = 50
_MARK_WIDTH = 2


@dataclass(frozen=True)
class CheckView:
    """One row of the checks."""

    name: str
    needed: str
    labels: tuple[str, ...]
    reached: str
    rate: str
    state: str
    share: int
    """How much of the bar is filled, in per cent."""
    mark: float
    """Where on the bar the needed rate is marked."""


@dataclass(frozen=True)
class PlaceView:
    """One failed check that no unique error explains, with links to where it failed."""

    name: str
    links: tuple[tuple[str, str, str], ...]
    more_links: int


@dataclass(frozen=True)
class FixView:
    """What to change, and why this."""

    module: str | None
    best: str
    reason: str
    others: tuple[tuple[str, str], ...]
    diffs: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class ErrorView:
    """One unique error with its evidence, its fix and links to its turns."""

    number: int
    severity: str
    category: str
    description: str
    scenarios: tuple[str, ...]
    times: str
    companions: tuple[int, ...]
    user: str
    agent: Markup
    links: tuple[tuple[str, str, str], ...]
    more_links: int
    fix: FixView | None


def render_html_report(results: Results) -> str:
    """The page. Nothing in it is loaded, nothing in it reads a clock, and only our script may run."""
    style, script = read("report.css"), read("report.js")
    views = ConversationViews(results)
    verdict = results.verdict
    words = Words(
        name=lambda text: Markup("<code>{}</code>").format(one_line(text, 120)),
        text=lambda text: escape(one_line(text, 300)),
    )
    sentences = failure_sentences(results, words)
    return render_html(
        "report.html.j2",
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704  (ours)
        script=Markup(script),  # noqa: S704  (ours)
        head=headline(results),
        verdict=verdict,
        agent=one_line(verdict.run.agent_name, 120),
        facts=figures_line(results),
        commit=short_commit(verdict),
        when=date(verdict.run.started_at),
        offline=OFFLINE_NOTE if verdict.judge.provider == OFFLINE else "",
        story=story(results),
        failures=[Markup(each) for each in sentences[:_FAILURES_SHOWN]],  # noqa: S704  (escaped by `words`)
        more_failures=max(len(sentences) - _FAILURES_SHOWN, 0),
        call_diffs=[
            (visible(each.scenario_id), visible(each.match_mode), each.where, _diff_lines(each.diff, "verdict.json"))
            for each in call_diffs(results)[:_CALL_DIFFS_SHOWN]
        ],
        warnings=[visible(each) for each in verdict.warnings],
        checks=[_check(each, results) for each in verdict.checks],
        errors=[_error(each, results, views) for each in results.errors],
        places=[_place(each, results, views) for each in failed_places(results)[:_FAILURES_SHOWN]],
        rerun=scenarios_command(file_context(verdict)),
        charts=distributions(results),
        heat=heat_map(results),
        conversations=views,
        statuses=views.statuses,
        scenarios=views.scenarios,
        judge=f"{one_line(verdict.judge.provider, 40)} {one_line(verdict.judge.model, 80)}",
    )


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy under which only this style sheet and this script count, and nothing is fetched."""
    return f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _check(check: Check, results: Results) -> CheckView:
    rate = passed_of(check)
    if check.min_pass_rate < 1:
        rate += f", {percent(check.min_pass_rate)} needed"
    return CheckView(
        name=visible(check.name),
        needed=needed(check),
        labels=tuple(visible(each) for each in check.labels or ()),
        reached=reached(results, check),
        rate=rate,
        state={True: "passed", False: "failed", None: "not decided"}[check.passed],
        share=int((check.pass_rate or 0) * 100),
        mark=min(round(check.min_pass_rate * 100, 1), 100 - _MARK_WIDTH),
    )


def _place(failed: FailedCheck, results: Results, views: ConversationViews) -> PlaceView:
    found = [each for each in failed.places if each.conversation_id in views.anchors]
    links = dict.fromkeys(_link(each, results, views) for each in found)
    return PlaceView(
        name=visible(failed.check.name),
        links=tuple(links)[:_LINKS_SHOWN],
        more_links=max(len(links) - _LINKS_SHOWN, 0),
    )


def _link(place: Failing, results: Results, views: ConversationViews) -> tuple[str, str, str]:
    """Anchor, label and conversation id of a place: of its turn, where the conversation has it."""
    conversation = results.conversations[place.conversation_id]
    anchor, label = views.anchors[place.conversation_id], one_line(results.names[place.conversation_id], 60)
    if place.turn_id is not None and any(turn.turn_id == place.turn_id for turn in conversation.turns()):
        anchor, label = f"{anchor}t{place.turn_id + 1}", f"{label}, turn {place.turn_id + 1}"
    if not isinstance(place.value, str):
        label = f"{label}: {number(place.value)}"
    return anchor, label, one_line(place.conversation_id, 200)


def _error(numbered: NumberedError, results: Results, views: ConversationViews) -> ErrorView:
    error = numbered.error
    exchange = results.evidence(error)
    advice = results.recommendation(error.unique_error_id)
    whole = error.behavior_failure_category == GOAL_NOT_COMPLETED
    places = [
        (views.anchors[each.conversation_id], each)
        for each in error.occurrences
        if each.conversation_id in views.anchors
    ]
    links = [
        (
            f"{anchor}t{each.turn_id + 1}",
            f"{one_line(results.names[each.conversation_id], 60)}, turn {each.turn_id + 1}",
            one_line(each.conversation_id, 200),
        )
        for anchor, each in places
    ]
    return ErrorView(
        number=numbered.number,
        severity=error.severity if error.severity in SEVERITIES else "medium",
        category=visible(error.behavior_failure_category),
        description=visible(error.unique_error_description),
        scenarios=tuple(visible(each) for each in numbered.scenario_ids),
        times=count(len(error.occurrences), "conversation" if whole else "turn"),
        companions=results.companions(numbered),
        user=_text(exchange.turn.user.content) if exchange and exchange.turn.user else "",
        agent=agent_html(exchange.turn.agent.content) if exchange else Markup(),
        links=tuple(links[:_LINKS_SHOWN]),
        more_links=max(len(links) - _LINKS_SHOWN, 0),
        fix=_fix(advice) if advice else None,
    )


def _fix(advice: Recommendation) -> FixView:
    module, best = best_fix(advice)
    return FixView(
        module=module,
        best=_text(best),
        reason=_text(advice.best_module_fix_reasoning),
        others=tuple((each.module, _text(each.fix)) for each in other_fixes(advice)),
        diffs=tuple((one_line(each.file, 200), line_range(each), _diff_lines(each.diff)) for each in advice.code_fixes),
        dropped=tuple(_text(each) for each in advice.dropped),
    )


def _diff_lines(diff: str, whole_in: str = "recommendations.json") -> tuple[tuple[str, str], ...]:
    """Each line of a diff with its kind: added, removed, place, or nothing. A very long one is cut, and says where it is whole."""
    kinds = {"+": "a", "-": "r", "@": "m"}
    lines = visible(diff).strip("\n").split("\n")
    shown = [(kinds.get(line[:1], ""), cut(line, 1000)) for line in lines[:_DIFF_LINES]]
    if len(lines) > _DIFF_LINES:
        shown.append(("m", f"… and {count(len(lines) - _DIFF_LINES, 'more line')} in {whole_in}"))
    return tuple(shown)


def _text(text: str) -> str:
    return cut(visible(text), _LONGEST_TEXT)
