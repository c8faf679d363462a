"""The same run from Python: plain functions that return when the run is over.

They work in scripts, in notebooks and inside a running event loop alike: each run has an event loop of its own, in a thread of its
own. What is wrong with the configuration is raised as `ConfigError`; everything else that goes wrong is in the result, as it is in
the files.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from arksim_ci.config.document import Document
from arksim_ci.config.environment import process_environment
from arksim_ci.config.errors import ConfigError
from arksim_ci.config.load import load_config as load
from arksim_ci.config.model import RunConfig
from arksim_ci.config.overrides import Overrides
from arksim_ci.config.rules import LoadCommand
from arksim_ci.pipeline.preparation import prepare
from arksim_ci.pipeline.relay import LLMRelay
from arksim_ci.process import Guest, forget_verdict, real_surroundings
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Conversation, Simulation, Turn
from arksim_ci.schema.verdict import Command, Verdict

if TYPE_CHECKING:
    from arksim_ci.pipeline.run import RunResult

logger = logging.getLogger(__name__)

Config = str | os.PathLike[str] | Mapping[str, Any]
"""The path of a config.yaml, or its keys as a mapping."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a run came to.

    `exit_code` is what the command line would end with: 0, 1 or 3. `files` were written; `trouble` says what could not be.
    """

    verdict: Verdict
    simulation: Simulation
    evaluation: Evaluation
    scenarios: Scenarios
    recommendations: Recommendations
    exit_code: int
    output_dir: Path
    files: tuple[Path, ...]
    trouble: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the run was completed and no gate failed. Without gates: whether everything was measured."""
        return self.exit_code == 0


def load_config(config: Config, *, command: LoadCommand = "validate", **settings: Any) -> RunConfig:
    """Load and check a configuration, without a call.

    Args:
        config: the path of a config.yaml, or its keys as a mapping.
        command: what it is loaded for; commands need different keys. `validate` stands for what it is made for.
        **settings: config keys that beat it.

    Returns:
        The settings, with absolute paths. Paths in a config.yaml start from its folder, all others from the working directory.

    Raises:
        ConfigError: with every problem that was found.
    """
    path, document = _source(config)
    try:
        loaded = load(path, _overrides(settings), environment=process_environment(), command=command, document=document)
    except ConfigError as error:
        raise ConfigError(*error.problems) from None  # how it was found out is nothing to a caller
    return loaded.config


def run_simulation(config: Config, *, scenarios: Scenarios | None = None, **settings: Any) -> Simulation:
    """Hold the conversations and write simulation.json.

    Args:
        config: the path of a config.yaml, or its keys as a mapping.
        scenarios: scenarios that are at hand; they beat `scenario_file_path`.
        **settings: config keys that beat `config`.

    Returns:
        Every test case, those included in which the agent fell silent or that could not be finished; each says so.

    Raises:
        ConfigError: the configuration, or something that it names, can't be used; nothing was written.
    """
    return _run(config, "simulate", settings, scenarios=scenarios).results.simulation


def run_evaluation(
    config: Config, *, simulation: Simulation | None = None, scenarios: Scenarios | None = None, **settings: Any
) -> Evaluation:
    """Judge conversations that were held before, and write every result file.

    Args:
        config: the path of a config.yaml, or its keys as a mapping.
        simulation: conversations that are at hand; they beat `simulation_file_path`.
        scenarios: scenarios that are at hand; they beat `scenario_file_path`.
        **settings: config keys that beat `config`.

    Returns:
        What was measured. What was not is absent or -1, and never passes `check_numeric_thresholds`.

    Raises:
        ConfigError: the configuration, or something that it names, can't be used; nothing was written.
    """
    return _evaluation(_run(config, "evaluate", settings, simulation=simulation, scenarios=scenarios))


