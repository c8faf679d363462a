"""Realistic results for tests of reports: each function is one whole run as its JSON models say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from arksim_ci.reports.results import Results
from arksim_ci.schema.evaluation import (
    ConversationEvaluation,
    ErrorScenarioMapping,
    Evaluation,
    Occurrence,
    QualResult,
    QuantResult,
    TurnEvaluation,
    UniqueError,
)
from arksim_ci.schema.recommendation import CodeFix, ModuleFix, Recommendation, Recommendations
from arksim_ci.schema.simulation import Conversation, Message, Silence, SimulatedUserPrompt, Simulation, ToolCall
from arksim_ci.schema.verdict import (
    AgentNeverSpoke,
    AssertionFailed,
    Attempts,
    Check,
    Coverage,
    Failing,
    Failure,
    FailureLabelFound,
    IncompleteCoverage,
    Judge,
    MetricBelowMinPassRate,
    MetricNotEvaluated,
    RoleUsage,
    Run,
    RunNotCompleted,
    Usage,
    Verdict,
)
from arksim_ci.schema.vocabulary import EVALUATION_RUN_FAILED, NO_FAILURE, NOT_MEASURED, SEVERITY_OF, TURN_METRICS

COMMIT = "4f2c81d09ab37e55c1d0b6f7a8e92d3344556677"


@dataclass(frozen=True)
class T:
    """One turn: what was said, the five scores (helpfulness, coherence, verbosity, relevance, faithfulness), the label."""

    user: str
    agent: str
    scores: tuple[float, ...] | None = (5, 5, 5, 5, 5)
    label: str = NO_FAILURE
    reason: str = "The answer is correct and complete."
    errors: tuple[str, ...] = ()
    tools: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class C:
    """One conversation."""

    id: str
    scenario: str
    turns: tuple[T, ...]
    goal: float = 1.0
    goal_reason: str = "Everything that the user asked for was given."
    wanted: str = "You want to know what to do about your bank account."
    profile: str = "You are Maria, 41, a teacher. You are friendly and brief."
    silence: Silence | None = None
    custom: dict[str, float] = field(default_factory=dict)
    custom_labels: dict[str, str] = field(default_factory=dict)


def simulation(conversations: Sequence[C]) -> Simulation:
    """The simulation file of some conversations."""
    return Simulation(
        schema_version="v1",
        simulator_version="0.1.0",
        simulation_id="5d1f6a52-0000-4000-8000-000000000001",
        generated_at="2026-08-03T12:00:00Z",
        conversations=[_held(each) for each in conversations],
    )


def _held(conversation: C) -> Conversation:
    history: list[Message] = []
    for turn_id, turn in enumerate(conversation.turns):
        history.append(
            Message(
                turn_id=turn_id, message_id=f"{conversation.id}-{turn_id}u", role="simulated_user", content=turn.user
            )
        )
        history.append(
            Message(
                turn_id=turn_id,
                message_id=f"{conversation.id}-{turn_id}a",
                role="assistant",
                content=turn.agent,
                tool_calls=list(turn.tools) or None,
            )
        )
    if conversation.silence:
        history.append(
            Message(
                turn_id=len(conversation.turns),
                message_id=f"{conversation.id}-last",
                role="simulated_user",
                content="Hello?",
            )
        )
    return Conversation(
        conversation_id=conversation.id,
        scenario_id=conversation.scenario,
        conversation_history=history,
        simulated_user_prompt=SimulatedUserPrompt(
            simulated_user_prompt_template="You are {{ scenario.user_profile }}",
            variables={
                "scenario.goal": conversation.wanted,
                "scenario.user_profile": conversation.profile,
                "scenario.agent_context": "Harbour Bank's support chat.",
                "scenario.knowledge": ["The overdraft costs 14.9% a year."],
            },
        ),
        agent_silence=conversation.silence,
    )


def _scored(conversation: C) -> ConversationEvaluation:
    turns = [_scored_turn(turn_id, turn) for turn_id, turn in enumerate(conversation.turns)]
    labelled = [turn for turn in turns if turn.turn_behavior_failure != EVALUATION_RUN_FAILED]
    measured = bool(turns) and len(labelled) == len(turns) and conversation.silence is None
    failed = sum(turn.turn_behavior_failure != NO_FAILURE for turn in labelled)
    ratio = (len(labelled) - failed) / len(labelled) if measured else NOT_MEASURED
    goal = conversation.goal if measured else NOT_MEASURED
    overall = 0.75 * ratio + 0.25 * goal if measured else NOT_MEASURED
    return ConversationEvaluation(
        conversation_id=conversation.id,
        goal_completion_score=goal,
        goal_completion_reason=conversation.goal_reason if measured else "Not measured.",
        turn_success_ratio=ratio,
        overall_agent_score=overall,
        evaluation_status=(
            "Evaluation Failed"
            if not measured
            else "Done"
            if overall == 1
            else "Partial Failure"
            if overall >= 0.6
            else "Failed"
        ),
        turn_scores=turns,
        convo_scores=[
            QuantResult(name=name, value=value, scope="conversation") for name, value in conversation.custom.items()
        ],
        convo_qual_scores=[
            QualResult(name=name, value=value, scope="conversation")
            for name, value in conversation.custom_labels.items()
        ],
    )


def _scored_turn(turn_id: int, turn: T) -> TurnEvaluation:
    names = zip(TURN_METRICS, turn.scores, strict=True) if turn.scores else ()
    return TurnEvaluation(
        turn_id=turn_id,
        scores=[QuantResult(name=name, value=value, reason=turn.reason) for name, value in names],
        turn_score=fmean(turn.scores) if turn.scores else NOT_MEASURED,
        turn_behavior_failure=turn.label if turn.scores else EVALUATION_RUN_FAILED,
        turn_behavior_failure_reason=turn.reason,
        unique_error_ids=list(turn.errors),
    )


def evaluation(conversations: Sequence[C], descriptions: dict[str, tuple[str, str]]) -> Evaluation:
    """The evaluation file; `descriptions` maps error id → (category, description), most severe first."""
    errors: list[UniqueError] = []
    for error_id, (category, description) in descriptions.items():
        occurrences = [
            Occurrence(conversation_id=conversation.id, turn_id=turn_id)
            for conversation in conversations
            for turn_id, turn in enumerate(conversation.turns)
            if error_id in turn.errors
        ]
        errors.append(
            UniqueError(
                unique_error_id=error_id,
                behavior_failure_category=category,
                unique_error_description=description,
                severity=SEVERITY_OF.get(category, "medium"),
                occurrences=occurrences,
            )
        )
    scenario_of = {each.id: each.scenario for each in conversations}
    return Evaluation(
        schema_version="v1.1",
        generated_at="2026-08-03T12:02:14Z",
        evaluator_version="0.1.0",
        evaluation_id="8a7c1c7e-0000-4000-8000-000000000002",
        simulation_id="5d1f6a52-0000-4000-8000-000000000001",
        conversations=[_scored(each) for each in conversations],
        unique_errors=errors,
        error_scenario_mappings=[
            ErrorScenarioMapping(
                error_index=index,
                unique_error_id=error.unique_error_id,
                error_description=error.unique_error_description,
                severity=error.severity,
                scenario_ids=sorted({scenario_of[each.conversation_id] for each in error.occurrences}),
            )
            for index, error in enumerate(errors, start=1)
        ],
    )


def verdict(
    conversations: Sequence[C],
    checks: Sequence[Check] = (),
    failures: Sequence[Failure] = (),
    *,
    exit_code: int | None = None,
    agent_name: str = "Harbour Bank support",
    provider: str = "openai",
    warnings: Sequence[str] = (),
    **changes: object,
) -> Verdict:
    """The verdict file over some conversations."""
    turns = sum(len(each.turns) for each in conversations)
    measured = [
        each for each in conversations if each.turns and not each.silence and all(turn.scores for turn in each.turns)
    ]
    measured_turns = sum(bool(turn.scores) for each in conversations for turn in each.turns)
    code = exit_code if exit_code is not None else 1 if failures else 0
    silent = sum(each.silence is not None for each in conversations)
    document: dict[str, object] = {
        "schema_version": "v1",
        "evaluation_id": "8a7c1c7e-0000-4000-8000-000000000002",
        "simulation_id": "5d1f6a52-0000-4000-8000-000000000001",
        "generated_at": "2026-08-03T12:02:14Z",
        "run": Run(
            agent_name=agent_name,
            command="simulate-evaluate",
            commit=COMMIT,
            started_at="2026-08-03T12:00:00Z",
            duration_seconds=134.2,
            version="0.1.0",
        ),
        "status": "COMPLETED",
        "passed": False if failures else True if checks else None,
        "exit_code": code,
        "score": round(fmean(rates) * 100, 1)
        if (rates := [c.pass_rate for c in checks if c.pass_rate is not None])
        else None,
        "checks": list(checks),
        "failures": list(failures),
        "coverage": Coverage(
            expected_conversations=len(conversations),
            simulated_conversations=len(conversations) - silent,
            evaluated_conversations=len(measured),
            expected_turns=turns,
            evaluated_turns=measured_turns,
            expected_metric_values=turns * 6 + len(conversations),
            evaluated_metric_values=measured_turns * 6 + len(measured),
        ),
        "attempts": Attempts(
            test_cases=len(conversations),
            attempts=len(conversations) + silent,
            silent_attempts=silent * 2,
            retries=silent,
            still_silent=silent,
        ),
        "judge": Judge(
            provider=provider,
            model="rules" if provider == "offline" else "gpt-5.1-2026-05-12",
            judge_mode="combined",
            prompts_hash="9f3ab4c1d2e3f4a5b6c7d8e9f0a1b2c3",
        ),
        "usage": Usage(
            simulated_user=RoleUsage(
                calls=turns, input_tokens=21_400, cached_tokens=9_000, output_tokens=3_100, cost_usd=0.06
            ),
            judge=RoleUsage(
                calls=turns + 4,
                retries=1,
                input_tokens=88_000,
                cached_tokens=51_000,
                output_tokens=9_800,
                cost_usd=0.31,
            ),
            analysis=RoleUsage(calls=3, input_tokens=6_000, output_tokens=2_100, cost_usd=0.05),
        ),
        "warnings": list(warnings),
    }
    return Verdict.model_validate({**document, **changes})


def numeric(
    name: str,
    threshold: float,
    passed: int,
    of: int,
    failing: Sequence[Failing] = (),
    *,
    minimum: float = 1.0,
    decided: bool = True,
) -> Check:
    """A numeric check."""
    rate = passed / of if of else None
    return Check(
        name=name,
        kind="numeric",
        threshold=threshold,
        pass_rate=rate,
        min_pass_rate=minimum,
        inherited=minimum == 1.0,
        passed_conversations=passed,
        evaluated_conversations=of,
        passed=(rate is not None and rate >= minimum) if decided else None,
        failing=list(failing),
    )


def labels(name: str, forbidden: Sequence[str], passed: int, of: int, failing: Sequence[Failing] = ()) -> Check:
    """A qualitative check."""
    return Check(
        name=name,
        kind="qualitative",
        labels=list(forbidden),
        pass_rate=passed / of if of else None,
        min_pass_rate=1.0,
        inherited=True,
        passed_conversations=passed,
        evaluated_conversations=of,
        passed=passed == of,
        failing=list(failing),
    )


_CARD = C(
    "lost-card-1",
    "lost-card",
    (
        T(
            "Hi, I lost my card on the bus. What do I do?",
            "I'm sorry to hear that. I can **block the card** right now. Shall I?",
        ),
        T(
            "Yes please.",
            "Done: the card ending in 4411 is blocked. A new one reaches you in 3 to 5 working days. It is free.",
            tools=(ToolCall(name="block_card", arguments={"last_digits": "4411"}, result="blocked"),),
        ),
    ),
    wanted="You want to block your lost card and learn when a new one comes.",
)
_LIMIT = C(
    "transfer-limit-1",
    "transfer-limit",
    (
        T(
            "How much can I transfer a day?",
            "The daily limit is 5,000 euros. You can raise it to 20,000 in the app under *Settings › Limits*.",
            scores=(5, 5, 4, 5, 5),
        ),
    ),
    wanted="You want to know the daily transfer limit and how to raise it.",
)


def all_green() -> Results:
    """Every check passed; nothing was found."""
    conversations = [_CARD, _LIMIT, _renamed(_CARD, "lost-card-2"), _renamed(_LIMIT, "transfer-limit-2")]
    checks = [
        numeric("overall_score", 0.7, 4, 4),
        numeric("faithfulness", 3.5, 4, 4),
        labels("agent_behavior_failure", ["false information", "disobey user request"], 4, 4),
    ]
    return Results(verdict(conversations, checks), simulation(conversations), evaluation(conversations, {}))


def _renamed(conversation: C, name: str) -> C:
    return C(**{**conversation.__dict__, "id": name})


_OVERDRAFT = C(
    "overdraft-1",
    "overdraft-rate",
    (
        T(
            "What does my overdraft cost?",
            "Your overdraft costs 9.9% a year.\n\n- It is charged daily\n- It is booked every quarter",
            (2, 5, 4, 5, 1),
            "false information",
            "The tariff says 14.9% a year, the agent says 9.9%.",
            ("err-rate",),
        ),
        T("And is there a fee for it?", "No, there is no fee besides the interest.", (5, 5, 5, 5, 5)),
    ),
    goal=0.4,
    goal_reason="The user leaves with a wrong interest rate.",
    wanted="You want to know what your overdraft costs a year, and whether there is a fee.",
)
_BRANCH = C(
    "branch-visit-1",
    "branch-visit",
    (
        T(
            "I'd like an appointment at a branch, please. I don't use the internet.",
            "You can do everything online! Open the app and choose *Services*.",
            (1, 4, 4, 2, 4),
            "disobey user request",
            "The user asked for an appointment at a branch; the agent sends them to the app.",
            ("err-branch",),
        ),
        T(
            "No app please. Which branch is near the station?",
            "You can do everything online! Open the app and choose *Services*.",
            (1, 3, 4, 1, 4),
            "repetition",
            "The answer is the previous one, word for word.",
            ("err-repeat",),
        ),
    ),
    goal=0.0,
    goal_reason="No appointment was made and no branch was named.",
    wanted="You want an appointment at a branch near the station.",
    profile="You are Karl, 78. You have no smartphone and you are patient.",
)
_MORTGAGE = C(
    "mortgage-1",
    "mortgage",
    (
        T(
            "Can I pay back my loan early?",
            "Yes, you can. Just transfer the amount.",
            (3, 5, 5, 4, 3),
            "failure to ask for clarification",
            "The user has two loans with different rules, and the agent did not ask which one is meant.",
            ("err-which",),
        ),
    ),
    goal=0.5,
    goal_reason="It stays open for which loan the answer holds.",
    wanted="You want to pay back one of your two loans early.",
)
_DESCRIPTIONS = {
    "err-rate": (
        "false information",
        "Quotes an overdraft rate of 9.9% although the tariff in its knowledge says 14.9% a year, and never mentions the tariff's date.",
    ),
    "err-branch": (
        "disobey user request",
        "Sends users to the app although they ask for a branch and say that they don't go online.",
    ),
    "err-which": (
        "failure to ask for clarification",
        "Answers about “the loan” without asking which one when the customer has several.",
    ),
    "err-repeat": ("repetition", "Repeats its previous answer word for word when the user rephrases a question."),
}


def _advice() -> Recommendations:
    return Recommendations(
        recommendations=[
            Recommendation(
                unique_error_id="err-rate",
                module_fixes=[
                    ModuleFix(
                        module="Memory",
                        fix="Look the rate up in the tariff table for every answer instead of keeping it in the system prompt.",
                    ),
                    ModuleFix(
                        module="Generation",
                        fix="Tell the model to quote figures only from the tariff that it was given, with its date.",
                    ),
                ],
                best_module_fix="Memory: Look the rate up in the tariff table for every answer instead of keeping it in the system prompt.",
                best_module_fix_reasoning="The prompt holds last year's rate, so no wording of the answer can make it right.",
                code_fixes=[
                    CodeFix(
                        module="Memory",
                        file="agent/tariffs.py",
                        start_line=12,
                        end_line=14,
                        diff=(
                            "--- a/agent/tariffs.py\n+++ b/agent/tariffs.py\n@@ -12,3 +12,3 @@ def overdraft_rate\n"
                            " def overdraft_rate(day):\n-    return 9.9\n+    return tariff_on(day).overdraft_rate\n \n"
                        ),
                    )
                ],
                code_fix_entry_function="overdraft_rate",
                best_code_fix_location="agent/tariffs.py:12",
                best_code_fix="return tariff_on(day).overdraft_rate",
                dropped=["agent/prompt.py: the change did not apply to the file as it is"],
            ),
            Recommendation(
                unique_error_id="err-branch",
                module_fixes=[
                    ModuleFix(
                        module="Planning/Reasoning",
                        fix="Add a step that names the channel that the user asked for, and book a branch appointment when it is a branch.",
                    )
                ],
                best_module_fix="Planning/Reasoning: Add a step that names the channel that the user asked for, and book a branch appointment when it is a branch.",
                best_module_fix_reasoning="The tool for appointments exists; the plan never reaches it.",
            ),
        ]
    )


def gate_failed() -> Results:
    """Three checks failed, four unique errors, recommendations for two of them, one check passed."""
    conversations = [_CARD, _LIMIT, _OVERDRAFT, _renamed(_OVERDRAFT, "overdraft-2"), _BRANCH, _MORTGAGE]
    failing = [
        Failing(conversation_id="overdraft-1", scenario_id="overdraft-rate", value=3.0),
        Failing(conversation_id="overdraft-2", scenario_id="overdraft-rate", value=3.0),
    ]
    found = [
        Failing(conversation_id="overdraft-1", scenario_id="overdraft-rate", turn_id=0, value="false information"),
        Failing(conversation_id="overdraft-2", scenario_id="overdraft-rate", turn_id=0, value="false information"),
        Failing(conversation_id="branch-visit-1", scenario_id="branch-visit", turn_id=0, value="disobey user request"),
    ]
    low = [
        *(Failing(conversation_id=f"overdraft-{n}", scenario_id="overdraft-rate", value=0.475) for n in (1, 2)),
        Failing(conversation_id="branch-visit-1", scenario_id="branch-visit", value=0.0),
        Failing(conversation_id="mortgage-1", scenario_id="mortgage", value=0.125),
    ]
    checks = [
        numeric("overall_score", 0.7, 2, 6, low),
        numeric(
            "faithfulness",
            3.5,
            3,
            6,
            [*failing, Failing(conversation_id="mortgage-1", scenario_id="mortgage", value=3.0)],
        ),
        numeric("coherence", 3.0, 6, 6),
        labels("agent_behavior_failure", ["false information", "disobey user request"], 3, 6, found),
    ]
    failures: list[Failure] = [
        MetricBelowMinPassRate(
            metric="overall_score", threshold=0.7, pass_rate=2 / 6, min_pass_rate=1.0, inherited=True
        ),
        MetricBelowMinPassRate(metric="faithfulness", threshold=3.5, pass_rate=0.5, min_pass_rate=1.0, inherited=True),
        *(
            FailureLabelFound(
                metric="agent_behavior_failure", label=str(each.value), conversation_id=each.conversation_id, turn_id=0
            )
            for each in found
        ),
    ]
    return Results(
        verdict(
            conversations,
            checks,
            failures,
            warnings=["Scenario 'close-account' has no conversation in the simulation file."],
        ),
        simulation(conversations),
        evaluation(conversations, _DESCRIPTIONS),
        recommendations=_advice(),
    )


def assertion_failed() -> Results:
    """A scenario's tool calls are not the asserted ones; nothing else is gated."""
    conversations = [_CARD, _LIMIT]
    check = Check(
        name="assertions",
        kind="assertion",
        pass_rate=0.0,
        min_pass_rate=1.0,
        inherited=True,
        passed_conversations=0,
        evaluated_conversations=1,
        passed=False,
        failing=[Failing(conversation_id="lost-card-1", scenario_id="lost-card", value="order_card was not called")],
    )
    failure = AssertionFailed(
        conversation_id="lost-card-1",
        scenario_id="lost-card",
        match_mode="unordered",
        expected=[
            {"name": "block_card", "arguments": {"last_digits": "4411"}},
            {"name": "order_card", "arguments": {}},
        ],
        actual=[{"name": "block_card", "arguments": {"last_digits": "4411"}}],
        diff=['  block_card(last_digits="4411")', "- order_card(…)"],
    )
    return Results(verdict(conversations, [check], [failure]), simulation(conversations), evaluation(conversations, {}))


