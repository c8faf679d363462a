"""The simulated user by rules: opens with the goal, asks for what is still open, answers what the agent asks, stops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from arksim_ci.llm.offline.goal import is_met_by
from arksim_ci.llm.offline.knowledge import Statement, coverage, knowledge_of
from arksim_ci.llm.offline.rules.clarification import identifiers
from arksim_ci.llm.offline.rules.repetition import is_repeated
from arksim_ci.llm.offline.speech import asks_back, is_offer, refuses
from arksim_ci.llm.offline.text import bounded, is_same_message, is_within, sentences, stems
from arksim_ci.llm.offline.wishes import Goal, is_instruction, read_goal, to_first_person
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts
from arksim_ci.schema.vocabulary import STOP_SIGNAL

GREETINGS: Final = ("Hello. ", "", "Hi there! ")
"""By the number of the repetition, so that repetitions of a scenario don't all begin alike."""
FOLLOW_UPS: Final = 3
"""Most questions about the knowledge beyond what the goal names."""
PATIENCE: Final = 2
"""After this many answers that can't help, or that repeat an earlier one, the user gives up."""

_SUBJECT = re.compile(
    r"^(?P<subject>[^,.:;?!]{3,60}?)\s+(?:is|are|can|must|may|has|have|takes?|costs?|will|should|lasts?|needs?|covers?)\b",
    re.I,
)
_NO_SUBJECT = re.compile(
    r"^(?:if|when|only|it|they|you|we|this|that|these|those|there|here|what|who)\b|\b(?:that|which|who|if|when|and|or)$",
    re.I,
)
_NUMBERING = re.compile(r"^\d{1,2}[.)]\s+")
_UNKNOWN: Final = ("I'm afraid I don't know that.", "I don't have that at hand.", "I can't tell you that, sorry.")
_YES: Final = ("Yes, please.", "Yes, please do that.", "Yes, that would be good.")


def next_message(facts: SimulatedUserFacts) -> str:
    """What the user says next, or the stop signal alone.

    The first thing to say, in the order of `_things_to_say`, that the user has not said before in this conversation.
    """
    said = [message.content for message in facts.history if message.role == "simulated_user"]
    if facts.complaint:
        said.append(facts.rejected)
    for message in _things_to_say(facts):
        if not any(is_within(message, earlier) for earlier in said):
            return message
    return STOP_SIGNAL


def _things_to_say(facts: SimulatedUserFacts) -> Iterator[str]:
    goal = read_goal(facts.scenario.goal)
    answers = tuple(bounded(message.content) for message in facts.history if message.role == "assistant")
    if not any(message.role == "simulated_user" for message in facts.history):
        yield GREETINGS[facts.repetition % len(GREETINGS)] + goal.opening
        yield goal.opening
    if answers and unhelpful(answers) >= PATIENCE:
        return
    if answers:
        yield from replies(asks_back(answers[-1]), goal, facts.scenario.goal, facts.scenario.user_profile)
    yield from open_wishes(facts, goal)
    yield from follow_ups(facts, answers)


def unhelpful(answers: tuple[str, ...]) -> int:
    """How many answers refuse, say nothing, or say again what was said before."""
    return sum(
        not answer.strip() or refuses(answer) or any(is_repeated(answer, earlier) for earlier in answers[:number])
        for number, answer in enumerate(answers)
    )


def replies(question: str, goal: Goal, goal_text: str, profile: str) -> Iterator[str]:
    """Answers to what the agent asks: as the goal prescribes, from an order number and the like, from goal or profile."""
    if not question:
        return
    asked = stems(question)
    for trigger, reply in goal.replies:
        if stems(trigger) & asked:
            yield reply
    own = (*sentences(goal_text), *sentences(profile))
    for sentence in own:
        for noun, value in identifiers(sentence):
            if noun in question.casefold():
                yield f"My {noun} number is {value.upper()}."
    if is_offer(question):
        yield from _YES
    closest = max(own, key=lambda sentence: len(stems(sentence) & asked), default="")
    if len(stems(closest) & asked) >= 2:
        yield to_first_person(closest)
    yield from _UNKNOWN


def open_wishes(facts: SimulatedUserFacts, goal: Goal) -> Iterator[str]:
    """The wishes of the goal that no answer has met yet."""
    turns = _turns(facts)
    for wish in goal.wishes:
        if not any(is_met_by(wish, user, answer, facts.scenario) for user, answer in turns):
            yield wish.message


def follow_ups(facts: SimulatedUserFacts, answers: tuple[str, ...]) -> Iterator[str]:
    """Questions about what the knowledge has on the goal and no answer has told yet, a few at most."""
    wanted = stems(facts.scenario.goal)
    topics: dict[str, list[Statement]] = {}
    for statement in knowledge_of(facts.scenario).statements:
        topic = statement.topic or _subject(statement.text)
        shares_words = len(wanted & statement.subject) >= 2 or bool(wanted & stems(topic))
        if topic and shares_words and not identifiers(topic):
            topics.setdefault(topic, []).append(statement)
    questions = [(ask_about(topic), statements) for topic, statements in topics.items()]
    said = [message.content for message in facts.history if message.role == "simulated_user"]
    asked = sum(any(is_same_message(question, earlier) for earlier in said) for question, _ in questions)
    told = "\n".join(answers)
    for question, statements in _rotated(questions, facts.repetition):
        if asked >= FOLLOW_UPS:
            return
        if not any(coverage(told, statement) >= 0.4 for statement in statements):
            yield question


def ask_about(topic: str) -> str:
    """A question about a topic of the knowledge: its heading where that is a question, else its name in one."""
    topic = _NUMBERING.sub("", topic.strip(" #*:"))
    if topic.endswith("?"):
        return topic
    plain = " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in topic.split())
    own = to_first_person(plain)
    if re.match(r"(?:how|what|when|where|who|why|which)\b", own):
        return f"Could you also tell me {own}?"
    if re.match(r"(?:if|in case)\b", own):
        return f"Could you also tell me what to do {own}?"
    if is_instruction(own):
        return f"Could you also tell me how to {own}?"
    return f"Could you also tell me about {re.split(r' (?:is|are) ', own, maxsplit=1)[0]}?"


def _subject(sentence: str) -> str:
    match = _SUBJECT.match(sentence)
    return match["subject"] if match and not _NO_SUBJECT.search(match["subject"]) else ""


def _rotated(questions: list[tuple[str, list[Statement]]], repetition: int) -> list[tuple[str, list[Statement]]]:
    start = repetition % len(questions) if questions else 0
    return questions[start:] + questions[:start]


def _turns(facts: SimulatedUserFacts) -> list[tuple[str, str]]:
    turns: list[tuple[str, str]] = []
    user = ""
    for message in facts.history:
        if message.role == "simulated_user":
            user = bounded(message.content)
        else:
            turns.append((user, bounded(message.content)))
    return turns
