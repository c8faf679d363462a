"""What of the simulated user's proposals can be said."""

from __future__ import annotations

import pytest

from arksim_ci.llm.questions.simulated_user import clean_message
from arksim_ci.schema.simulation import Message
from arksim_ci.simulation.proposal import Fault, Proposal, before_the_agent, fault_of, is_short, read_proposal

HISTORY = (
    Message(turn_id=0, message_id="1", role="simulated_user", content="I want to return my shoes."),
    Message(turn_id=0, message_id="2", role="assistant", content="Sure! What is your order number?"),
)


@pytest.mark.parametrize(
    "text",
    [
        "###STOP###",
        " ###stop###\n",
        "### STOP ###",
        '"###STOP###"',
        "`###STOP###`.",
        "**###STOP###**",
        "(###STOP###)!",
        "###STOP### ###STOP###",
        "“###Stop###”",
    ],
)
def test_the_signal_alone_is_only_a_stop(text: str) -> None:
    assert read_proposal(clean_message(text)) == Proposal("", stops=True)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Thanks, bye! ###STOP###", "Thanks, bye!"),
        ("###STOP### Thanks, bye!", "Thanks, bye!"),
        ("Thanks.\n\n###stop###", "Thanks."),
        ('Thanks. "###STOP###"', "Thanks."),
        ("谢谢。###STOP###", "谢谢。"),
        ("👍 ###STOP###", "👍"),
    ],
)
def test_text_around_the_signal_is_kept(text: str, left: str) -> None:
    assert read_proposal(text) == Proposal(left, stops=True)


@pytest.mark.parametrize("text", ["Please stop sending me mail.", "STOP", "# STOP", "I read ##STOP## somewhere"])
def test_the_word_alone_is_no_signal(text: str) -> None:
    assert read_proposal(text) == Proposal(text, stops=False)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("User: Hello", "Hello"),
        ("**User:** Hello", "Hello"),
        ("[user]: Hello", "Hello"),
        ("Simulated User: Hello", "Hello"),
        ("Customer : Hello", "Hello"),
        ('"Hello there"', "Hello there"),
        ('User: "Hello"', "Hello"),
        ("“Hello”", "Hello"),
        ('"Yes" and "no"', '"Yes" and "no"'),
        ("'t is fine, isn't it'", "'t is fine, isn't it'"),
        ('{"user": "Hello"}', "Hello"),
        ('{"message": "Hello", "x": 1}', '{"message": "Hello", "x": 1}'),
        ("{Hello}", "{Hello}"),
        ("{}", "{}"),
        ('{"agent": "Hello"}', '{"agent": "Hello"}'),
        ("<think>What now?\n</think>\nHello", "Hello"),
        ("User accounts: how do I get one?", "User accounts: how do I get one?"),
        ("  \n ", ""),
        ("a\ud800b", "a?b"),
        ("{" * 100_000 + "}", "{" * 100_000 + "}"),
    ],
)
def test_what_stands_around_a_message_is_taken_off(text: str, cleaned: str) -> None:
    assert clean_message(text) == cleaned


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("It is 4711.", None),
        ("I want to return my shoes.", "repeated_itself"),
        ("i want to RETURN my shoes!!", "repeated_itself"),
        ("I want to return my shoes today.", None),
        ("Sure! What is your order number?", "repeated_agent"),
        ("Agent: Sure, I can do that.", "played_agent"),
        ("It is 4711.\nAssistant: Thank you!", "played_agent"),
        ("**AI agent:** Thank you!", "played_agent"),
        ('{"agent": "Thank you!"}', "played_agent"),
        ("Hello! How can I help you today?", "played_agent"),
        ("I'm sorry, but as an AI language model I can't do that.", "played_agent"),
        ("Of course. Is there anything else I can help you with?", "played_agent"),
        ("Is the agent there? I asked how can I help my son?", None),
        ("My agent: she knows.", None),
        ("###STOP###", None),
    ],
)
def test_faults(text: str, fault: Fault | None) -> None:
    assert fault_of(read_proposal(text), HISTORY) == fault


@pytest.mark.parametrize("history", [(), HISTORY[:1]], ids=["nothing said", "unanswered"])
def test_13_stopping_before_the_agent_said_anything_is_a_fault(history: tuple[Message, ...]) -> None:
    assert fault_of(Proposal("", stops=True), history) == "stopped_early"
    assert fault_of(Proposal("", stops=True), HISTORY) is None


@pytest.mark.parametrize(
    ("text", "short"),
    [("Yes.", True), ("No, thank you", True), ("是的", True), ("👍", True), ("I want my shoes back", False), ("我想退回我在上个月订购的鞋子", False)],
)  # fmt: skip
def test_short_answers_may_come_twice(text: str, short: bool) -> None:
    assert is_short(text) is short


def test_the_part_before_the_agents_line_is_the_users() -> None:
    assert before_the_agent("It is 4711.\nAgent: Thanks!\nUser: Bye") == "It is 4711."
    assert before_the_agent("How can I help you?") == ""