def not_measured() -> Results:
    """The judge's provider went down in the middle: the gate could not be decided."""
    gap = T(
        "And at night?",
        "The hotline answers day and night.",
        scores=None,
        reason="The judge answered 503 to all five attempts.",
    )
    conversations = [
        _CARD,
        _LIMIT,
        C("hotline-1", "hotline", (_CARD.turns[0], gap), wanted="You want the hotline's hours."),
    ]
    checks = [
        numeric("overall_score", 0.7, 2, 2, decided=False),
        labels("agent_behavior_failure", ["false information"], 3, 3),
        numeric("faithfulness", 3.5, 2, 2, decided=False),
    ]
    failures: list[Failure] = [
        MetricNotEvaluated(
            metric="faithfulness",
            evaluated=4,
            expected=5,
            causes=["the judge answered 503 to all five attempts (conversation hotline-1, turn 1)"],
        ),
        IncompleteCoverage(unit="conversations", evaluated=2, expected=3),
    ]
    return Results(
        verdict(conversations, checks, failures, exit_code=3), simulation(conversations), evaluation(conversations, {})
    )


def stopped(status: str = "TIMED_OUT", cause: str = "run_timeout_seconds (600) was reached") -> Results:
    """The run ended early, nothing had failed by then."""
    failures: list[Failure] = [
        RunNotCompleted.model_validate({"status": status, "cause": cause}),
        IncompleteCoverage(unit="conversations", evaluated=1, expected=4),
    ]
    document = verdict(
        [_CARD], [numeric("overall_score", 0.7, 1, 1, decided=False)], failures, exit_code=3, status=status
    )
    coverage = document.coverage.model_copy(update={"expected_conversations": 4})
    return Results(document.model_copy(update={"coverage": coverage}), simulation([_CARD]), evaluation([_CARD], {}))


