"""The worker processes of a run: started alike, ended together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arksim_ci.config.errors import Problem
from arksim_ci.user_code.calls import AskLLM, Worker
from arksim_ci.user_code.errors import UserCodeFailed, UserCodeNotLoadable

LOAD_SECONDS = 120.0
"""How long a file may take to load; packages with models in them are slow."""
MAX_HUNG = 4
"""Hung calls after which a worker takes no new work."""


@dataclass(eq=False, slots=True)
class Workers:
    """Starts workers, and knows those that live. `seconds` is the time that a call may take."""

    python: Path
    environment: Mapping[str, str]
    ask_llm: AskLLM
    log: Callable[[str], None]
    seconds: float
    model: str
    provider: str
    _alive: set[Worker] = field(default_factory=set)
    _spare: Worker | None = None

    async def prepare(self) -> None:
        """Start the first one, which the first `start` then gives.

        Raises:
            UserCodeNotLoadable: the interpreter does not start, or is too old.
        """
        if not self._alive:
            self._spare = await self.start()

    async def start(self) -> Worker:
        """Start one.

        Raises:
            UserCodeNotLoadable: the interpreter does not start, or is too old.
        """
        spare, self._spare = self._spare, None
        if spare is not None and spare.alive:
            return spare
        worker = await Worker.start(
            self.python, self.environment, self.ask_llm, self.log, model=self.model, provider=self.provider
        )
        self._alive.add(worker)
        return worker

    async def end(self, worker: Worker) -> None:
        """End one."""
        self._alive.discard(worker)
        await worker.close()

    async def close(self) -> None:
        """End all."""
        await asyncio.gather(*(worker.close() for worker in self._alive))
        self._alive.clear()


def takes_work(worker: Worker) -> bool:
    """Whether a worker lives and has few hung threads."""
    return worker.alive and len(worker.hung) < MAX_HUNG


async def load(worker: Worker, message: Mapping[str, Any], path: str) -> Any:
    """Let a worker load a file.

    Raises:
        UserCodeNotLoadable: with file, line and advice.
    """
    try:
        return await worker.call(f"the import of {Path(path).name}", message, LOAD_SECONDS)
    except UserCodeFailed as error:
        raise UserCodeNotLoadable(Problem(str(error), path)) from error


def first_problem(error: ValidationError) -> str:
    """The first of a model's problems, without the value: that is the user's."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
