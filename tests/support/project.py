"""An ArkSim project in a folder, run through the command line as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.simulation import Simulation
from arksim_ci.schema.verdict import Verdict
from tests.support.scripted_server import Reply, Request, ScriptedServer

ROOT = Path(__file__).parents[2]


def scenario(scenario_id: str = "returns", **fields: Any) -> dict[str, Any]:
    """A scenario as a file holds it."""
    return {
        "scenario_id": scenario_id,
        "user_id": "user_1",
        "goal": "You want to know how many days you have to return shoes.",
        "agent_context": "A shop's support agent.",
        "user_profile": "You are friendly.",
        "knowledge": [{"content": "Shoes can be returned within 30 days."}],
        **fields,
    }


ENDED: list[int] = []
"""The exit codes of this process's runs, in order: what `docs/record_reliability.py` records."""


@dataclass(frozen=True)
class Finished:
    """A run of the command line that is over."""

    code: int
    out: str
    err: str
    output_dir: Path

    def __post_init__(self) -> None:
        ENDED.append(self.code)

    def file(self, name: str) -> Any:
        """A JSON file of the output folder."""
        return json.loads((self.output_dir / name).read_text(encoding="utf-8"))

    @property
    def verdict(self) -> Verdict:
        return Verdict.model_validate(self.file("verdict.json"))

    @property
    def evaluation(self) -> Evaluation:
        return Evaluation.model_validate(self.file("evaluation.json"))

    @property
    def simulation(self) -> Simulation:
        return Simulation.model_validate(self.file("simulation.json"))

    @property
    def failures(self) -> list[str]:
        """The types of the verdict's failures."""
        return [failure.type for failure in self.verdict.failures]

    @property
    def files(self) -> list[str]:
        """What stands in the output folder, relative to it."""
        return sorted(str(path.relative_to(self.output_dir)) for path in self.output_dir.rglob("*") if path.is_file())


class Project:
    """A folder with config.yaml and scenarios.json that point at a scripted server.

    `config` and `scenarios` may be changed before `run`; None removes a key.
    """

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.folder = folder
        self.scenarios: Any = [scenario()]
        self.config: dict[str, Any] = {
            "agent_config": {
                "agent_type": "chat_completions",
                "agent_name": "shop",
                "api_config": {"endpoint": server.agent_url, "body": {"model": "shop-1", "messages": []}},
            },
            "scenario_file_path": "./scenarios.json",
            "num_conversations_per_scenario": 2,
            "max_turns": 2,
            "provider": "openai_compatible",
            "base_url": server.base_url,
            "model": "scripted-1",
            "no_response_retry_backoff_seconds": 0,
        }

    @property
    def output_dir(self) -> Path:
        return self.folder / "results" / "evaluation"

    def write(self) -> Path:
        """Write the files; returns the path of config.yaml."""
        config = {key: value for key, value in self.config.items() if value is not None}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        document = {"schema_version": "v1", "scenarios": self.scenarios}
        (self.folder / "scenarios.json").write_text(json.dumps(document), encoding="utf-8")
        return self.folder / "config.yaml"

    def run(
        self, command: str = "simulate-evaluate", *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Finished:
        """Run `arksim-ci COMMAND config.yaml ARGUMENTS`, in a process of its own."""
        config = self.write()
        return arksim_ci(
            command, str(config), *arguments, output_dir=self.output_dir, environment=environment, cwd=self.folder
        )


def arksim_ci(
    *arguments: str,
    output_dir: Path = Path("results/evaluation"),
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 60,
) -> Finished:
    """Run `arksim-ci` with a clean environment."""
    finished = subprocess.run(
        command_line(*arguments),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
        env=clean_environment(environment or {}),
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr, output_dir)


def command_line(*arguments: str) -> Sequence[str]:
    """The command line of `arksim-ci`."""
    return [sys.executable, "-m", "arksim_ci", *arguments]


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What a process needs, and nothing that could change how we behave."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


Value = object
Judge = Callable[[Request], Reply]


def talkative(request: Request) -> Reply:
    """A simulated user that always has something new to ask."""
    said = sum(message["role"] == "assistant" for message in request.body["messages"])
    return Reply(content=f"Question number {said + 1}: how many days do I have?")


def judgement(request: Request, **values: object) -> dict[str, Any]:
    """A good judgement of a turn or a goal; `values` replaces single metrics' scores or labels."""
    if request.question == "judge_goal":
        return {"reason": "They know it.", "score": values.get("goal_completion", 1)}
    given: dict[str, Any] = {}
    for metric in _schema(request)["properties"]:
        key, good = ("label", "no failure") if metric.endswith("failure") else ("score", 5)
        given[metric] = {"reason": f"About {metric}.", key: values.get(metric, good)}
    return given


def _schema(request: Request) -> dict[str, Any]:
    """The JSON schema that a request asks an answer for: in its response format, or as a tool."""
    tools = request.body.get("tools")
    schema: dict[str, Any] = (
        tools[0]["function"]["parameters"] if tools else request.body["response_format"]["json_schema"]["schema"]
    )
    return schema


def llm(judge: Judge | None = None, user: Judge = talkative, analysis: Judge | None = None, **values: object) -> Judge:
    """A script for every kind of question. `values` are the judge's scores and labels; the scripts replace it for their kind."""

    def answer(request: Request) -> Reply:
        if request.question == "":
            return user(request)
        if request.question in ("judge_turn", "judge_goal"):
            return judge(request) if judge else Reply(content=json.dumps(judgement(request, **values)))
        return analysis(request) if analysis else Reply(content=json.dumps(_analysis(request)))

    return answer


def _analysis(request: Request) -> object:
    if request.question == "recommend":
        fix = {"module": "Memory", "fix": "Read the days from the current policy."}
        return {"module_fixes": [fix], "reasoning": "The policy is old.", "best": 0}
    text = request.text
    refs = [f"{letter}{number}" for letter in "FG" for number in range(1, 100) if f'"{letter}{number}"' in text]
    return {"groups": [{"description": "The agent tells a wrong number of days.", "members": refs}]}
