"""The project that both tools run, file by file the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONVERSATIONS_PER_SCENARIO = 5
"""The default of both tools."""
TURNS = 5
WORKERS = 50

_KNOWLEDGE = (
    "Return period: unworn items can be returned within 30 days of delivery, in the original box, with the tag on it.",
    "Return shipping: free of charge with the prepaid label that comes in the parcel; without it the customer pays 4.90 EUR.",
    "Refunds: the money is sent to the card that was used within 5 business days after the parcel was scanned at the warehouse.",
    "Gift cards: what was paid by gift card is paid back as a new gift card, which is valid for three years from that day.",
    "Exchange: shoes can be exchanged for another size free of charge; the new pair is sent as soon as the parcel is scanned.",
    "Warranty: seams, soles and zips are covered for 24 months; wear from use, stains and cuts are not covered at any time.",
    "Sale items: are treated like all others; items of the outlet page are an exception and can be exchanged only.",
    "Opened boxes: an opened box is accepted; a missing box costs 5 EUR, which is taken from the money that is paid back.",
)


def write(folder: Path, conversations: int, server: str) -> Path:
    """Write config.yaml and scenarios.json for so many conversations (a multiple of five). Returns the config's path.

    `server` is the mock server's address, as `http://127.0.0.1:1234`. Each scenario has one piece of knowledge, of a
    thousand characters: with several the peer makes one more LLM call a turn.
    """
    folder.mkdir(parents=True)
    scenarios = [_scenario(number) for number in range(conversations // CONVERSATIONS_PER_SCENARIO)]
    _write(folder / "scenarios.json", {"schema_version": "v1", "scenarios": scenarios})
    agent = {
        "agent_type": "chat_completions",
        "agent_name": "mock",
        "api_config": {"endpoint": f"{server}/agent", "body": {"model": "agent-1", "messages": []}},
    }
    config = {
        "agent_config": agent,
        "scenario_file_path": "./scenarios.json",
        "num_conversations_per_scenario": CONVERSATIONS_PER_SCENARIO,
        "max_turns": TURNS,
        "num_workers": WORKERS,
        "provider": "openai",
        "model": "gpt-5.1",
        "generate_html_report": True,
        "output_file_path": "./results/simulation.json",
        "output_dir": "./results/evaluation",
    }
    path = folder / "config.yaml"
    _write(path, config)  # JSON is YAML
    return path


def evaluation(folder: Path) -> Any:
    """The evaluation.json that a tool wrote; an empty one where it wrote none."""
    path = folder / "results" / "evaluation" / "evaluation.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"conversations": []}


def judged_turns(folder: Path) -> int:
    """How many turns the evaluation that a tool wrote has scores for."""
    return sum(bool(turn["scores"]) for each in evaluation(folder)["conversations"] for turn in each["turn_scores"])


def _scenario(number: int) -> dict[str, object]:
    shift = number % len(_KNOWLEDGE)
    return {
        "scenario_id": f"scenario_{number}",
        "user_id": f"user_{number}",
        "goal": f"You bought trail running shoes, order {1000 + number}, and they do not fit. You want to know how to return them, "
        "what it costs, when you get your money back, and whether an exchange would be better.",
        "agent_context": "Trailhead is an online shop for outdoor clothing and shoes. Its support agent answers questions on orders, "
        "shipping, returns, refunds, warranty and gift cards, and hands over to the service team where a person is needed.",
        "user_profile": f"You are customer {number}, a nurse from Leipzig who runs on weekends. You are friendly and to the point.",
        "knowledge": [{"content": "\n".join(_KNOWLEDGE[shift:] + _KNOWLEDGE[:shift])}],
    }


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
