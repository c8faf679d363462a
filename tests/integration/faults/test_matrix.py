"""Every kind of fault, at every role, sometimes and always: nothing unmeasured passes, and nothing finished is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arksim_ci.github.client import GitHubClient
from arksim_ci.output import RESULT_FILES
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.simulation import Conversation
from arksim_ci.schema.vocabulary import TURN_METRICS
from tests.integration.faults.cells import Cell, Share, cells
from tests.support.action_step import Step
from tests.support.fast_run import FastRun, fast_clock, fast_run, fast_sleep
from tests.support.fault_server import FaultServer
from tests.support.faults import LLM_ROLES, Fault, Role, Struck
from tests.support.project import Finished, Project, scenario

GATES = {
    "numeric_thresholds": {"faithfulness": 3.5, "goal_completion": 0.5},
    "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
}
SUBJECTS = ("shoes", "hats", "coats")
SHORT, LONG = 0.3, 20.0
"""Real seconds for one request: where it is the fault that nothing comes, and elsewhere."""
TO_DO = (
    "run again",
    "Run again",
    "Check that the agent is up",
    "Check the path of the agent's endpoint",
    "Answer in a shape that",
)

RUNS = [cell for cell in cells() if cell.role is not Role.GITHUB]
STEPS = [cell for cell in cells() if cell.role is Role.GITHUB]


def project(cell: Cell, folder: Path, server: FaultServer) -> Project:
    made = Project(folder, server)
    subjects = SUBJECTS[:1] if cell.share is Share.ALWAYS and (cell.fault is Fault.HUGE or not cell.gated) else SUBJECTS
    made.scenarios = [
        scenario(name, goal=f"You want to know how many days you have to return {name}.") for name in subjects
    ]
    made.config |= {
        "num_conversations_per_scenario": 1,
        "llm_timeout_seconds": SHORT if cell.slow and cell.role in LLM_ROLES else LONG,
        "agent_timeout_seconds": SHORT if cell.slow and cell.role is Role.AGENT else LONG,
        **(GATES if cell.gated else {}),
    }
    return made


@pytest.mark.parametrize("cell", RUNS, ids=str)
async def test_run(
    cell: Cell, server: FaultServer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    made = project(cell, tmp_path, server)
    for seed in range(1, 9):  # at a rate of 0.3, few requests may all be spared
        server.strike(Struck(cell.role, (cell.fault,), cell.share.rate, cell.share.same, seed))
        done = await fast_run(made.write())
        if server.faults.counts:
            break
    assert server.faults.counts
    finished = done.finished
    record_property("cell", (cell.role.value, cell.fault.value, cell.share.name, cell.gated, finished.code))
    assert finished.code in cell.codes, done.closing
    assert finished.code == code_by_the_files(finished, gated=cell.gated), done.closing
    held_to_the_invariants(done, cell)


def code_by_the_files(finished: Finished, *, gated: bool) -> int:
    """The exit code that simulation.json and evaluation.json alone call for, all values being good ones."""
    talks, scores = finished.simulation.conversations, finished.evaluation.conversations
    assert [each.conversation_id for each in talks] == [each.conversation_id for each in scores]
    if any(each.agent_silence for each in talks):
        return 1
    whole = all(is_measured(talk, scored, gated=gated) for talk, scored in zip(talks, scores, strict=True))
    return 0 if whole else 3


def is_measured(talk: Conversation, scored: ConversationEvaluation, *, gated: bool) -> bool:
    """Whether all that the gates read (everything, without gates) was measured of a conversation."""
    if talk.not_finished or not talk.turns() or scored.goal_completion_score == -1:
        return False
    needed = {"faithfulness"} if gated else set(TURN_METRICS)
    return len(scored.turn_scores) == len(talk.turns()) and all(
        needed <= {score.name for score in turn.scores} and turn.turn_behavior_failure != "evaluation_run_failed"
        for turn in scored.turn_scores
    )


def values(scored: ConversationEvaluation) -> int:
    """How many values of a conversation were measured."""
    labelled = [turn for turn in scored.turn_scores if turn.turn_behavior_failure != "evaluation_run_failed"]
    scores = [score for turn in scored.turn_scores for score in turn.scores]
    return len(labelled) + len(scores) + (scored.goal_completion_score != -1)


def held_to_the_invariants(done: FastRun, cell: Cell) -> None:
    finished, verdict = done.finished, done.result.results.verdict
    # every finished conversation is in the files
    held = {each.conversation_id: each for each in finished.simulation.conversations}
    assert len(held) == len(done.told.ended)
    for each in done.told.ended:
        assert held[each.conversation_id].conversation_history == each.conversation_history
    # all files are there, and nothing else
    assert {*RESULT_FILES, "journal.jsonl"} <= set(finished.files), finished.files
    assert not [
        name for name in finished.files if name not in RESULT_FILES and not name.startswith(("focus/", "journal"))
    ]
    assert not done.result.trouble
    # the verdict says what its code means, and its coverage is what the files show
    types = {failure.type for failure in verdict.failures}
    assert (verdict.exit_code, verdict.status) == (finished.code, "COMPLETED")
    assert (
        types <= {1: {"AGENT_NEVER_SPOKE"}, 3: {"INCOMPLETE_COVERAGE", "METRIC_NOT_EVALUATED"}, 0: set()}[finished.code]
    )
    assert bool(types) == bool(finished.code)
    assert verdict.passed is (False if finished.code else True if cell.gated else None)
    spoken = [each for each in finished.simulation.conversations if not each.agent_silence]
    scored = {each.conversation_id: each for each in finished.evaluation.conversations}
    assert verdict.coverage.expected_conversations == len(spoken)
    assert verdict.coverage.simulated_conversations == sum(not each.not_finished for each in spoken)
    assert verdict.coverage.evaluated_metric_values == sum(values(scored[each.conversation_id]) for each in spoken)
    # what is not measured carries its cause; nothing out of range is ever kept
    for failure in verdict.failures:
        assert failure.type != "METRIC_NOT_EVALUATED" or failure.causes
    for scores in scored.values():
        assert scores.goal_completion_score in (1, -1)
        assert {score.value for turn in scores.turn_scores for score in turn.scores} <= {5}
    # the reader is told what to do
    if finished.code:
        assert any(words in done.closing for words in TO_DO), done.closing
    if cell.role in (Role.CLUSTERING, Role.RECOMMENDATIONS) and cell.share is Share.ALWAYS:
        told_of_the_analysis(done, cell)


def told_of_the_analysis(done: FastRun, cell: Cell) -> None:
    """No failure vanishes, whoever groups them; where nobody could, a warning says so."""
    places = [place for error in done.finished.evaluation.unique_errors for place in error.occurrences]
    failing = sum(len(each.turn_scores) for each in done.finished.evaluation.conversations)
    assert len(places) == len(set(places)) == failing
    if cell.codes == {0} and cell.fault not in (Fault.FENCED, Fault.IN_PROSE, Fault.FICKLE):
        assert done.result.results.verdict.warnings


@pytest.mark.parametrize("cell", STEPS, ids=str)
async def test_step(
    cell: Cell,
    server: FaultServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """Trouble with GitHub changes no exit code, and what could not be published is said."""
    if cell.slow:
        defaults = GitHubClient.__init__.__kwdefaults__ or {}  # the action has no setting for it
        monkeypatch.setitem(defaults, "timeout_seconds", SHORT)
    server.github.comments.clear()
    server.strike()
    step = Step(tmp_path, server, server.github)
    step.time.clock, step.time.sleep = fast_clock, fast_sleep  # type: ignore[method-assign]
    step.project.config |= GATES | {"num_conversations_per_scenario": 1, "max_turns": 1}
    for seed in range(1, 9):
        server.strike(Struck(cell.role, (cell.fault,), cell.share.rate, cell.share.same, seed))
        ended = await step.run()
        if server.faults.counts:
            break
    assert server.faults.counts
    record_property("cell", (cell.role.value, cell.fault.value, cell.share.name, cell.gated, ended.code))
    assert ended.code == 0, ended.log
    assert ended.outputs["exit-code"] == "0"
    comments = [body for body in server.github.bodies() if "arksim" in body]
    assert len(comments) == 1 or ended.annotations("warning"), ended.log
    assert len(comments) <= 1
    assert ended.file("verdict.json")["passed"] is True
    assert "passed" in ended.summary