def agent_never_spoke() -> Results:
    """The agent was down: not one answer."""
    refused = Silence(kind="never_spoke", cause="connection refused at http://localhost:8080/v1/chat/completions")
    conversations = [
        C(f"{name}-1", name, (), silence=refused) for name in ("lost-card", "transfer-limit", "branch-visit")
    ]
    failures: list[Failure] = [AgentNeverSpoke(never_spoke=3, stopped_answering=0, test_cases=3, max_share=0.0)]
    checks = [numeric("overall_score", 0.7, 0, 0, decided=False)]
    return Results(verdict(conversations, checks, failures), simulation(conversations), evaluation(conversations, {}))


def no_gate() -> Results:
    """No threshold is configured; the offline provider scored."""
    conversations = [_CARD, _LIMIT, _OVERDRAFT]
    rate = {"err-rate": _DESCRIPTIONS["err-rate"]}
    return Results(
        verdict(conversations, agent_name="Sample agent", provider="offline", usage=Usage()),
        simulation(conversations),
        evaluation(conversations, rate),
    )


def five_hundred_errors() -> Results:
    """So many unique errors that no comment holds them, with emoji and long stack traces."""
    trace = "".join(
        f'  File "agent/step_{line}.py", line {line}, in step_{line}\n    return next_step()\n' for line in range(120)
    )
    conversations = [
        C(
            f"flow-{number}",
            f"flow-{number % 40}",
            (
                T(
                    f"Step {number} does not work 😟. What now?",
                    f"💥 Traceback (most recent call last):\n{trace}ValueError: step {number}",
                    (1, 1, 1, 1, 1),
                    _category(number),
                    "A stack trace is not an answer.",
                    (f"err-{number:03}",),
                ),
            ),
            goal=0.0,
        )
        for number in range(500)
    ]
    ranked = sorted(
        range(500), key=lambda number: ("critical", "high", "medium", "low").index(SEVERITY_OF[_category(number)])
    )
    descriptions = {
        f"err-{number:03}": (
            _category(number),
            f"Shows a stack trace instead of an answer at step {number} 🧨. " + "Long story. " * 80,
        )
        for number in ranked
    }
    advice = Recommendations(
        recommendations=[
            Recommendation(
                unique_error_id=error_id,
                module_fixes=[
                    ModuleFix(
                        module="Orchestration", fix=f"Catch the exception of {error_id} and answer in words. " * 30
                    )
                ],
                best_module_fix=f"Orchestration: Catch the exception of {error_id} and answer in words. " * 30,
                best_module_fix_reasoning="It is the only place that all steps pass. " * 30,
                code_fixes=[
                    CodeFix(
                        module="Orchestration",
                        file="agent/run.py",
                        start_line=1,
                        end_line=400,
                        diff="-old\n+new 🛠\n" * 2000,
                    )
                ],
            )
            for error_id in descriptions
        ]
    )
    failing = [Failing(conversation_id=each.id, scenario_id=each.scenario, value=0.0) for each in conversations]
    check = numeric("overall_score", 0.7, 0, 500, failing)
    failure = MetricBelowMinPassRate(
        metric="overall_score", threshold=0.7, pass_rate=0.0, min_pass_rate=1.0, inherited=True
    )
    return Results(
        verdict(conversations, [check], [failure]),
        simulation(conversations),
        evaluation(conversations, descriptions),
        None,
        advice,
    )


