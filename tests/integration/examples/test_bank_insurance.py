"""The offline rules on a real project's scenarios, which were not written with them in mind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from arksim_ci.llm.offline import OfflineLLM
from arksim_ci.llm.offline.knowledge import knowledge_of
from arksim_ci.llm.offline.text import stems, words
from arksim_ci.schema.scenario import Scenario, Scenarios
from arksim_ci.schema.simulation import Message
from arksim_ci.schema.vocabulary import NO_FAILURE
from tests.integration.examples.conversing import Answer, Held, converse

FILE = Path(__file__).parents[4] / "shared" / "cases" / "bank-insurance" / "scenarios.json"
NONSENSE = (
    "The moon is made of green cheese.",
    "Penguins enjoy slow jazz on Tuesdays.",
    "Lorem ipsum dolor sit amet.",
    "",
    "Xylophones swim.",
)
REFUSAL = "I'm sorry, I can't help with that."

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the shared cases are not there")


async def _knowledge(scenario: Scenario, history: list[Message]) -> str:
    """The two sentences of the knowledge that are closest to the message and were not said yet."""
    asked = stems(history[-1].content)
    told = "\n".join(message.content for message in history)
    knowledge = knowledge_of(scenario)
    new = [one for one in knowledge.statements if one.text not in told and len(words(one.text)) > 5]
    new.sort(key=lambda one: -knowledge.match(asked, one))
    return " ".join(one.text.rstrip(".:") + "." for one in new[:2] if not one.text.endswith("?"))


async def _nonsense(scenario: Scenario, history: list[Message]) -> str:
    return NONSENSE[len(history) // 2]


async def _refusal(scenario: Scenario, history: list[Message]) -> str:
    return REFUSAL


async def _all(answer: Answer) -> list[Held]:
    scenarios = Scenarios.model_validate_json(FILE.read_text(encoding="utf-8")).scenarios
    return [await converse(OfflineLLM(), scenario, answer, n) for scenario in scenarios for n in range(3)]


def _labels(held: list[Held]) -> Counter[str]:
    return Counter(label for one in held for label in one.labels)


async def test_an_agent_that_speaks_the_knowledge_has_few_failures_and_none_of_fact() -> None:
    held = await _all(_knowledge)
    labels = _labels(held)
    assert labels[NO_FAILURE] / labels.total() >= 0.9, labels
    assert labels["false information"] == 0
    assert all(one.goal >= 0.5 for one in held)


async def test_an_agent_that_speaks_nonsense_fails_every_turn() -> None:
    held = await _all(_nonsense)
    assert set(_labels(held)) == {"disobey user request"}
    assert all(one.goal == 0 for one in held)


async def test_the_user_gives_up_on_an_agent_that_always_refuses() -> None:
    held = await _all(_refusal)
    assert all(len(one.history) <= 4 for one in held)
    assert all(one.goal == 0 for one in held)


async def test_no_user_speaks_of_itself_as_you_or_repeats_itself() -> None:
    for one in await _all(_knowledge):
        said = [message.content for message in one.history if message.role == "simulated_user"]
        assert len(set(said)) == len(said)
        assert not any(text.startswith(("You want", "Your goal", "If the agent")) for text in said)
        assert not any("the agent" in text for text in said)
