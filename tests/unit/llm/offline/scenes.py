"""Small scenes for the rules: a scenario with some knowledge, and a turn in it."""

from __future__ import annotations

from arksim_ci.llm.offline.rules.view import TurnView, view_of
from arksim_ci.llm.questions.turn import TurnFacts
from arksim_ci.schema.scenario import KnowledgeItem, Scenario
from arksim_ci.schema.simulation import Message, ToolCall
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE, TURN_METRICS

SHOP = (
    "Return period: unworn items can be returned within 30 days of delivery.",
    "Return shipping: free of charge with the prepaid label.",
    "Express shipping: costs 9.90 EUR and takes 1 to 2 business days.",
    "Standard shipping: costs 4.90 EUR and takes 3 to 5 business days.",
    "Gift cards cannot be exchanged for cash.",
    "The shop is open until 17:00.",
)


def scenario(
    goal: str = "You want to know how long you have to return shoes.",
    profile: str = "You are Lena.",
    knowledge: tuple[str, ...] = SHOP,
) -> Scenario:
    return Scenario(
        scenario_id="s",
        user_id="u",
        goal=goal,
        agent_context="A shop.",
        user_profile=profile,
        knowledge=tuple(KnowledgeItem(content=text) for text in knowledge),
    )


def history(*texts: str) -> tuple[Message, ...]:
    """User and agent in turns."""
    return tuple(
        Message(
            turn_id=number // 2,
            message_id=str(number),
            role="assistant" if number % 2 else "simulated_user",
            content=text,
        )
        for number, text in enumerate(texts)
    )


def turn(
    user: str,
    agent: str,
    *before: str,
    on: Scenario | None = None,
    tools: tuple[ToolCall, ...] = (),
    metrics: tuple[str, ...] = (*TURN_METRICS, AGENT_BEHAVIOR_FAILURE, TOOL_CALL_BEHAVIOR_FAILURE),
) -> TurnFacts:
    messages = history(*before, user, agent)
    answer = messages[-1].model_copy(update={"tool_calls": list(tools)})
    return TurnFacts(on or scenario(), messages[:-2], messages[-2], answer, metrics, "c")


def view(user: str, agent: str, *before: str, on: Scenario | None = None, tools: tuple[ToolCall, ...] = ()) -> TurnView:
    return view_of(turn(user, agent, *before, on=on, tools=tools))
