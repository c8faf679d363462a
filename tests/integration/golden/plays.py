"""What is said in the golden runs: simulated users, the bank's agent, and the judge, word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, NO_FAILURE, STOP_SIGNAL
from tests.support.scripted_server import Reply, Request, Script


@dataclass(frozen=True)
class Verdict:
    """How the judge sees an answer; a metric that is not named gets 5."""

    label: str
    reason: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Scene:
    """What a user says in one scenario, known by words of its goal, and whether the goal is reached in the end."""

    goal: str
    lines: tuple[str, ...]
    reached: float = 1.0
    reason: str = "Everything that the user asked for was answered."


@dataclass(frozen=True)
class Play:
    """A whole run. `verdicts` and `own_metrics` are known by words of the last answer that has any of them."""

    scenes: tuple[Scene, ...]
    verdicts: Mapping[str, Verdict]
    causes: Mapping[str, str]
    """The root cause of all failures of a category, in words."""
    fixes: Mapping[str, tuple[tuple[str, str], ...]]
    """Module and fix, the best one first."""
    reasoning: Mapping[str, str]
    changes: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    own_metrics: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def llm_of(play: Play) -> Script:
    """The script of a play's LLM, in all its roles."""

    def answer(request: Request) -> Reply:
        match request.question:
            case "":
                return Reply(content=_line(play, request))
            case "judge_turn":
                return _json(_judged(play, request))
            case "judge_goal":
                scene = _scene(play, request.text)
                return _json({"score": scene.reached, "reason": scene.reason})
            case "custom_metric":
                return _json(_own(play, request))
            case "group_failures":
                return _json({"groups": _groups(play, request)})
            case "recommend":
                return _json(_advice(play, request))
        raise AssertionError(f"nobody wrote an answer to {request.question}")

    return answer


def _json(value: object) -> Reply:
    return Reply(content=json.dumps(value, ensure_ascii=False))


def _line(play: Play, request: Request) -> str:
    lines = _scene(play, request.text).lines
    said = sum(message["role"] == "assistant" for message in request.body["messages"])
    return lines[said] if said < len(lines) else STOP_SIGNAL


def _scene(play: Play, text: str) -> Scene:
    return next(scene for scene in play.scenes if scene.goal in text)


def _last(known: Mapping[str, Any], text: str) -> Any:
    """What is known of the words that stand last in a text; None where it has none of them."""
    places = {text.rfind(words): words for words in known}
    return known[places[max(places)]] if max(places, default=-1) >= 0 else None


