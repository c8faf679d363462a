"""How work grows: no step of a run takes four times as long for twice the conversations.

What grows is counted in executed instructions, which are the same on every machine, not measured in seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import FrameType
from typing import Any, Final

import pytest

from arksim_ci.evaluation.build import Evaluated, build_evaluation
from arksim_ci.evaluation.comparison import KnownError, compare
from arksim_ci.evaluation.failures import Failure, collect_failures
from arksim_ci.evaluation.focus import focus_files, map_errors_to_scenarios
from arksim_ci.evaluation.measurements import Measurements
from arksim_ci.evaluation.metrics import expected_metrics
from arksim_ci.evaluation.unique_errors import find_unique_errors_plainly
from arksim_ci.gates.expectation import expected_conversations
from arksim_ci.gates.verdict import decide
from arksim_ci.github.annotations import annotations_of
from arksim_ci.journal.lines import Header, conversation_line, encoded, header_line, judgement_line, read_lines
from arksim_ci.pipeline.conclusion import count_attempts, evaluation_file
from arksim_ci.pipeline.files import as_json, redacted
from arksim_ci.pipeline.record import Record
from arksim_ci.redaction import redactor
from arksim_ci.reports.comment import render_comment
from arksim_ci.reports.context import CommentContext
from arksim_ci.reports.html import render_html_report
from arksim_ci.reports.junit import render_junit
from arksim_ci.reports.markdown_report import render_markdown_report
from arksim_ci.reports.results import Results
from arksim_ci.reports.sarif import render_sarif
from arksim_ci.reports.tables import conversations_csv, errors_csv, turns_csv
from arksim_ci.reports.terminal import closing_block
from arksim_ci.schema.expectation import Expectation, Gates
from arksim_ci.schema.judgement import Judgement, Measured
from arksim_ci.schema.scenario import Scenario, Scenarios
from arksim_ci.schema.simulation import Conversation, Message, SimulatedUserPrompt, Simulation
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, GOAL_COMPLETION, TURN_METRICS
from arksim_ci.simulation.simulator import TestCase
from tests.support import samples

SIZES: Final = (16, 32, 64)
"""Conversations, each twice as many as before."""
MOST_GROWTH: Final = 2.1
"""How much more the second doubling may add than the first: 2 where work is in proportion, 4 where it is quadratic."""
HEADER: Final = Header(inputs={}, simulation_id="s", evaluation_id="e", started_at="t")
REDACT: Final = redactor(["a-secret-of-the-run"])


@dataclass(frozen=True)
class Run:
    """A run in all its stages. Every conversation fails in a way of its own, and two share a scenario."""

    scenarios: Scenarios
    simulation: Simulation
    judgements: list[Judgement]
    measurements: Measurements
    evaluated: Evaluated
    failures: list[Failure]
    expectation: Expectation
    results: Results

    @property
    def scenario_of(self) -> dict[str, str]:
        return {each.conversation_id: each.scenario_id for each in self.simulation.conversations}

    @property
    def fresh(self) -> Results:
        """The results, with no look-up made yet; goals stand in the scenario file alone."""
        return replace(self.results)

    @property
    def known(self) -> list[KnownError]:
        return [KnownError(each.number, each.error, each.scenario_ids) for each in self.results.errors]

    def journal(self) -> list[bytes]:
        held = [conversation_line(number, each) for number, each in enumerate(self.simulation.conversations)]
        return [encoded(line) for line in (header_line(HEADER), *held, *map(judgement_line, self.judgements))]


METRICS = expected_metrics((), ())


@cache
def run_of(size: int) -> Run:
    scenarios = Scenarios(
        schema_version="v1",
        scenarios=[
            Scenario(scenario_id=f"s{n}", user_id="u", goal="A refund.", agent_context="A shop.", user_profile="Ann.")
            for n in range(size // 2)
        ],
    )
    conversations = [_conversation(number) for number in range(size)]
    simulation = Simulation(
        schema_version="v1.1", simulator_version="1", simulation_id="s", generated_at="", conversations=conversations
    )
    judgements = [each for number in range(size) for each in _judgements(number)]
    measurements = Measurements()
    for judgement in judgements:
        measurements.add(judgement)
    evaluated = build_evaluation(conversations, measurements, METRICS)
    failures = collect_failures(evaluated.conversations, {each.conversation_id: each for each in conversations}, 0.6)
    errors = find_unique_errors_plainly(failures)
    mappings = map_errors_to_scenarios(
        errors, {each.conversation_id: each.scenario_id for each in conversations}, scenarios
    )
    evaluation = evaluation_file("s", "e", "2026-11-30T12:00:00Z", evaluated, errors, mappings)
    sample = samples.gate_failed().verdict
    expectation = Expectation(
        conversations=expected_conversations(simulation, scenarios.scenarios),
        metrics=METRICS,
        gates=Gates(
            numeric_thresholds={"faithfulness": 3.5, "overall_score": 0.9, GOAL_COMPLETION: 0.8},
            qualitative_failure_labels={AGENT_BEHAVIOR_FAILURE: ("false information",)},
        ),
        run=sample.run,
        attempts=count_attempts(conversations),
        judge=sample.judge,
    )
    results = Results(decide(evaluation, expectation), simulation, evaluation, scenarios)
    return Run(scenarios, simulation, judgements, measurements, evaluated, failures, expectation, results)


def _conversation(number: int) -> Conversation:
    return Conversation(
        conversation_id=f"c{number}",
        scenario_id=f"s{number // 2}",
        conversation_history=[
            Message(turn_id=turn, message_id=f"{number}{role}{turn}", role=role, content=f"Text {number}.")
            for turn in range(2)
            for role in ("simulated_user", "assistant")
        ],
        simulated_user_prompt=SimulatedUserPrompt(simulated_user_prompt_template="", variables={}),
    )


def _judgements(number: int) -> list[Judgement]:
    said = "".join("abcdefghij"[int(digit)] for digit in f"{number:04}")
    scores = [Measured(metric=metric, value=2.0, reason=f"It says {said}.") for metric in TURN_METRICS]
    label = Measured(metric=AGENT_BEHAVIOR_FAILURE, value="false information", reason=f"The policy denies {said}.")
    goal = Measured(metric=GOAL_COMPLETION, value=0.0, reason=f"Never learns {said}.")
    turns = [Judgement(conversation_id=f"c{number}", turn_id=turn, measured=(*scores, label)) for turn in range(2)]
    return [*turns, Judgement(conversation_id=f"c{number}", turn_id=None, measured=(goal,))]


def taken_over(run: Run) -> Callable[[], object]:
    record = Record(None, HEADER, read_lines(run.journal()), REDACT)
    cases = [
        TestCase(run.scenarios.scenarios[n // 2], n % 2, f"n{n}") for n in range(len(run.simulation.conversations))
    ]
    return lambda: record.take_over(cases)


STEPS: dict[str, Callable[[Run], Callable[[], object]]] = {
    "build_evaluation": lambda run: lambda: build_evaluation(run.simulation.conversations, run.measurements, METRICS),
    "nothing measured": lambda run: lambda: build_evaluation(run.simulation.conversations, Measurements(), METRICS),
    "unique errors": lambda run: lambda: find_unique_errors_plainly(run.failures),
    "focus files": lambda run: (
        lambda: focus_files(
            map_errors_to_scenarios([each.error for each in run.results.errors], run.scenario_of, run.scenarios),
            run.scenarios,
        )
    ),
    "verdict": lambda run: lambda: decide(run.results.evaluation, run.expectation),  # type: ignore[arg-type]
    "comparison": lambda run: (
        lambda: compare(run.known, run.known, run.results.evaluation, run.scenario_of)  # type: ignore[arg-type]
    ),
    "html": lambda run: lambda: render_html_report(run.fresh),
    "markdown": lambda run: lambda: render_markdown_report(run.fresh, CommentContext()),
    "comment": lambda run: lambda: render_comment(run.fresh, CommentContext()),
    "junit": lambda run: lambda: render_junit(run.fresh),
    "sarif": lambda run: lambda: render_sarif(run.fresh, CommentContext()),
    "tables": lambda run: lambda: (conversations_csv(run.fresh), turns_csv(run.fresh), errors_csv(run.fresh)),
    "terminal": lambda run: lambda: closing_block(run.fresh, {}),
    "annotations": lambda run: lambda: annotations_of(run.fresh, "config.yaml", "scenarios.json", {}, exit_code=1),
    "redaction": lambda run: lambda: redacted(run.results, REDACT),
    "json": lambda run: lambda: as_json(run.simulation, REDACT),
    "journal": lambda run: lambda: read_lines(run.journal()),
    "resume": taken_over,
}


def steps_of(work: Callable[[], object]) -> int:
    """How many instructions of Python are executed, every pass of a loop counted."""
    count = 0

    def inside(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal count
        count += event == "opcode"
        return inside

    def enter(frame: FrameType, _event: str, _value: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return inside

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("step", STEPS)
def test_work_grows_in_proportion(step: str) -> None:
    prepare = STEPS[step]
    prepare(run_of(SIZES[0]))()  # what is made once, such as templates, is made now
    few, more, most = (steps_of(prepare(run_of(size))) for size in SIZES)
    growth = (most - more) / max(more - few, 1)
    assert most > few
    assert growth <= MOST_GROWTH, f"{few}, {more}, {most} instructions"
