"""results.sarif: the unique errors for code scanning, SARIF 2.1.0.

A rule is a failure category, a result an unique error, at the code fix's lines where there is one, else at the scenario
file. Source of the format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Any
from urllib.parse import quote

from arksim_ci.reports.context import DOCUMENTATION, CommentContext
from arksim_ci.reports.figures import count
from arksim_ci.reports.results import NumberedError, Results
from arksim_ci.reports.safe_text import cut, one_line, visible
from arksim_ci.reports.sentences import PLAIN, failure_sentences
from arksim_ci.schema.vocabulary import SEVERITY_OF

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
_LONGEST = 4000
_MEANING = {
    "false information": "The agent said something that contradicts what is known.",
    "disobey user request": "The agent ignored or contradicted what the user asked for.",
    "lack of specific information": "The agent answered without the details that it could have given.",
    "failure to ask for clarification": "The agent assumed what it should have asked.",
    "repetition": "The agent said the same again without adding anything.",
    "goal not completed": "The conversation ended without the user's goal being reached.",
    "unsafe action": "The agent did something with its tools that it must not do.",
    "unsafe state": "The agent left a system behind in a state that must not be.",
}


def render_sarif(results: Results, context: CommentContext) -> str:
    """The SARIF text. `context.scenario_path` places what has no code fix."""
    verdict = results.verdict
    categories = sorted({each.error.behavior_failure_category for each in results.errors})
    driver = {
        "name": "arksim-ci",
        "informationUri": DOCUMENTATION,
        "version": one_line(verdict.run.version, 100),
        "rules": [_rule(each) for each in categories],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "arksim/"},
        "invocations": [
            {
                "executionSuccessful": verdict.status == "COMPLETED",
                "exitCode": verdict.exit_code,
                "toolExecutionNotifications": [
                    _notification(each, "error") for each in failure_sentences(results, PLAIN)
                ]
                + [_notification(each, "warning") for each in verdict.warnings],
            }
        ],
        "columnKind": "utf16CodeUnits",
        "results": _results(results, context, categories),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"


def _rule(category: str) -> dict[str, Any]:
    severity = SEVERITY_OF.get(category, "medium")
    meaning = _MEANING.get(category, f"A failure of the category: {one_line(category, 200)}.")
    return {
        "id": _rule_id(category),
        "name": f"Agent{''.join(word.capitalize() for word in re.findall(r'[a-z0-9]+', category.lower())) or 'Failure'}",
        "shortDescription": {"text": one_line(category, 200) or "failure"},
        "fullDescription": {"text": meaning},
        "helpUri": DOCUMENTATION,
        "help": {"text": f"{meaning} The evidence and the recommended fix are in the result and in final_report.html."},
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {
            "tags": ["agent-behavior"],
            "precision": "medium",
            "problem.severity": _problem_severity(severity),
        },
    }


def _results(results: Results, context: CommentContext, categories: list[str]) -> list[dict[str, Any]]:
    prints = _fingerprints(results)
    return [_result(each, results, context, categories, prints[each.number]) for each in results.errors]


def _fingerprints(results: Results) -> dict[int, str]:
    """A fingerprint by error number, which stays the same when another run numbers or words the error otherwise.

    It is made of category and scenarios. Twins, with both in common, are counted in the order of where they stand in
    the conversations, which no renumbering changes.
    """

    def place(numbered: NumberedError) -> tuple[list[tuple[str, int]], str]:
        occurrences = numbered.error.occurrences
        places = sorted({(results.names.get(each.conversation_id, ""), each.turn_id) for each in occurrences})
        return places, numbered.error.unique_error_description

    seen: Counter[str] = Counter()
    prints = {}
    for numbered in sorted(results.errors, key=place):
        key = "\n".join((numbered.error.behavior_failure_category, *sorted(numbered.scenario_ids)))
        seen[key] += 1
        prints[numbered.number] = _fingerprint(key, seen[key])
    return prints


def _result(
    numbered: NumberedError, results: Results, context: CommentContext, categories: list[str], fingerprint: str
) -> dict[str, Any]:
    error = numbered.error
    return {
        "ruleId": _rule_id(error.behavior_failure_category),
        "ruleIndex": categories.index(error.behavior_failure_category),
        "level": _LEVELS.get(error.severity, "warning"),
        "message": {"text": _message(numbered, results)},
        "locations": [_location(numbered, results, context)],
        "partialFingerprints": {"arksimUniqueError/v1": fingerprint},
        "properties": {
            "severity": visible(error.severity),
            "uniqueErrorId": visible(error.unique_error_id),
            "occurrences": len(error.occurrences),
            "scenarioIds": [visible(each) for each in numbered.scenario_ids],
        },
    }


def _message(numbered: NumberedError, results: Results) -> str:
    error = numbered.error
    advice = results.recommendation(error.unique_error_id)
    lines = [
        one_line(error.unique_error_description, _LONGEST) or "(no description)",
        f"Seen in {count(len(error.occurrences), 'place')} of {count(len(numbered.scenario_ids), 'scenario')}.",
    ]
    exchange = results.evidence(error)
    if exchange:
        user = exchange.turn.user.content if exchange.turn.user else ""
        lines += [f"User: {one_line(user, 500)}", f"Agent: {one_line(exchange.turn.agent.content, 500)}"]
    if advice and advice.best_module_fix:
        lines.append(f"Recommended fix: {one_line(advice.best_module_fix, _LONGEST)}")
    # SARIF reads [text](n) in a message as a link: a backslash keeps brackets brackets.
    return re.sub(r"([\[\]\\])", r"\\\1", cut("\n".join(lines), 3 * _LONGEST))


def _location(numbered: NumberedError, results: Results, context: CommentContext) -> dict[str, Any]:
    advice = results.recommendation(numbered.error.unique_error_id)
    path, region = context.scenario_path, {"startLine": 1}
    if advice and advice.code_fixes:
        fix = advice.code_fixes[0]
        first = max(fix.start_line, 1)
        path, region = fix.file, {"startLine": first, "endLine": max(fix.end_line, first)}
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"}, "region": region},
        "logicalLocations": [{"name": one_line(each, 200), "kind": "scenario"} for each in numbered.scenario_ids[:20]],
    }


def _uri(path: str) -> str:
    """A relative path as a relative URI reference."""
    parts = [part for part in visible(path).replace("\\", "/").split("/") if part not in ("", ".")]
    return "/".join(quote(part) for part in parts) or "scenarios.json"


def _fingerprint(key: str, occurrence: int) -> str:
    return hashlib.sha256(f"{key}\n{occurrence}".encode(errors="replace")).hexdigest()[:32]


def _rule_id(category: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", category.lower())) or f"category-{_fingerprint(category, 1)[:8]}"


def _problem_severity(severity: str) -> str:
    return {"error": "error", "warning": "warning", "note": "recommendation"}[_LEVELS[severity]]


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": re.sub(r"([\[\]\\])", r"\\\1", one_line(text, 1000)) or "(empty)"}}