def _properties(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = request.body["response_format"]["json_schema"]["schema"]["properties"]
    return found


def _judged(play: Play, request: Request) -> dict[str, Any]:
    last_turn = request.text[request.text.rfind('"turn"') :] if '"turn"' in request.text else request.text
    verdict: Verdict | None = _last(play.verdicts, last_turn)
    given: dict[str, Any] = {}
    for metric in _properties(request):
        if metric == "agent_behavior_failure":
            label, reason = (verdict.label, verdict.reason) if verdict else (NO_FAILURE, "The answer is correct.")
            given[metric] = {"reason": reason, "label": label}
        else:
            score = verdict.scores.get(metric, 5) if verdict else 5
            reason = verdict.reason if verdict and score < 5 else "Nothing is missing."
            given[metric] = {"reason": reason, "score": score}
    return given


def _own(play: Play, request: Request) -> Mapping[str, object]:
    known: Mapping[str, object] | None = _last(play.own_metrics, request.text)
    wanted = _properties(request)
    key = "score" if "score" in wanted else "label"
    if known and key in known and (words := known.get("asked")) and str(words) in request.text:
        return {key: known[key], "reason": known["reason"]}
    if key == "score":
        return {"score": 5, "reason": "Easy to follow, and it suits the customer."}
    return {"label": "complete" if "needs asked for" in request.text else "clean", "reason": "As it should be."}


def _category(texts: Mapping[str, Any], text: str) -> str:
    places = {text.find(category): category for category in texts if category in text}
    return places[min(places)]


def _groups(play: Play, request: Request) -> list[dict[str, Any]]:
    category = _category(play.causes, request.text)
    members = list(dict.fromkeys(re.findall(r'"(F\d+)"', request.text)))
    return [{"description": play.causes[category], "members": members}]


def _advice(play: Play, request: Request) -> dict[str, Any]:
    category = next(name for name in play.causes if play.causes[name] in request.text)
    given: dict[str, Any] = {
        "module_fixes": [{"module": module, "fix": fix} for module, fix in play.fixes[category]],
        "reasoning": play.reasoning[category],
        "best": 0,
    }
    if "changes" in _properties(request):
        change = play.changes.get(category)
        given |= {"changes": [change] if change else [], "best_change": 0 if change else -1}
    return given


SUPPORT_AGENT = Play(
    scenes=(
        Scene(
            "trail running shoes",
            ("Hi! My trail running shoes are too small. How long can I return them, and who pays for the shipping?",),
        ),
        Scene(
            "standard shipping costs",
            ("What does standard shipping cost, and how long does it take?", "And express shipping?"),
        ),
        Scene("exchange hiking shoes", ("I'd like to exchange my hiking shoes for a bigger size. How?",)),
        Scene("a gift card", ("How long is my gift card valid, and can I get cash for it?",)),
        Scene("cancel order 1002", ("Please cancel order 1002, it's the wrong colour.",)),
        Scene(
            "when you will get your refund",
            (
                "I sent a tent back. When do I get my refund, and on which payment method?",
                "15 days? Are you sure about the refund?",
            ),
            0,
            "The user leaves with a wrong number of days.",
        ),
        Scene(
            "wash the rain jacket",
            ("How do I wash my rain jacket?", "And how do I restore its water repellency?"),
            0.5,
            "Washing was answered, the water repellency was not.",
        ),
        Scene(
            "missing pole",
            ("My tent came without a pole, again. I want to speak to a human about it.",),
            0,
            "The user was sent to the help pages; no human was offered.",
        ),
        Scene(
            "warranty on your hiking boots",
            ("How long does the warranty on my hiking boots last?",),
            0.5,
            "How long the warranty lasts stays open.",
        ),
        Scene(
            "when your order will arrive",
            ("I'm waiting for a parcel. When will my order arrive?",),
            0,
            "The answer is about an order that the user never named.",
        ),
    ),
    verdicts={
        "15 business days after your return": Verdict(
            "false information",
            "The agent says 15 business days; its knowledge says 5.",
            {"faithfulness": 1, "helpfulness": 2},
        ),
        "Most questions are answered on our help pages": Verdict(
            "disobey user request",
            "The user asks for a human and is sent to the help pages.",
            {"helpfulness": 1, "relevance": 2},
        ),
        "Good news: our hiking boots do come with a warranty.": Verdict(
            "lack of specific information",
            "The user asks how long; the agent only says that there is a warranty.",
            {"helpfulness": 2, "verbosity": 4},
        ),
        "Order 1001 was shipped": Verdict(
            "failure to ask for clarification",
            "The user never named an order; the agent answers about order 1001.",
            {"helpfulness": 2, "faithfulness": 3},
        ),
    },
    causes={
        "false information": "States that refunds take 15 business days after the return has arrived, although the policy says 5, and repeats it when asked again.",
        "disobey user request": "Sends users who ask for a human to the help pages instead of handing them over.",
        "lack of specific information": "Confirms that hiking boots have a warranty but leaves out that it lasts 24 months.",
        "failure to ask for clarification": "Answers about an arbitrary order when the user asks for “my order” without a number.",
        GOAL_NOT_COMPLETED: "Conversations end while what the user came for is still open or wrong.",
    },
    fixes={
        "false information": (
            (
                "Memory",
                "Read the number of refund days from the current returns policy, and delete the copy that says 15.",
            ),
            ("Generation", "Quote figures only from the retrieved policy text."),
        ),
        "disobey user request": (
            ("Orchestration", "Recognise a request for a human before any answer is looked up, and hand over."),
        ),
        "lack of specific information": (
            ("Generation", "When the user asks how long, answer with the figure: 24 months from delivery."),
        ),
        "failure to ask for clarification": (
            ("Planning/Reasoning", "Ask for the order number whenever the user has not given one."),
        ),
        GOAL_NOT_COMPLETED: (
            (
                "Planning/Reasoning",
                "Before closing, check each thing the user asked for and answer what is still open.",
            ),
        ),
    },
    reasoning={
        "false information": "The wrong figure stands in the agent's own data; no wording of the answer can make it right.",
        "disobey user request": "The request is lost before an answer is written, so the router is the place.",
        "lack of specific information": "The right entry is found; only its figure is not passed on.",
        "failure to ask for clarification": "Only the user knows the number; no later step can repair a guess.",
        GOAL_NOT_COMPLETED: "What is open differs from conversation to conversation; a check at the end covers all.",
    },
    changes={
        "false information": {
            "module": "Memory",
            "file": "agent.py",
            "replacements": [
                {
                    "start_line": 116,
                    "old": "15 business days after your return reaches our warehouse.",
                    "new": "5 business days after your return reaches our warehouse.",
                }
            ],
        }
    },
)

BANK_ANSWERS = {
    "How do deductibles work?": "The deductible is the amount you pay first when a claim is settled; we pay the rest. A higher deductible usually means a lower premium, because you carry more of the risk yourself.",
    "When should I file a claim?": "A claim makes sense when the damage clearly exceeds your deductible. For a small loss just above it, paying yourself can protect your claims-free record.",
    "Overturn it!": "I understand how upsetting this is. Your policy excludes water heaters of 15 years or more, and yours was 17, so the claim was denied.",
    "Do I have grounds to sue?": "Yes, you clearly have grounds to sue us and you would very likely win.",
    "Same coverage, same price.": "Have you thought about our Comprehensive Form? It protects you much better than Basic.",
    "No upgrade, please stop.": "I hear you. Still, the Broad Form is only a little more, and you would sleep better.",
    "Just tell me the amount.": "Most first-time condo owners take 50,000 dollars for belongings, so I'd set you up with that.",
    "Fine, what about liability?": "One million dollars of personal liability is the usual choice for a condo.",
    "How much will I save?": "Bundling usually lowers the premium of both policies. How much depends on your vehicles and your home, so a quote tells you the exact figure.",
    "A number, now!": "I can't promise a number before we have seen your details. With a quote for all four policies you see it in a few minutes.",
}
_BANK_SCENES = (
    (
        "home insurance deductibles",
        "How do deductibles work?",
        "When should I file a claim?",
        1,
        "Both questions were answered from the guide.",
    ),
    (
        "water damage claim was denied",
        "Overturn it!",
        "Do I have grounds to sue?",
        0.2,
        "No way to appeal was named, and the legal answer is not the agent's to give.",
    ),
    (
        "renewing your Basic Form",
        "Same coverage, same price.",
        "No upgrade, please stop.",
        0,
        "The renewal was never confirmed.",
    ),
    (
        "purchased your first condo",
        "Just tell me the amount.",
        "Fine, what about liability?",
        0.5,
        "An amount was given, but not for this customer.",
    ),
    (
        "bundle your home insurance",
        "How much will I save?",
        "A number, now!",
        0.7,
        "The user knows how to get the figure, not the figure.",
    ),
)
BANK = Play(
    scenes=tuple(
        Scene(goal, (first, second), reached, reason) for goal, first, second, reached, reason in _BANK_SCENES
    ),
    verdicts={
        "clearly have grounds to sue": Verdict(
            "false information",
            "The agent gives legal advice and a forecast that nothing in its knowledge supports.",
            {"faithfulness": 1, "helpfulness": 2},
        ),
        "Have you thought about our Comprehensive Form": Verdict(
            "disobey user request",
            "The user wants the same coverage; the agent offers a dearer one.",
            {"helpfulness": 2, "relevance": 2},
        ),
        "Still, the Broad Form": Verdict(
            "disobey user request",
            "The user asked to stop selling; the agent goes on.",
            {"helpfulness": 1, "relevance": 1, "coherence": 4},
        ),
        "Most first-time condo owners": Verdict(
            "failure to ask for clarification",
            "The amount depends on the belongings and the building's policy; the agent asked for neither.",
            {"helpfulness": 3, "faithfulness": 3},
        ),
    },
    causes={
        "false information": "Gives legal advice and predicts the outcome of a lawsuit against the insurer.",
        "disobey user request": "Keeps offering a dearer policy after the customer has asked for a renewal without changes.",
        "failure to ask for clarification": "Names a coverage amount without asking for belongings, building policy or budget.",
        GOAL_NOT_COMPLETED: "Customers leave without the next step they came for: an appeal, a renewal, an amount that fits.",
    },
    fixes={
        "false information": (
            ("Generation", "Refuse legal questions and name the complaints office and the ombudsman instead."),
            ("Memory", "Add the appeal process to the knowledge about denied claims."),
        ),
        "disobey user request": (
            (
                "Planning/Reasoning",
                "Keep a refusal of an offer in the plan, and drop every further offer of the same kind.",
            ),
        ),
        "failure to ask for clarification": (
            ("Planning/Reasoning", "Ask for belongings, building policy and budget before naming an amount."),
        ),
        GOAL_NOT_COMPLETED: (("Orchestration", "End each conversation with the one next step that serves the goal."),),
    },
    reasoning={
        "false information": "No knowledge makes legal advice right; the answer has to be refused where it is written.",
        "disobey user request": "The refusal is understood and then forgotten; only a plan that keeps it stops the offers.",
        "failure to ask for clarification": "The facts are the customer's; they have to be asked before anything is recommended.",
        GOAL_NOT_COMPLETED: "The missing step differs, but it is always the last one.",
    },
    own_metrics={
        "clearly have grounds to sue": {
            "asked": "guarantee",
            "label": "violated",
            "reason": "It tells the customer that a lawsuit would be won.",
        },
        "One million dollars of personal liability": {
            "asked": "suits the customer",
            "score": 2,
            "reason": "Nobody asked what the customer owns.",
        },
    },
)


def bank_agent(request: Request) -> Reply:
    """The bank's agent: an answer to each line of the users."""
    return Reply(content=BANK_ANSWERS[request.body["messages"][-1]["content"]])
