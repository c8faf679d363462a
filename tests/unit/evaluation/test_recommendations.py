"""Recommendations: module fixes, code fixes that were checked and repaired once, and what is said when there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arksim_ci.evaluation.failures import Failure
from arksim_ci.evaluation.recommendations import recommend
from arksim_ci.evaluation.sources import Sources, read_sources
from arksim_ci.llm.client import Question, RunLimitReached
from arksim_ci.schema.evaluation import Occurrence, UniqueError
from arksim_ci.schema.recommendation import Recommendation
from arksim_ci.schema.scenario import Scenario
from tests.unit.evaluation.scripted_llm import ScriptedLLM

AGENT = "DAYS = 45\nNAME = 'shop'\n\n\ndef answer(message):\n    return f'Within {DAYS} days.'\n"
FIXES = [
    {"module": "Generation", "fix": "Quote the policy."},
    {"module": "Memory", "fix": "Correct DAYS in agent.py."},
]
ADVICE: dict[str, Any] = {"module_fixes": FIXES, "reasoning": "The constant is wrong.", "best": 1}


def change(
    old: str = "DAYS = 45", new: str = "DAYS = 30", file: str = "agent.py", module: str = "Memory"
) -> dict[str, Any]:
    return {"module": module, "file": file, "replacements": [{"start_line": 1, "old": old, "new": new}]}


def scenario(name: str = "s", *knowledge: str) -> Scenario:
    return Scenario.model_validate(
        {
            "scenario_id": name,
            "user_id": "u",
            "goal": "g",
            "agent_context": "A shop.",
            "user_profile": "p",
            "knowledge": [{"content": text} for text in knowledge or ("Shoes can be returned within 30 days.",)],
        }
    )


def failure(number: int = 0, user: str = "How long?", agent: str = "45 days.") -> Failure:
    occurrence = Occurrence(conversation_id=f"c{number}", turn_id=0)
    return Failure("false information", occurrence, f"It says 45 days ({number}).", user, agent)


def error(*failures: Failure, name: str = "e0") -> UniqueError:
    return UniqueError(
        unique_error_id=name,
        behavior_failure_category="false information",
        unique_error_description="Tells a wrong time for returns.",
        severity="critical",
        occurrences=[each.occurrence for each in failures],
    )


class Asked:
    """One error put to a scripted LLM."""

    def __init__(self, *answers: object, sources: Sources | None = None) -> None:
        self.answers = list(answers)
        self.llm = ScriptedLLM(lambda _: self.answers.pop(0))
        self.sources = sources
        self.warnings: list[str] = []

    async def found(self) -> list[Recommendation]:
        one = failure()
        result = await recommend(
            [error(one)], [one], {"c0": scenario()}, 10, self.llm, self.warnings.append, self.sources
        )
        return result.recommendations


def sources(folder: Path, text: str = AGENT, entry: str | None = None) -> Sources:
    (folder / "agent.py").write_text(text, encoding="utf-8")
    return read_sources([folder / "agent.py"], root=folder, entry_function=entry)


async def test_without_source_there_are_module_fixes_and_the_best_one() -> None:
    asked = Asked(ADVICE)
    (found,) = await asked.found()
    assert [(fix.module, fix.fix) for fix in found.module_fixes] == [
        ("Generation", "Quote the policy."),
        ("Memory", "Correct DAYS in agent.py."),
    ]
    assert (found.best_module_fix, found.best_module_fix_reasoning) == (
        "Memory: Correct DAYS in agent.py.",
        "The constant is wrong.",
    )
    assert (found.code_fixes, found.best_code_fix, found.best_code_fix_location, found.dropped) == ([], None, None, [])
    assert "source" not in asked.llm.prompts[0]
    assert asked.warnings == []


async def test_a_change_becomes_a_code_fix_with_its_place(tmp_path: Path) -> None:
    asked = Asked({**ADVICE, "changes": [change()], "best_change": 0}, sources=sources(tmp_path))
    (found,) = await asked.found()
    (fix,) = found.code_fixes
    assert (fix.module, fix.file, fix.start_line, fix.end_line) == ("Memory", "agent.py", 1, 1)
    assert fix.diff.startswith("--- a/agent.py\n+++ b/agent.py\n@@ -1,4 +1,4 @@\n-DAYS = 45\n+DAYS = 30\n")
    assert (found.best_code_fix, found.best_code_fix_location) == (fix.diff, "agent.py:1")
    assert found.code_fix_entry_function is None
    assert found.dropped == []
    assert json.dumps([6, "    return f'Within {DAYS} days.'"]) in asked.llm.prompts[0]
    assert (tmp_path / "agent.py").read_text(encoding="utf-8") == AGENT


async def test_the_best_fix_stands_first_with_its_function(tmp_path: Path) -> None:
    generation = change("Within {DAYS}", "Within {DAYS} calendar", module="Generation")
    answer = {**ADVICE, "changes": [change(), generation], "best_change": 1}
    (found,) = await Asked(answer, sources=sources(tmp_path)).found()
    assert [fix.module for fix in found.code_fixes] == ["Generation", "Memory"]
    assert found.best_code_fix_location == "agent.py:6 in answer"
    assert found.code_fix_entry_function == "answer"


async def test_without_a_best_change_that_of_the_best_module_is(tmp_path: Path) -> None:
    generation = change("Within {DAYS}", "Within {DAYS} calendar", module="Generation")
    answer = {**ADVICE, "changes": [generation, change()], "best_change": -1}
    (found,) = await Asked(answer, sources=sources(tmp_path, entry="main")).found()
    assert [fix.module for fix in found.code_fixes] == ["Memory", "Generation"]
    assert found.code_fix_entry_function == "main"


async def test_the_same_change_twice_is_one_fix(tmp_path: Path) -> None:
    answer = {**ADVICE, "changes": [change(), change(module="Generation"), change()], "best_change": 0}
    (found,) = await Asked(answer, sources=sources(tmp_path)).found()
    assert [fix.module for fix in found.code_fixes] == ["Memory"]


async def test_a_refused_change_is_repaired_once(tmp_path: Path) -> None:
    wrong = {**ADVICE, "changes": [change("DAYS = 60")], "best_change": 0}
    asked = Asked(wrong, {"changes": [{"number": 0, **change()}]}, sources=sources(tmp_path))
    (found,) = await asked.found()
    assert asked.llm.asked == ["recommend", "repair_changes"]
    assert "the text to replace (at line 1) does not stand in agent.py" in asked.llm.prompts[1]
    assert '[1, "DAYS = 45"]' in asked.llm.prompts[1]
    assert len(found.code_fixes) == 1
    assert found.dropped == []


async def test_what_stays_wrong_is_dropped_with_both_reasons_and_the_module_fix_is_left(tmp_path: Path) -> None:
    wrong = {**ADVICE, "changes": [change("DAYS = 60"), change(file="../x.py"), change("DAYS = 1")], "best_change": 0}
    again = {"changes": [{"number": 0, **change(new="DAYS = (")}, {"number": 7, **change()}]}
    asked = Asked(wrong, again, sources=sources(tmp_path))
    (found,) = await asked.found()
    assert asked.llm.asked == ["recommend", "repair_changes"]
    assert found.code_fixes == []
    assert found.best_module_fix == "Memory: Correct DAYS in agent.py."
    first, second, third = found.dropped
    assert first == (
        "Change to Memory refused: agent.py: the text to replace (at line 1) does not stand in agent.py; proposed again: "
        "agent.py: the file no longer parses with it: '(' was never closed (line 1)."
    )
    assert second == "Change to Memory refused: ../x.py: leads out of the given paths; name a file as its excerpt does."
    assert "does not stand in agent.py" in third


async def test_no_answer_to_the_repair_drops_the_change(tmp_path: Path) -> None:
    wrong = {**ADVICE, "changes": [change("DAYS = 60"), change()], "best_change": 0}
    asked = Asked(wrong, None, sources=sources(tmp_path))
    (found,) = await asked.found()
    assert len(found.code_fixes) == len(found.dropped) == 1


async def test_changes_beyond_the_most_are_counted(tmp_path: Path) -> None:
    many = [change(new=f"DAYS = {number}") for number in range(20)]
    (found,) = await Asked({**ADVICE, "changes": many, "best_change": 15}, sources=sources(tmp_path)).found()
    assert len(found.code_fixes) == 8
    assert found.dropped == ["12 more changes: at most 8 are looked at."]


async def test_a_change_of_the_wrong_shape_is_no_change(tmp_path: Path) -> None:
    bad = [{"module": "Brain", "file": "agent.py", "replacements": []}, {"module": "Memory"}, "x", change()]
    (found,) = await Asked({**ADVICE, "changes": bad, "best_change": 3}, sources=sources(tmp_path)).found()
    assert len(found.code_fixes) == 1


async def test_where_the_question_with_source_fails_the_module_fixes_are_asked_for_alone(tmp_path: Path) -> None:
    asked = Asked(None, ADVICE, sources=sources(tmp_path))
    (found,) = await asked.found()
    assert found.best_module_fix == "Memory: Correct DAYS in agent.py."
    assert "DAYS = 45" not in asked.llm.prompts[1]
    assert asked.warnings == ['There is no code fix for the error "Tells a wrong time for returns.": HTTP 500']


async def test_without_any_answer_the_reader_is_told() -> None:
    asked = Asked(None)
    assert await asked.found() == []
    assert asked.warnings == ['There is no recommendation for the error "Tells a wrong time for returns.": HTTP 500']


async def test_a_run_at_its_limit_is_not_asked_again(tmp_path: Path) -> None:
    def over(_: Question[object]) -> object:
        raise RunLimitReached("max_llm_calls")

    asked = Asked(sources=sources(tmp_path))
    asked.llm.script = over
    assert await asked.found() == []
    assert asked.llm.asked == ["recommend"]
    assert len(asked.warnings) == 1


async def test_only_the_most_severe_errors_are_asked_about() -> None:
    failures = [failure(number) for number in range(5)]
    errors = [error(each, name=f"e{number}") for number, each in enumerate(failures)]
    llm = ScriptedLLM(lambda _: ADVICE)
    of = {each.occurrence.conversation_id: scenario() for each in failures}
    found = await recommend(errors, failures, of, 2, llm, lambda _: None)
    assert [each.unique_error_id for each in found.recommendations] == ["e0", "e1"]
    assert (await recommend(errors, failures, of, 0, llm, lambda _: None)).recommendations == []
    assert len(llm.asked) == 2


async def test_the_evidence_is_the_shortest_exchanges_and_the_knowledge_of_their_scenarios() -> None:
    failures = [failure(0, user="x" * 9_000), *(failure(number, user=f"question {number}") for number in (1, 2, 3))]
    llm = ScriptedLLM(lambda _: ADVICE)
    of = {"c0": scenario("a", "Long."), "c1": scenario("b", "Fees."), "c2": scenario("c", "Fees.", "Days.")}
    await recommend([error(*failures)], failures, {**of, "c3": scenario("b", "Fees.")}, 1, llm, lambda _: None)
    (prompt,) = llm.prompts
    assert [f"question {number}" in prompt for number in (1, 2, 3)] == [True] * 3
    assert "xxx" not in prompt
    assert '"knowledge": ["Fees.", "Days."]' in prompt


async def test_too_much_knowledge_is_cut_down_to_what_the_error_speaks_of() -> None:
    one = failure(agent="You have 45 days to return them.")
    knowledge = [f"Subject {number}. " + "filler " * 250 for number in range(40)]
    llm = ScriptedLLM(lambda _: ADVICE)
    of = {"c0": scenario("s", *knowledge, "Shoes can be returned within 30 days.")}
    await recommend([error(one)], [one], of, 1, llm, lambda _: None)
    assert "returned within 30 days" in llm.prompts[0]
    assert len(llm.prompts[0]) < 22_000


async def test_what_of_the_source_was_not_read_is_said_once(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1", encoding="utf-8")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    read = read_sources([tmp_path / "agent.py", tmp_path / ".env"], root=tmp_path, entry_function="start")
    asked = Asked({**ADVICE, "changes": [], "best_change": -1}, sources=read)
    await asked.found()
    assert asked.warnings == [
        "Not read for code fixes: .env (hidden).",
        'The entry_function "start" is not defined in the source that was read.',
    ]


async def test_a_secret_in_the_source_is_in_no_question_and_in_no_fix(tmp_path: Path) -> None:
    text = 'KEY = "sk-0123456789abcdefghij"\n' + AGENT
    first = {**ADVICE, "changes": [change(), change('KEY = "***"', "KEY = ''")], "best_change": 0}
    asked = Asked(first, {"changes": []}, sources=sources(tmp_path, text))
    (found,) = await asked.found()
    assert "sk-0123456789" not in "".join(asked.llm.prompts) + found.model_dump_json()
    assert found.code_fixes[0].start_line == 2
    assert found.dropped == [
        "Change to Memory refused: agent.py: line 1 holds a secret that was not shown, so it can't be part of a change."
    ]
