"""What a rule sees of a turn, and what it says when it finds something."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.llm.offline.knowledge import Knowledge, Statement, knowledge_of
from arksim_ci.llm.offline.speech import asks_back
from arksim_ci.llm.offline.text import bounded, stems
from arksim_ci.llm.questions.turn import TurnFacts
from arksim_ci.schema.simulation import ToolCall


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that was broken. `text` quotes the evidence; its last quotation is what the answer is held against.

    `contradicts` is the statement of the knowledge that a false answer speaks against.
    """

    rule: str
    label: str
    text: str
    contradicts: Statement | None = None

    @property
    def reason(self) -> str:
        """The judgement's reason: the rule's name, then the evidence."""
        return f"{self.rule}: {self.text}"


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn as the rules see it.

    `asked` holds the stems of what the user wants to know now: of the message, and of the one before where the agent had
    asked back. `background` holds the goal's and the profile's text.
    """

    user: str
    answer: str
    asked: frozenset[str]
    earlier_answers: tuple[str, ...]
    earlier_user: tuple[str, ...]
    goal: str
    profile: str
    knowledge: Knowledge
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def told(self) -> frozenset[str]:
        """The stems of the answer."""
        return stems(self.answer)

    @property
    def everything_user_said(self) -> str:
        """All messages of the user, this one included."""
        return "\n".join((*self.earlier_user, self.user))

    def about(self, least: float, most: int = 5) -> list[Statement]:
        """What the knowledge says of the question, best first."""
        return [statement for _, statement in self.knowledge.relevant(self.asked, least)[:most]]


def view_of(facts: TurnFacts) -> TurnView:
    """Prepare a turn for the rules."""
    user = bounded(facts.user.content) if facts.user else ""
    earlier_answers = tuple(bounded(m.content) for m in facts.history if m.role == "assistant")
    earlier_user = tuple(bounded(m.content) for m in facts.history if m.role == "simulated_user")
    asked = stems(user)
    if earlier_answers and earlier_user and asks_back(earlier_answers[-1]):
        asked |= stems(earlier_user[-1])
    return TurnView(
        user=user,
        answer=bounded(facts.agent.content),
        asked=asked,
        earlier_answers=earlier_answers,
        earlier_user=earlier_user,
        goal=facts.scenario.goal,
        profile=facts.scenario.user_profile,
        knowledge=knowledge_of(facts.scenario),
        tool_calls=tuple(facts.agent.tool_calls or ()),
    )
