from __future__ import annotations

import pytest

from arksim_ci.llm.offline.advice import advise
from arksim_ci.llm.offline.provider import answer_by_rules
from arksim_ci.llm.offline.rules.false_information import contradicted_figure
from arksim_ci.llm.questions.recommendation import (
    RecommendationFacts,
    RepairFacts,
    Repairs,
    Replacement,
    SourceExcerpt,
)
from arksim_ci.schema.recommendation import AGENT_MODULES
from arksim_ci.schema.vocabulary import SEVERITY_OF
from tests.unit.llm.offline.scenes import view

ASKED = "How long do I have to return the shoes?"
ANSWER = "You can return unworn items within 45 days of delivery."


def facts(category: str = "false information", *sources: SourceExcerpt) -> RecommendationFacts:
    found = contradicted_figure(view(ASKED, ANSWER))
    assert found is not None
    return RecommendationFacts(
        category, "high", "A group.", (found.reason,), ((ASKED, ANSWER),), "A shop.", ("k",), sources
    )


@pytest.mark.parametrize("category", [*SEVERITY_OF, "something new"])
def test_every_category_has_a_best_fix_with_evidence(category: str) -> None:
    advice = advise(facts(category))
    assert advice.module_fixes[advice.best].module in AGENT_MODULES
    assert ANSWER in advice.reasoning
    assert not any("{" in fix.fix for fix in advice.module_fixes)


def test_false_information_names_what_is_true() -> None:
    assert "unworn items can be returned within 30 days" in advise(facts()).module_fixes[0].fix


def test_the_line_with_the_wrong_figure_is_corrected() -> None:
    source = SourceExcerpt("agent.py", 10, 'A = 145\nRETURNS = "within 45 days"\nB = 2')
    advice = advise(facts("false information", source))
    (change,) = advice.changes
    assert advice.best_change == 0
    assert (change.file, change.module) == ("agent.py", advice.module_fixes[0].module)
    assert change.replacements == (Replacement(11, 'RETURNS = "within 45 days"', 'RETURNS = "within 30 days"'),)
    assert "It stands in agent.py, line 11." in advice.module_fixes[0].fix


@pytest.mark.parametrize("text", ["nothing", "45 days\n45 days", "45 days, 45 days", "145 days"])
def test_no_change_where_the_place_is_not_certain(text: str) -> None:
    advice = advise(facts("false information", SourceExcerpt("agent.py", 1, text)))
    assert (advice.changes, advice.best_change) == ((), None)


def test_two_excerpts_of_a_file_count_together() -> None:
    excerpts = [SourceExcerpt("agent.py", line, "45 days") for line in (1, 100)]
    assert advise(facts("false information", *excerpts)).changes == ()


def test_a_refused_change_is_not_proposed_again() -> None:
    repairs = answer_by_rules(RepairFacts(facts(), ()))
    assert repairs == Repairs({})


def test_no_evidence_at_all_is_no_error() -> None:
    assert advise(RecommendationFacts("repetition", "low", "A group {x}.", (), (), "", ())).module_fixes


def test_a_goal_missed_through_failed_turns_gets_no_fix_of_its_own() -> None:
    reason = (
        "0 of 1 wishes of the goal were met. Missed only through turns that failed already: "
        '"When do I get it?" (answered in turn 1, but: false information).'
    )
    through = advise(RecommendationFacts("goal not completed", "medium", "d", (reason,), (), "", ()))
    assert "Mend the turns that failed" in through.module_fixes[0].fix
    assert "still open" not in through.module_fixes[0].fix
    open_one = 'Not met by any answer: "Where are you?"'
    both = advise(RecommendationFacts("goal not completed", "medium", "d", (reason, open_one), (), "", ()))
    assert "still open" in both.module_fixes[0].fix
