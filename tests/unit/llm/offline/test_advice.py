from __future__ import annotations

import pytest

from arksim_ci.llm.offline.advice import advise
from arksim_ci.llm.offline.rules.false_information import contradicted_figure
from arksim_ci.llm.questions.recommendation import RecommendationFacts, SourceExcerpt
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


def test_the_line_with_the_wrong_figure_is_corrected_by_a_diff() -> None:
    source = SourceExcerpt("agent.py", 10, 'A = 1\nRETURNS = "within 45 days"\nB = 2\n')
    advice = advise(facts("false information", source))
    (diff,) = advice.diffs
    assert advice.best_diff == 0
    assert diff.file == "agent.py"
    assert "@@ -10,3 +10,3 @@" in diff.diff
    assert '-RETURNS = "within 45 days"\n+RETURNS = "within 30 days"' in diff.diff
    assert "It stands in agent.py." in advice.module_fixes[0].fix


@pytest.mark.parametrize("text", ["nothing", "45 days\n45 days\n", "45 days, 45 days"])
def test_no_diff_where_the_place_is_not_certain(text: str) -> None:
    advice = advise(facts("false information", SourceExcerpt("agent.py", 1, text)))
    assert (advice.diffs, advice.best_diff) == ((), None)


def test_no_evidence_at_all_is_no_error() -> None:
    assert advise(RecommendationFacts("repetition", "low", "A group {x}.", (), (), "", ())).module_fixes
