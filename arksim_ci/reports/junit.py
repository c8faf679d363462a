"""junit.xml: a suite a scenario, a case a check and conversation, for the test reporters of CI.

Cases are named after the scenario, not after the conversation's id, so that test reporters can tell from run to run
which case broke; the id is in the text of what failed. The file is red exactly when the verdict is: a failed or unmeasured place that the gate tolerates is skipped, with the
reason, and what no conversation shows (run not completed, coverage) is a case of the suite `gate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from arksim_ci.reports.figures import needed, number_below, values_of
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import cut, xml_text
from arksim_ci.reports.sentences import PLAIN, failure_sentences
from arksim_ci.schema.evaluation import ConversationEvaluation
from arksim_ci.schema.simulation import Conversation
from arksim_ci.schema.verdict import Check, Failing
from arksim_ci.schema.vocabulary import AGENT_BEHAVIOR_FAILURE, EVALUATION_RUN_FAILED

_LONGEST = 8000
Outcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class _Case:
    suite: str
    name: str
    outcome: Outcome = "passed"
    message: str = ""
    details: str = ""


def render_junit(results: Results) -> str:
    """The XML text, of the dialect that Jenkins and the common reporters read."""
    cases = [*_gate_cases(results), *_conversation_cases(results)]
    by_suite: dict[str, list[_Case]] = {}
    for case in cases:
        by_suite.setdefault(case.suite, []).append(case)
    root = ElementTree.Element("testsuites", _totals("arksim-ci", cases))
    root.set("time", f"{results.verdict.run.duration_seconds:.3f}")
    for name, members in by_suite.items():
        suite = ElementTree.SubElement(root, "testsuite", _totals(_text(name), members))
        suite.set("skipped", str(sum(case.outcome == "skipped" for case in members)))
        for case in members:
            _write(suite, case)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _gate_cases(results: Results) -> Iterable[_Case]:
    """One case for the whole verdict: red when the exit code is not 0, with every reason."""
    sentences = failure_sentences(results, PLAIN)
    outcomes: dict[int, Outcome] = {0: "passed", 1: "failure", 3: "error"}
    outcome = outcomes[results.verdict.exit_code]
    message = (
        sentences[0] if sentences and outcome != "passed" else "The gate did not pass." if outcome != "passed" else ""
    )
    yield _Case("gate", "verdict", outcome, message, "\n".join(sentences))


def _conversation_cases(results: Results) -> Iterable[_Case]:
    checks = [(check, _by_conversation(check)) for check in results.verdict.checks]
    silence_counts = any(failure.type == "AGENT_NEVER_SPOKE" for failure in results.verdict.failures)
    for conversation in results.simulation.conversations:
        name = conversation.conversation_id
        yield _answers_case(conversation, results, silence_counts=silence_counts)
        for check, failing in checks:
            case = _check_case(
                check, failing.get(name, []), conversation, results.names[name], results.scored.get(name)
            )
            if case:
                yield case


def _by_conversation(check: Check) -> dict[str, list[Failing]]:
    """The places where a check failed, by the conversation's id."""
    found: dict[str, list[Failing]] = {}
    for each in check.failing:
        found.setdefault(each.conversation_id, []).append(each)
    return found


def _answers_case(conversation: Conversation, results: Results, *, silence_counts: bool) -> _Case:
    name = f"{results.names[conversation.conversation_id]}: the agent answers"
    silence = conversation.silence()
    if conversation.not_finished:
        outcome: Outcome = "error" if results.verdict.exit_code == 3 else "skipped"
        return _Case(
            conversation.scenario_id, name, outcome, f"The conversation broke off: {conversation.not_finished}"
        )
    if silence is None:
        return _Case(conversation.scenario_id, name)
    what = "never spoke" if silence.kind == "never_spoke" else "stopped answering"
    message = f"The agent {what}: {silence.cause}"
    return _Case(conversation.scenario_id, name, "failure" if silence_counts else "skipped", message)


