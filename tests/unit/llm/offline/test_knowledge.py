from __future__ import annotations

from arksim_ci.llm.offline.knowledge import coverage, knowledge_of
from arksim_ci.llm.offline.text import stems
from tests.unit.llm.offline.scenes import scenario


def test_headings_and_labels_are_the_topic_of_what_follows() -> None:
    text = "# Claims\n\nFile a claim online. It takes a day.\n- Deadline: 30 days\n| Type | Cost |\n|---|---|\n| Basic | 5 EUR |"
    found = [(s.topic, s.text) for s in knowledge_of(scenario(knowledge=(text,))).statements]
    assert found[:3] == [("Claims", "File a claim online."), ("Claims", "It takes a day."), ("Deadline", "30 days")]
    assert ("Claims", "Basic   5 EUR") in found
    assert not any("---" in text for _, text in found)


def test_the_statement_with_the_rare_word_is_the_closest() -> None:
    found = knowledge_of(scenario()).relevant(stems("What does express shipping cost?"))
    assert found[0][1].topic == "Express shipping"


def test_nothing_is_relevant_where_nothing_is_shared() -> None:
    assert knowledge_of(scenario()).relevant(stems("Do you sell tents in Norway?")) == []
    assert knowledge_of(scenario(knowledge=())).relevant(stems("Do you sell tents?")) == []


def test_coverage_counts_words_and_figures_and_not_another_statements_figures() -> None:
    express = next(s for s in knowledge_of(scenario()).statements if s.topic == "Express shipping")
    assert coverage("Express costs 9.90 EUR and takes 1 to 2 business days.", express) == 1
    assert 0 < coverage("Express takes some business days.", express) < 0.5
    assert coverage("Standard costs 4.90 EUR and takes 3 to 5 business days.", express) == 0
