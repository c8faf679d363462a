from __future__ import annotations

from arksim_ci.llm.offline.grouping import group_failures, merge_groups
from arksim_ci.llm.questions.unique_errors import FailureFacts, GroupingFacts, MergingFacts


def failure(ref: str, reason: str) -> FailureFacts:
    return FailureFacts(ref, reason, "user", "agent")


def wrong(ref: str, answer: str, knowledge: str) -> FailureFacts:
    return failure(ref, f'Contradicted figure: the answer says X. Answer: "{answer}"; knowledge: "{knowledge}"')


def test_one_ground_is_one_group_however_the_answers_are_worded() -> None:
    failures = (
        wrong("F1", "Refunds take 15 days.", "Refunds: the refund is paid within 5 days."),
        wrong("F2", "Shipping is 8 EUR.", "Shipping: costs 4.90 EUR in Germany."),
        wrong("F3", "Wait three weeks for the money.", "Refunds: the refund is paid within 5 days."),
    )
    groups = group_failures(GroupingFacts("false information", failures)).groups
    assert [group.members for group in groups] == [("F1", "F3"), ("F2",)]
    assert "contradict the knowledge" in groups[0].description
    assert "the refund is paid within 5 days" in groups[0].description
    assert "15 days" not in groups[0].description


def test_numbers_do_not_tell_reasons_apart() -> None:
    failures = (failure("F1", "the order 1001 was never found"), failure("F2", "the order 1002 was never found"))
    assert len(group_failures(GroupingFacts("anything", failures)).groups) == 1


def test_every_failure_is_in_exactly_one_group() -> None:
    failures = tuple(failure(f"F{number}", "x" * number) for number in range(20))
    groups = group_failures(GroupingFacts("repetition", failures)).groups
    assert sorted(ref for group in groups for ref in group.members) == sorted(one.ref for one in failures)
    assert group_failures(GroupingFacts("repetition", ())).groups == ()


def test_groups_of_one_ground_are_merged() -> None:
    facts = MergingFacts(
        "false information",
        ("G1", "G2", "G3"),
        (
            'Wrong. Where: "Refunds: paid within 5 days."',
            'Wrong again. Where: "Refunds: paid within 5 days."',
            'Where: "Tents"',
        ),
    )
    groups = merge_groups(facts).groups
    assert [group.members for group in groups] == [("G1", "G2"), ("G3",)]
    assert groups[0].description.startswith("Wrong again")


def test_goals_missed_through_failed_turns_are_one_group_that_names_the_causes() -> None:
    lead = "0 of 1 wishes of the goal were met."
    through = f"{lead} Missed only through turns that failed already:"
    failures = (
        failure("F1", f'{through} "When do I get it?" (answered in turn 1, but: false information).'),
        failure("F2", f'{lead} Not met by any answer: "Where are you?"'),
        failure("F3", f'{through} "How do I wash a coat?" (asked in turn 2, but: repetition).'),
    )
    groups = group_failures(GroupingFacts("goal not completed", failures)).groups
    assert [group.members for group in groups] == [("F1", "F3"), ("F2",)]
    assert "turns that failed already: false information, repetition" in groups[0].description
    assert "Where are you?" in groups[1].description
