"""Custom agents: one instance a conversation."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from arksim_ci.schema.simulation import ToolCall
from arksim_ci.user_code.calls import Worker
from arksim_ci.user_code.errors import UserCodeFailed, UserCodeNotLoadable, WorkerEnded
from arksim_ci.user_code.workers import Workers, first_problem, load, takes_work

CLOSE_SECONDS = 10.0
"""How long an agent's `close()` may take."""


class UserCodeAnswer(BaseModel):
    """What a custom agent answered."""

    model_config = ConfigDict(extra="ignore")

    content: str
    tool_calls: list[ToolCall]


@dataclass(eq=False, slots=True)
class AgentHandle:
    """One conversation with a custom agent."""

    number: str
    worker: Worker
    own_process: bool


class AgentRunner:
    """Runs the custom agents."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._shared: Worker | None = None
        self._starting = asyncio.Lock()
        self._handles: set[AgentHandle] = set()
        self._numbers = itertools.count(1)
        self._alone = False
        """Whether each conversation gets a process of its own: since an agent ended one."""

    async def load(self, module_path: Path, class_name: str | None = None) -> str:
        """Load an agent's file and return its class's name, so that what is wrong is known before anything is spent.

        Raises:
            UserCodeNotLoadable: the file, or the class, can't be used.
        """
        worker = await self._shared_worker()
        return str(await load(worker, _agent_file(module_path, class_name), str(module_path)))

    async def open(
        self, module_path: Path, class_name: str | None, conversation_id: str, config: Mapping[str, Any]
    ) -> AgentHandle:
        """Make an instance of the agent's class for one conversation.

        Args:
            config: the `agent_config` of config.yaml, for the constructor.

        Raises:
            UserCodeFailed: its constructor, or `get_chat_id`, gave no usable result.
        """
        file = _agent_file(module_path, class_name)
        alone = self._alone
        try:
            worker = await (self._workers.start() if alone else self._shared_worker())
        except UserCodeNotLoadable as error:
            raise UserCodeFailed(str(error)) from error
        handle = AgentHandle(str(next(self._numbers)), worker, alone)
        self._handles.add(handle)
        message = {
            **file,
            "do": "open",
            "handle": handle.number,
            "conversation": conversation_id,
            "config": dict(config),
        }
        try:
            await load(worker, file, str(module_path))
            await self._call(handle, "the agent's constructor or get_chat_id()", message)
        except UserCodeNotLoadable as error:
            await self.close(handle)
            raise UserCodeFailed(str(error)) from error
        except BaseException:
            await self.close(handle)
            raise
        return handle

    async def answer(self, handle: AgentHandle, message: str, metadata: Mapping[str, Any]) -> UserCodeAnswer:
        """Say something to the agent.

        Args:
            metadata: what `execute` gets as its keyword `metadata`: `chat_id`, `user_goal`, `turn_id`, and `knowledge` as a list of
                mappings, which become objects with `content`.

        Raises:
            UserCodeFailed: there is no answer, with the cause.
        """
        what = {"do": "answer", "handle": handle.number, "message": message, "metadata": dict(metadata)}
        value = await self._call(handle, "the agent's execute()", what)
        try:
            return UserCodeAnswer.model_validate(value)
        except ValidationError as error:
            raise UserCodeFailed(f"the agent's answer can't be used: {first_problem(error)}") from error

    async def close(self, handle: AgentHandle) -> None:
        """End a conversation: the agent's `close()` runs, if it has one. What goes wrong there is in the log, and nothing more."""
        if handle not in self._handles:
            return
        self._handles.discard(handle)
        try:
            if handle.worker.alive:
                closing = handle.worker.call(
                    "the agent's close()", {"do": "close", "handle": handle.number}, self._workers.seconds
                )
                await asyncio.wait_for(closing, min(self._workers.seconds, CLOSE_SECONDS))
        except UserCodeFailed as error:
            self._workers.log(f"user code: {error}")
        except TimeoutError:
            self._workers.log("user code: the agent's close() did not return in time")
        finally:
            in_use = handle.worker is self._shared or any(other.worker is handle.worker for other in self._handles)
            if handle.own_process or not in_use:
                await self._workers.end(handle.worker)

    async def _call(self, handle: AgentHandle, what: str, message: Mapping[str, Any]) -> Any:
        try:
            return await handle.worker.call(what, message, self._workers.seconds)
        except WorkerEnded:
            self._alone = True
            raise

    async def _shared_worker(self) -> Worker:
        async with self._starting:
            old = self._shared
            if old is not None and takes_work(old):
                return old
            worker = self._shared = await self._workers.start()
            if old is not None and not any(handle.worker is old for handle in self._handles):
                await self._workers.end(old)
            return worker


def _agent_file(module_path: Path, class_name: str | None) -> dict[str, Any]:
    return {"do": "load_agent", "module": str(module_path), "class": class_name}
