from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.config.checks import check_metric_names, gates
from arksim_ci.schema.custom_metric import CustomMetric
from tests.unit.config.project import load, problems, write

CLARITY = CustomMetric(name="clarity", kind="numeric", scope="turn", scale=(0, 5), file="m.py")
PROHIBITED = CustomMetric(
    name="prohibited_statements", kind="qualitative", scope="turn", labels=("Clean", "Violated"), file="m.py"
)
NEEDS = CustomMetric(name="needs_assessment", kind="qualitative", scope="conversation", file="m.py")


def check(tmp_path: Path, text: str, *definitions: CustomMetric) -> list[str]:
    (tmp_path / "m.py").touch()
    loaded = load(write(tmp_path, "custom_metrics_file_paths: [m.py]\n" + text))
    return [str(problem).replace(f"{tmp_path}/", "") for problem in check_metric_names(loaded, definitions)]


def test_names_of_running_metrics_are_accepted(tmp_path: Path) -> None:
    text = """\
numeric_thresholds: {clarity: 3.5, overall_score: 0.6, goal_completion: 0.5, verbosity: 1}
qualitative_failure_labels:
  prohibited_statements: [" VIOLATED "]
  needs_assessment: [anything]
  agent_behavior_failure: ["False Information"]
  tool_call_behavior_failure: [unsafe action]
min_pass_rate: {clarity: 0.5, prohibited_statements: 0.9, assertions: 0.5}
"""
    assert check(tmp_path, text, CLARITY, PROHIBITED, NEEDS) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "numeric_thresholds: {claritty: 3}\n",
            'config.yaml:10: numeric_thresholds.claritty: no metric of this name runs; did you mean "clarity"? Known: '
            "helpfulness, coherence, verbosity, relevance, faithfulness, goal_completion, clarity, overall_score",
        ),
        (
            "numeric_thresholds: {clarity: 6}\n",
            "numeric_thresholds.clarity: found 6, but clarity is scored from 0 to 5",
        ),
        (
            "numeric_thresholds: {prohibited_statements: 1}\n",
            "prohibited_statements gives a label; set it in qualitative_failure_labels, not in numeric_thresholds",
        ),
        (
            "qualitative_failure_labels: {clarity: [low]}\n",
            "clarity gives a number; set it in numeric_thresholds, not in qualitative_failure_labels",
        ),
        (
            "qualitative_failure_labels: {prohibited_statements: [violatd]}\n",
            'prohibited_statements[0]: prohibited_statements has no label "violatd"; did you mean "Violated"? Its labels: Clean, Violated',
        ),
        (
            "qualitative_failure_labels: {prohibited: [x]}\n",
            "qualitative_failure_labels.prohibited: no metric of this name runs",
        ),
        (
            "metrics_to_run:\n  - faithfulness\n  - goal_completon\n",
            'config.yaml:12: metrics_to_run[1]: there is no metric "goal_completon"; did you mean "goal_completion"?',
        ),
    ],
)
def test_names_are_held_to_the_metrics_that_loaded(tmp_path: Path, text: str, message: str) -> None:
    found = check(tmp_path, text, CLARITY, PROHIBITED)
    assert len(found) == 1, found
    assert message in found[0]


def test_a_custom_metric_may_stand_in_metrics_to_run(tmp_path: Path) -> None:
    assert check(tmp_path, "metrics_to_run: [faithfulness, clarity]\n", CLARITY) == []


def test_names_of_custom_metrics_need_a_name_of_their_own(tmp_path: Path) -> None:
    builtin = CustomMetric(name="faithfulness", kind="numeric", scope="turn", file="a.py")
    again = CustomMetric(name="clarity", kind="numeric", scope="turn", file="b.py")
    assert check(tmp_path, "", builtin, CLARITY, again) == [
        'config.yaml:9: custom_metrics_file_paths: a custom metric is named like the built-in "faithfulness" (in a.py); '
        "give it a name of its own",
        'config.yaml:9: custom_metrics_file_paths: two custom metrics are named "clarity" (in b.py) and in m.py; give each a '
        "name of its own",
    ]


