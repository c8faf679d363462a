"""Custom metrics: loaded once, asked often, each call's trouble its own."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arksim_ci.config.errors import Problem
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.evaluation import QualResult, QuantResult
from arksim_ci.user_code.calls import Worker
from arksim_ci.user_code.errors import CallTimedOut, UserCodeFailed, UserCodeNotLoadable, WorkerEnded
from arksim_ci.user_code.workers import Workers, first_problem, load, takes_work

MAX_HANGS_IN_A_ROW = 3
"""Time-outs in a row after which a metric is not asked again: each costs its whole time-out."""
MAX_CALLS = 64
"""Most calls under way at once, each of which may hold a thread."""
MAX_OWN_PROCESSES = 2
"""Most calls at once that have a process of their own."""


class MetricRunner:
    """Runs the custom metrics."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._shared: Worker | None = None
        self._starting = asyncio.Lock()
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._own_slots = asyncio.Semaphore(MAX_OWN_PROCESSES)
        self._metrics: dict[str, tuple[str, CustomMetric]] = {}
        self._enders: set[str] = set()
        """Metrics that ended a process."""
        self._hangs: dict[str, int] = {}

    async def load(self, paths: Sequence[Path]) -> list[CustomMetric]:
        """Load metric files and say what is in them.

        Raises:
            UserCodeNotLoadable: with every file that can't be used, and every name that occurs twice; or the interpreter does not start.
        """
        if self._shared is None:
            self._shared = await self._workers.start()
        worker = await self._shared_worker()
        problems: list[Problem] = []
        for path in dict.fromkeys(paths):
            try:
                found = await _load_file(worker, str(path))
            except UserCodeNotLoadable as error:
                problems.extend(error.problems)
                worker = await self._shared_worker()
                continue
            for key, metric in found:
                known = self._metrics.setdefault(metric.name, (key, metric))
                if known[0] != key:
                    problems.append(
                        Problem(
                            f"the metric {metric.name!r} is defined twice; the other one is in {known[1].file}",
                            metric.file,
                        )
                    )
        if problems:
            raise UserCodeNotLoadable(*problems)
        return [metric for _, metric in self._metrics.values()]

    async def score(self, metric_name: str, score_input: Mapping[str, Any], case: str = "") -> QuantResult | QualResult:
        """Let a loaded metric judge.

        Args:
            metric_name: as `load` reported it.
            score_input: `chat_history`, `current_turn` (lists of `role` and `content`), `knowledge`, `user_goal`, `profile`, `tool_calls`,
                and whatever else the metric should find in `model_extra`.
            case: what `ask_llm` is told as the one who asks; the metric's name where it is empty.

        Raises:
            UserCodeFailed: there is no result, with the cause.
        """
        key, metric = self._metrics[metric_name]
        message = {"do": "score", "key": key, "input": dict(score_input), "asker": case or metric_name}
        if self._hangs.get(metric_name, 0) >= MAX_HANGS_IN_A_ROW:
            raise UserCodeFailed(
                f"metric {metric_name!r} did not return {MAX_HANGS_IN_A_ROW} times in a row, and is not asked again"
            )
        async with self._slots:
            try:
                value = await self._score_anywhere(metric_name, message)
            except CallTimedOut:
                self._hangs[metric_name] = self._hangs.get(metric_name, 0) + 1
                raise
        self._hangs[metric_name] = 0
        return _checked(metric, value)

    async def _score_anywhere(self, name: str, message: Mapping[str, Any]) -> Any:
        if name in self._enders:
            return await self._score_alone(name, message)
        try:
            worker = await self._shared_worker()
            try:
                return await worker.call(f"metric {name!r}", message, self._workers.seconds)
            finally:
                await self._retire(worker)
        except WorkerEnded as error:
            if error.alone:
                self._enders.add(name)
                raise
        return await self._score_alone(name, message)

    async def _score_alone(self, name: str, message: Mapping[str, Any]) -> Any:
        async with self._own_slots:
            worker = await self._new_worker()
            try:
                return await worker.call(f"metric {name!r}", message, self._workers.seconds)
            except WorkerEnded:
                self._enders.add(name)
                raise
            finally:
                await self._workers.end(worker)

    async def _shared_worker(self) -> Worker:
        async with self._starting:
            old = self._shared
            if old is not None and takes_work(old):
                return old
            worker = self._shared = await self._new_worker()
            if old is not None and not old.busy:
                await self._workers.end(old)
            return worker

    async def _new_worker(self) -> Worker:
        """A new process with the metric files loaded that were loaded before."""
        worker: Worker | None = None
        try:
            worker = await self._workers.start()
            for path in dict.fromkeys(metric.file for _, metric in self._metrics.values()):
                await _load_file(worker, path)
        except UserCodeNotLoadable as error:
            if worker is not None:
                await self._workers.end(worker)
            raise UserCodeFailed(f"a new worker process could not be set up: {error}") from error
        return worker

    async def _retire(self, worker: Worker) -> None:
        if worker is not self._shared and not worker.busy:
            await self._workers.end(worker)


async def _load_file(worker: Worker, path: str) -> list[tuple[str, CustomMetric]]:
    described = await load(worker, {"do": "load_metrics", "paths": [path]}, path)
    return [(str(item.pop("key")), CustomMetric(**item)) for item in described]


def _checked(metric: CustomMetric, value: Any) -> QuantResult | QualResult:
    try:
        if metric.kind == "qualitative":
            return QualResult(**value, scope=metric.scope)
        result = QuantResult(**value, scope=metric.scope)
    except (ValidationError, TypeError) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else "it is no result"
        raise UserCodeFailed(f"metric {metric.name!r} returned something that can't be used: {problem}") from error
    if not math.isfinite(result.value):
        raise UserCodeFailed(f"metric {metric.name!r} returned {result.value}, which is not a finite number")
    return result
