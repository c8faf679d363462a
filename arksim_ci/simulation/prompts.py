"""The simulated user's system prompt, once per scenario."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.schema.scenario import Scenario
from arksim_ci.schema.simulation import SimulatedUserPrompt
from arksim_ci.schema.vocabulary import STOP_SIGNAL

MAX_PROMPT_CHARACTERS: Final = 200_000
"""How long a template's text may become, per scenario."""
MAX_TEMPLATE_SECONDS: Final = 5
"""CPU time for rendering all scenarios of a run."""
MAX_TEMPLATE_MEGABYTES: Final = 512

_WORKER = Path(__file__).with_name("template_worker.py")
_KEY = "simulated_user_prompt_template"


@dataclass(frozen=True, slots=True)
class ScenarioPrompt:
    """What the simulated user of a scenario is told, and how simulation.json records it."""

    system_prompt: str
    record: SimulatedUserPrompt


def scenario_prompts(template: str | None, scenarios: Sequence[Scenario]) -> dict[str, ScenarioPrompt]:
    """Render the simulated user's system prompt for every scenario, by scenario id; each once, however often it comes.

    `template` is the user's own (Jinja2, sandboxed), None for ours. The rules of how messages are exchanged follow
    either one. Where there are several items of knowledge, those that a template leaves out follow as well: the
    documented tool hands them to its simulated user outside of the template, too.

    Raises:
        ConfigError: the template is wrong, names an unknown variable, or needs too much time, memory or room.
    """
    from arksim_ci.llm.render import render, sources  # noqa: PLC0415  (jinja2 is loaded when needed)

    scenarios = list({scenario.scenario_id: scenario for scenario in scenarios}.values())
    if template is None:
        bodies = [render("simulated_user", {"scenario": scenario}) for scenario in scenarios]
        template = sources()["simulated_user"]
    else:
        bodies = _render_in_sandbox(template, scenarios)
    prompts = {}
    for scenario, body in zip(scenarios, bodies, strict=True):
        texts = [item.content for item in scenario.knowledge if item.content.strip()]
        left_out = [text for text in texts if text.strip() not in body] if len(texts) > 1 else []
        rules = render("simulated_user_rules", {"knowledge": left_out, "stop_signal": STOP_SIGNAL})
        prompts[scenario.scenario_id] = ScenarioPrompt(
            system_prompt=f"{body.strip()}\n\n{rules.strip()}",
            record=SimulatedUserPrompt(simulated_user_prompt_template=template, variables=_variables(scenario)),
        )
    return prompts


def _variables(scenario: Scenario) -> dict[str, Any]:
    return {f"scenario.{name}": value for name, value in _view(scenario).items()}


def _view(scenario: Scenario) -> dict[str, Any]:
    return {
        "agent_context": scenario.agent_context,
        "goal": scenario.goal,
        "knowledge": [item.content for item in scenario.knowledge],
        "user_profile": scenario.user_profile,
    }


def _render_in_sandbox(template: str, scenarios: Sequence[Scenario]) -> list[str]:
    request = {
        "template": template,
        "scenarios": [_view(scenario) for scenario in scenarios],
        "max_characters": MAX_PROMPT_CHARACTERS,
        "max_seconds": MAX_TEMPLATE_SECONDS,
        "max_megabytes": MAX_TEMPLATE_MEGABYTES,
    }
    too_much = f"it needs more than {MAX_TEMPLATE_SECONDS} seconds or {MAX_TEMPLATE_MEGABYTES} MB"
    try:
        worker = subprocess.run(  # noqa: S603  (our own script, by our own interpreter)
            [sys.executable, "-I", str(_WORKER)],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=MAX_TEMPLATE_SECONDS * 4,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _template_error(too_much) from None
    if worker.returncode < 0 or b"MemoryError" in worker.stderr:  # ended by a signal, which is what a limit sends
        raise _template_error(too_much)
    if worker.returncode:
        raise RuntimeError(f"the template could not be rendered: {worker.stderr[-500:].decode(errors='replace')}")
    answer = json.loads(worker.stdout)
    if "error" in answer:
        raise _template_error(answer["error"], answer.get("line"))
    prompts: list[str] = answer["prompts"]
    for scenario, prompt in zip(scenarios, prompts, strict=True):
        if not prompt.strip():
            raise _template_error(f"it renders to nothing for scenario {scenario.scenario_id!r}")
    return prompts


def _template_error(what: str, line: int | None = None) -> ConfigError:
    place = f", line {line} of the template" if line else ""
    return ConfigError(Problem(f"the template can't be used{place}: {what}", key=_KEY))