def _check_case(
    check: Check,
    failing: Sequence[Failing],
    conversation: Conversation,
    called: str,
    scored: ConversationEvaluation | None,
) -> _Case | None:
    """One check of one conversation, with the places where it failed there; None where it has nothing to read there."""
    name = f"{called}: {check.name}"
    if failing:
        message = "; ".join(_failing_text(check, each) for each in failing)
        if check.passed is not False:
            return _Case(conversation.scenario_id, name, "skipped", f"tolerated by min_pass_rate: {message}")
        reasons = _reasons(check, failing, scored) or message
        details = f"{reasons}\nConversation {conversation.conversation_id}"
        return _Case(conversation.scenario_id, name, "failure", message, details)
    if check.kind == "assertion":
        return None
    state = _measured(check, scored)
    if state == "measured":
        return _Case(conversation.scenario_id, name)
    if state == "does not apply":
        return None
    outcome: Outcome = "error" if check.passed is None else "skipped"
    return _Case(conversation.scenario_id, name, outcome, "not measured")


def _measured(
    check: Check, scored: ConversationEvaluation | None
) -> Literal["measured", "not measured", "does not apply"]:
    if scored is None or scored.evaluation_status == "Evaluation Failed":
        return "not measured"
    if check.kind == "numeric":
        return "measured" if values_of(scored, check.name) is not None else "not measured"
    if check.name == AGENT_BEHAVIOR_FAILURE:
        labels = [turn.turn_behavior_failure for turn in scored.turn_scores]
        return "measured" if labels and EVALUATION_RUN_FAILED not in labels else "not measured"
    found = {label.name for turn in scored.turn_scores for label in turn.qual_scores}
    found |= {label.name for label in scored.convo_qual_scores}
    return "measured" if check.name in found else "does not apply"


def _failing_text(check: Check, failing: Failing) -> str:
    where = f"turn {failing.turn_id + 1}: " if failing.turn_id is not None else ""
    if isinstance(failing.value, str):
        return f"{where}{failing.value}"
    limit = check.threshold if check.threshold is not None else failing.value
    return f"{where}{number_below(failing.value, limit)}, {needed(check)} is needed"


def _reasons(check: Check, failing: Iterable[Failing], scored: ConversationEvaluation | None) -> str:
    """The judge's reasons for what failed, one a line."""
    if scored is None:
        return ""
    turns = {each.turn_id for each in failing}
    lines = []
    for turn in scored.turn_scores:
        if turns != {None} and turn.turn_id not in turns:
            continue
        reasons = [score.reason for score in turn.scores if score.name == check.name and score.reason]
        if check.name == AGENT_BEHAVIOR_FAILURE:
            reasons.append(turn.turn_behavior_failure_reason)
        lines += [f"turn {turn.turn_id + 1}: {reason}" for reason in reasons]
    return "\n".join(lines) or scored.goal_completion_reason


def _totals(name: str, cases: Iterable[_Case]) -> dict[str, str]:
    cases = list(cases)
    return {
        "name": name,
        "tests": str(len(cases)),
        "failures": str(sum(case.outcome == "failure" for case in cases)),
        "errors": str(sum(case.outcome == "error" for case in cases)),
    }


def _write(suite: ElementTree.Element, case: _Case) -> None:
    # Reporters want a time of every case; what was timed is the run, so it stands on `testsuites` alone.
    attributes = {"name": _text(case.name), "classname": _text(case.suite), "time": "0"}
    element = ElementTree.SubElement(suite, "testcase", attributes)
    if case.outcome == "passed":
        return
    child = ElementTree.SubElement(element, case.outcome, {"message": _text(case.message)})
    if case.outcome == "skipped":
        return
    child.set("type", "gate" if case.outcome == "failure" else "not measured")
    child.text = _text(case.details or case.message)


def _text(text: str) -> str:
    return cut(xml_text(text), _LONGEST)