def _category(number: int) -> str:
    return ("false information", "disobey user request", "lack of specific information", "repetition")[number % 4]


def hostile(text: str) -> Results:
    """A failed run in which everything that an LLM, an agent or a user can write is `text`."""
    conversation = C(
        text,
        text,
        (
            T(
                text,
                text,
                (1, 1, 1, 1, 1),
                "false information",
                text,
                ("err-1",),
                (ToolCall(name=text, arguments={text: text}),),
            ),
        ),
        goal=0.0,
        goal_reason=text,
        wanted=text,
        profile=text,
        custom_labels={text: text},
    )
    advice = Recommendation(
        unique_error_id="err-1",
        module_fixes=[ModuleFix(module="Memory", fix=text), ModuleFix(module="Generation", fix=text)],
        best_module_fix=f"Memory: {text}",
        best_module_fix_reasoning=text,
        code_fixes=[CodeFix(module="Memory", file=text, start_line=1, end_line=2, diff=text)],
        code_fix_entry_function=text,
        best_code_fix_location=text,
        best_code_fix=text,
        dropped=[text],
    )
    failing = Failing(conversation_id=text, scenario_id=text, turn_id=0, value=text)
    failures: list[Failure] = [
        FailureLabelFound(metric=text, label=text, conversation_id=text, turn_id=0),
        MetricNotEvaluated(metric=text, evaluated=0, expected=1, causes=[text, text]),
        AssertionFailed(
            conversation_id=text,
            scenario_id=text,
            match_mode=text,
            expected=[{"name": text, "arguments": {text: text}}],
            actual=[],
            diff=[f"- {text}({text}={text})", text],
        ),
        RunNotCompleted(status="FAILED", cause=text),
    ]
    document = verdict(
        [conversation], [labels(text, [text], 0, 1, [failing])], failures, agent_name=text, warnings=[text]
    )
    judge = document.judge.model_copy(update={"model": text, "provider": "openai"})
    return Results(
        document.model_copy(update={"judge": judge}),
        simulation([conversation]),
        evaluation([conversation], {"err-1": ("false information", text)}),
        recommendations=Recommendations(recommendations=[advice]),
    )