def run(config: Config, *, scenarios: Scenarios | None = None, **settings: Any) -> GateResult:
    """Hold the conversations, judge each turn while they go on, decide, and write every file.

    Args:
        config: the path of a config.yaml, or its keys as a mapping.
        scenarios: scenarios that are at hand; they beat `scenario_file_path`.
        **settings: config keys that beat `config`.

    Returns:
        The verdict and what it rests on.

    Raises:
        ConfigError: the configuration, or something that it names, can't be used; nothing was written.
    """
    ended = _run(config, "simulate-evaluate", settings, scenarios=scenarios)
    results = ended.results
    return GateResult(
        verdict=results.verdict,
        simulation=results.simulation,
        evaluation=_evaluation(ended),
        scenarios=results.scenarios or Scenarios(schema_version="v1", scenarios=()),
        recommendations=results.recommendations or Recommendations(recommendations=[]),
        exit_code=ended.exit_code,
        output_dir=ended.folder,
        files=ended.files,
        trouble=ended.trouble,
    )


def _evaluation(ended: RunResult) -> Evaluation:
    evaluation = ended.results.evaluation
    if evaluation is None:
        raise ValueError("a run that judges has an evaluation")
    return evaluation


def _run(config: Config, command: Command, settings: Mapping[str, Any], **at_hand: BaseModel | None) -> RunResult:
    """Run. What is `at_hand` (`scenarios`, `simulation`) is read from a file of its own, as everything else is."""
    path, document = _source(config)
    with tempfile.TemporaryDirectory(prefix="arksim-ci-") as folder:
        files = {}
        for name, model in at_hand.items():
            if model is not None:
                key = "scenario_file_path" if name == "scenarios" else f"{name}_file_path"
                files[key] = Path(folder) / f"{name}.json"
                files[key].write_text(model.model_dump_json(exclude_none=True), encoding="utf-8")
        overrides = _overrides({**settings, **files})
        try:
            ended = _in_a_thread(lambda stop: _go(path, document, overrides, command, stop))
        except ConfigError as error:
            forget_verdict(path, overrides, command, document)
            raise ConfigError(*error.problems) from None  # how it was found out is nothing to a caller
    for sentence in ended.trouble:
        logger.error("%s", ended.redact(sentence))
    return ended


async def _go(
    path: Path, document: Document | None, overrides: list[Overrides], command: Command, stop: asyncio.Event
) -> RunResult:
    relay = LLMRelay()
    async with Guest(relay, lambda line: logger.info("%s", line)) as guest:
        plan = await prepare(path, overrides, command, process_environment(), guest.host, document=document)
        from arksim_ci.pipeline.run import run as run_plan  # noqa: PLC0415  (a configuration error does not pay for it)

        return await run_plan(plan, real_surroundings(_Logged(), stop), guest.host(plan.config), relay)


def _in_a_thread(work: Callable[[asyncio.Event], Coroutine[object, object, RunResult]]) -> RunResult:
    """Run on an event loop in a thread of its own. An interrupt ends the run in order, then goes on its way."""
    halt: Future[Callable[[], object]] = Future()

    async def main() -> RunResult:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        halt.set_result(lambda: loop.call_soon_threadsafe(stop.set))
        return await work(stop)

    with ThreadPoolExecutor(1, thread_name_prefix="arksim-ci") as pool:
        running = pool.submit(lambda: asyncio.run(main()))
        try:
            return running.result()
        except KeyboardInterrupt:
            halt.result()()
            raise


def _source(config: Config) -> tuple[Path, Document | None]:
    """Where the configuration is; a mapping stands for a config.yaml in the working directory."""
    if isinstance(config, Mapping):
        return Path.cwd() / "config.yaml", Document("the configuration", _plain(config))
    return Path(config), None


def _overrides(settings: Mapping[str, Any]) -> list[Overrides]:
    return [Overrides(_plain(settings), "the arguments", Path.cwd())] if settings else []


def _plain(value: Any) -> Any:
    """The value as YAML would give it: paths are texts, tuples are lists."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


class _Logged:
    """The progress of a run, as far as a log should have it."""

    def phase(self, name: str) -> None:
        logger.info("%s", name)

    def expect(self, conversations: int, turns: int) -> None:
        logger.info("%d conversations of up to %d turns", conversations, turns)

    def turn_answered(self, scenario_id: str, turn: Turn) -> None:
        pass

    def conversation_ended(self, conversation: Conversation) -> None:
        pass

    def judged(self) -> None:
        pass

    def note(self, sentence: str) -> None:
        logger.warning("%s", sentence)