def test_what_custom_metrics_cannot_change_is_found_before_they_load(tmp_path: Path) -> None:
    (tmp_path / "m.py").touch()
    text = "custom_metrics_file_paths: [m.py]\nnumeric_thresholds: {clarity: 9, faithfulness: 0}\n"
    assert problems(write(tmp_path, text)) == [
        "config.yaml:10: numeric_thresholds.faithfulness: found 0, but faithfulness is scored from 1 to 5"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "numeric_thresholds: {overall_score: 0.5}\nmetrics_to_run: [goal_completion]\n",
            "overall_score is computed from agent_behavior_failure, which does not run; add it to metrics_to_run",
        ),
        (
            "score_threshold: 0.5\nmetrics_to_run: [goal_completion]\n",
            "config.yaml:9: score_threshold: overall_score is computed from agent_behavior_failure",
        ),
        ("numeric_thresholds: {overall_score: 70}\n", "found 70, but overall_score is scored from 0 to 1"),
        ("numeric_thresholds: {goal_completion: 1.5}\n", "found 1.5, but goal_completion is scored from 0 to 1"),
        ("numeric_thresholds: {faithfulness: .nan}\n", ".nan is not a finite number"),
        (
            "numeric_thresholds: {verbosity: 3}\nmetrics_to_run: [faithfulness]\n",
            "numeric_thresholds.verbosity: verbosity does not run; add it to metrics_to_run",
        ),
        (
            "qualitative_failure_labels: {tool_call_behavior_failure: [unsafe action]}\nmetrics_to_run: [faithfulness]\n",
            "tool_call_behavior_failure does not run; add it to metrics_to_run",
        ),
        (
            "numeric_thresholds: {agent_behavior_failure: 1}\n",
            "agent_behavior_failure gives a label; set it in qualitative_failure_labels",
        ),
        (
            "qualitative_failure_labels: {faithfulness: [low]}\n",
            "faithfulness gives a number; set it in numeric_thresholds",
        ),
        (
            "qualitative_failure_labels: {agent_behavior_failure: [false informations]}\n",
            'has no label "false informations"; did you mean "false information"?',
        ),
        (
            "qualitative_failure_labels: {agent_behavior_failure: [unsafe action]}\n",
            "It is a label of tool_call_behavior_failure.",
        ),
        ("qualitative_failure_labels: {agent_behavior_failure: []}\n", "lists no label, so it can never fail"),
        ("qualitative_failure_labels: {agent_behavior_failure: [' ']}\n", "the label is empty"),
        (
            "qualitative_failure_labels: {agent_behavior_failure: [evaluation_run_failed]}\n",
            "min_coverage decides about those",
        ),
        (
            "qualitative_failure_labels: {agent_behavior_failure: no failure}\n",
            'found "no failure"; allowed: list of texts',
        ),
        (
            "min_pass_rate: {faithfulnes: 0.5}\nnumeric_thresholds: {faithfulness: 3}\n",
            "min_pass_rate.faithfulnes: there is no check of this name; set it in numeric_thresholds or "
            'qualitative_failure_labels; did you mean "faithfulness"?',
        ),
        ("metrics_to_run: [overall_score]\n", "overall_score is computed from the others and needs no entry"),
    ],
)
def test_gates_that_can_not_work_are_refused(tmp_path: Path, text: str, message: str) -> None:
    found = problems(write(tmp_path, text))
    assert len(found) == 1, found
    assert message in found[0]


def test_a_check_that_is_wrong_itself_does_not_spoil_its_pass_rate(tmp_path: Path) -> None:
    text = "numeric_thresholds: {faithfulness: high}\nmin_pass_rate: {faithfulness: 0.5}\n"
    assert len(problems(write(tmp_path, text))) == 1


def test_the_gates_of_a_configuration(tmp_path: Path) -> None:
    text = """\
numeric_thresholds: {faithfulness: 3.5}
score_threshold: 0.6
qualitative_failure_labels: {agent_behavior_failure: [" False Information", "false information", Repetition]}
min_pass_rate: {faithfulness: 0.9}
min_coverage: 0.8
max_never_spoke_share: 0.1
"""
    found = gates(load(write(tmp_path, text)).config)
    assert found.numeric_thresholds == {"faithfulness": 3.5, "overall_score": 0.6}
    assert found.qualitative_failure_labels == {"agent_behavior_failure": ("false information", "repetition")}
    assert (found.min_pass_rate, found.min_coverage, found.max_never_spoke_share) == ({"faithfulness": 0.9}, 0.8, 0.1)
