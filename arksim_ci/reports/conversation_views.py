"""Every conversation as the page shows it: a chat with scores, reasons and labels beside each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from arksim_ci.reports.agent_markdown import LONGEST, agent_html
from arksim_ci.reports.charts import step_of
from arksim_ci.reports.figures import number
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import cut, one_line, visible
from arksim_ci.schema.evaluation import ConversationEvaluation, TurnEvaluation
from arksim_ci.schema.simulation import Conversation, Message, ToolCall
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, NO_FAILURE, NOT_MEASURED, TURN_METRICS, TURN_SCALE

STATUSES = ("Evaluation Failed", "Failed", "Partial Failure", "Done", "Not judged")
"""Worst first: the order in which the page lists conversations."""
_CLASSES = {"Evaluation Failed": "u", "Failed": "f", "Partial Failure": "p", "Done": "d", "Not judged": "u"}


@dataclass(frozen=True)
class ScoreView:
    """One score of a turn; `step` 1-5 is its fifth of the 1-5 scale, 0 where the scale is not known."""

    name: str
    value: str
    step: int
    reason: str


@dataclass(frozen=True)
class MessageView:
    """One message, with the results of the turn on the agent's side."""

    anchor: str
    turn: int
    by_agent: bool
    body: Markup
    tools: tuple[str, ...]
    label: str
    label_reason: str
    scores: tuple[ScoreView, ...]
    errors: tuple[int, ...]


@dataclass(frozen=True)
class ConversationView:
    """One conversation."""

    anchor: str
    id: str
    name: str
    scenario: str
    status: str
    status_class: str
    overall: str
    goal_score: str
    goal_reason: str
    goal: str
    profile: str
    note: str
    turns: int
    errors: tuple[int, ...]
    failed_checks: tuple[int, ...]
    messages: tuple[MessageView, ...]
    custom: tuple[ScoreView, ...]


@dataclass(frozen=True)
class ConversationViews:
    """All conversations of the page, worst first. Each is made when its turn comes, so that a large run is never held twice."""

    results: Results

    @cached_property
    def anchors(self) -> dict[str, str]:
        """The page's anchor of each conversation: `c1`, `c2`, ... in the order of simulation.json."""
        return {name: f"c{index}" for index, name in enumerate(self.results.conversations, start=1)}

    def __len__(self) -> int:
        return len(self.results.conversations)

    def __iter__(self) -> Iterator[ConversationView]:
        held = sorted(self.results.conversations.values(), key=lambda each: STATUSES.index(self._status(each)))
        return map(self._view, held)

    @cached_property
    def statuses(self) -> list[str]:
        """The statuses that occur, worst first."""
        found = {self._status(each) for each in self.results.conversations.values()}
        return [each for each in STATUSES if each in found]

    @cached_property
    def scenarios(self) -> list[str]:
        """The ids of the scenarios that occur, as the page shows them."""
        return sorted({visible(each.scenario_id) for each in self.results.conversations.values()})

    def _status(self, conversation: Conversation) -> str:
        scored = self.results.scored.get(conversation.conversation_id)
        return scored.evaluation_status if scored else "Not judged"

    @cached_property
    def _failed_checks(self) -> dict[str, list[int]]:
        failed: dict[str, list[int]] = {}
        for index, check in enumerate(self.results.verdict.checks):
            for name in dict.fromkeys(each.conversation_id for each in check.failing):
                failed.setdefault(name, []).append(index)
        return failed

    def _view(self, conversation: Conversation) -> ConversationView:
        scored = self.results.scored.get(conversation.conversation_id)
        anchor = self.anchors[conversation.conversation_id]
        turns = {turn.turn_id: turn for turn in scored.turn_scores} if scored else {}
        errors = {number for turn in turns.values() for number in self._numbers(turn)}
        status = self._status(conversation)
        return ConversationView(
            anchor=anchor,
            id=visible(conversation.conversation_id),
            name=visible(self.results.names[conversation.conversation_id]),
            scenario=visible(conversation.scenario_id),
            status=status,
            status_class=_CLASSES[status],
            overall=_share(scored.overall_agent_score if scored else NOT_MEASURED),
            goal_score=_share(scored.goal_completion_score if scored else NOT_MEASURED),
            goal_reason=visible(scored.goal_completion_reason) if scored else "",
            goal=visible(self.results.goal_of(conversation)),
            profile=visible(self.results.profile_of(conversation)),
            note=_note(conversation),
            turns=len(conversation.turns()),
            errors=tuple(sorted(errors)),
            failed_checks=tuple(self._failed_checks.get(conversation.conversation_id, ())),
            messages=tuple(self._message(each, anchor, turns) for each in conversation.conversation_history),
            custom=tuple(_custom(scored)) if scored else (),
        )

    def _message(self, message: Message, anchor: str, turns: dict[int, TurnEvaluation]) -> MessageView:
        by_agent = message.role == "assistant"
        scored = turns.get(message.turn_id) if by_agent else None
        label = scored.turn_behavior_failure if scored else NO_FAILURE
        return MessageView(
            anchor=f"{anchor}t{message.turn_id + 1}" if by_agent else "",
            turn=message.turn_id + 1,
            by_agent=by_agent,
            body=agent_html(message.content) if by_agent else Markup("<p>{}</p>").format(_plain(message.content)),
            tools=tuple(_tool(call) for call in message.tool_calls or ()),
            label="" if label == NO_FAILURE else "not measured" if label == EVALUATION_RUN_FAILED else visible(label),
            label_reason=visible(scored.turn_behavior_failure_reason) if scored else "",
            scores=tuple(_scores(scored)) if scored else (),
            errors=self._numbers(scored) if scored else (),
        )

    def _numbers(self, turn: TurnEvaluation) -> tuple[int, ...]:
        known = self.results.error_numbers
        return tuple(sorted(known[each] for each in turn.unique_error_ids if each in known))


def _plain(text: str) -> str:
    return cut(visible(text), LONGEST)


def _scores(turn: TurnEvaluation) -> Iterator[ScoreView]:
    for score in turn.scores:
        step = step_of(score.value, *TURN_SCALE) if score.name in TURN_METRICS else 0
        yield ScoreView(visible(score.name), number(score.value), step, visible(score.reason or ""))
    for label in turn.qual_scores:
        yield ScoreView(visible(label.name), visible(label.value), 0, visible(label.reason or ""))


def _custom(scored: ConversationEvaluation) -> Iterator[ScoreView]:
    for score in scored.convo_scores:
        yield ScoreView(visible(score.name), number(score.value), 0, visible(score.reason or ""))
    for label in scored.convo_qual_scores:
        yield ScoreView(visible(label.name), visible(label.value), 0, visible(label.reason or ""))


def _tool(call: ToolCall) -> str:
    arguments = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items())
    outcome = f" → error: {call.error}" if call.error else f" → {call.result}" if call.result is not None else ""
    return one_line(f"{call.name}({arguments}){outcome}", 1000)


def _note(conversation: Conversation) -> str:
    silence = conversation.silence()
    if silence:
        what = "The agent never spoke" if silence.kind == "never_spoke" else "The agent stopped answering"
        return f"{what}: {one_line(silence.cause, 500)}"
    return f"Broke off: {one_line(conversation.not_finished, 500)}" if conversation.not_finished else ""


def _share(value: float) -> str:
    return "–" if value == NOT_MEASURED else number(value)