def non_latin() -> Results:
    """Japanese, Arabic, Hebrew, Hindi, Thai, Korean and joined emoji, through and through."""
    conversations = [
        C(
            "返金-1",
            "返金の問い合わせ",
            (
                T(
                    "返金はいつ届きますか？ 👩‍👩‍👧 で待っています。",
                    "返金は3営業日以内に届きます。ご不便をおかけして申し訳ございません。",
                    (2, 4, 4, 4, 1),
                    "false information",
                    "規約では10営業日です。",
                    ("err-ja",),
                ),
            ),
            goal=0.3,
            wanted="返金がいつ届くか知りたい。",
        ),
        C(
            "حساب-1",
            "إغلاق-الحساب",
            (
                T(
                    "كيف أغلق حسابي (رقم 4411)؟",
                    "يمكنك فتح حساب جديد من التطبيق.",
                    (1, 4, 4, 1, 3),
                    "disobey user request",
                    "المستخدم يريد إغلاق الحساب.",
                    ("err-ar",),
                ),
                T("מה שעות הפתיחה?", "אנחנו פתוחים 9:00–17:00."),
                T("ขอบคุณค่ะ", "ยินดีค่ะ मैं मदद कर सकता हूँ। 도와드릴게요."),
            ),
            goal=0.0,
            wanted="تريد إغلاق حسابك.",
        ),
    ]
    found = [
        Failing(conversation_id="返金-1", scenario_id="返金の問い合わせ", turn_id=0, value="false information"),
        Failing(conversation_id="حساب-1", scenario_id="إغلاق-الحساب", turn_id=0, value="disobey user request"),
    ]
    failures: list[Failure] = [
        FailureLabelFound(
            metric="agent_behavior_failure", label=str(each.value), conversation_id=each.conversation_id, turn_id=0
        )
        for each in found
    ]
    descriptions = {
        "err-ja": ("false information", "返金の期間を3営業日と答えるが、規約では10営業日である。"),
        "err-ar": ("disobey user request", "يقترح فتح حساب جديد عندما يطلب المستخدم إغلاق حسابه."),
    }
    return Results(
        verdict(
            conversations,
            [labels("agent_behavior_failure", ["false information", "disobey user request"], 0, 2, found)],
            failures,
            agent_name="サポート窓口",
        ),
        simulation(conversations),
        evaluation(conversations, descriptions),
    )


def many(conversations: int) -> Results:
    """A large run: every seventh conversation shows a unique error."""
    held = []
    for number in range(conversations):
        base = (_CARD, _LIMIT, _MORTGAGE, _OVERDRAFT, _CARD, _LIMIT, _BRANCH)[number % 7]
        held.append(
            C(
                **{
                    **base.__dict__,
                    "id": f"{base.scenario}-{number:04}",
                    "turns": base.turns + _CARD.turns + _LIMIT.turns,
                }
            )
        )
    checks = [numeric("faithfulness", 2.0, conversations, conversations)]
    return Results(verdict(held, checks), simulation(held), evaluation(held, _DESCRIPTIONS), recommendations=_advice())
