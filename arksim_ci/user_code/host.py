"""The user's Python as the rest of the package sees it: custom metrics and agents, in worker processes of their own.

What happens to a call when things go wrong:

- The user's code raises, or returns something wrong: that call fails.
- It does not return in time: that call fails. The thread that it hangs in can't be ended; a worker with several of them takes no new work,
  and ends when the rest of its work is done. One whose event loop is stuck is ended at once.
- The worker process ends (`os._exit`, a crash): a call that was alone in it fails. Where several were under way, nobody knows whose fault
  it was: each metric's call is made once more, in a process of its own, and only what fails there has failed. Whatever ended a process
  gets a process of its own from then on. A conversation with an agent can't be begun again in its middle: those of the process that ended
  fail, and each conversation from then on has a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arksim_ci.config.environment import hide_our_environment, without_tokens
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.evaluation import QualResult, QuantResult
from arksim_ci.user_code.agent_runner import AgentHandle, AgentRunner, UserCodeAnswer
from arksim_ci.user_code.calls import AskLLM
from arksim_ci.user_code.errors import UserCodeFailed, UserCodeNotLoadable
from arksim_ci.user_code.metric_runner import MetricRunner
from arksim_ci.user_code.workers import Workers

__all__ = ["AgentHandle", "AskLLM", "UserCodeAnswer", "UserCodeFailed", "UserCodeHost", "UserCodeNotLoadable"]


class UserCodeHost:
    """Runs custom metrics and agents.

    Args:
        python: the interpreter for the user's code; it needs nothing of ours installed.
        environment: what the user's code sees; the runner's tokens are taken out of it here once more.
        ask_llm: answers `self.llm`.
        call_timeout_seconds: how long one call of the user's code may take, time in which it waits for the LLM aside.
        log: takes each line that the user's code prints, and tracebacks.
        model, provider: what `self.llm.model` and `.provider` show.
    """

    def __init__(
        self,
        python: Path,
        environment: Mapping[str, str],
        *,
        ask_llm: AskLLM,
        call_timeout_seconds: float,
        log: Callable[[str], None],
        model: str = "",
        provider: str = "",
    ) -> None:
        self._workers = Workers(
            python, without_tokens(environment), ask_llm, log, call_timeout_seconds, model, provider
        )
        self._metrics = MetricRunner(self._workers)
        self._agents = AgentRunner(self._workers)

    async def start(self) -> None:
        """Start a worker, so that a wrong interpreter is found at once; again, it does nothing.

        On Linux, our own memory and environment are hidden from other processes from then on.

        Raises:
            UserCodeNotLoadable: the interpreter does not start, or is too old.
        """
        hide_our_environment()
        await self._workers.prepare()

    async def close(self) -> None:
        """End all worker processes and what they started; calls under way fail."""
        await self._workers.close()

    async def load_metrics(self, paths: Sequence[Path]) -> list[CustomMetric]:
        """Load metric files and say what is in them.

        Raises:
            UserCodeNotLoadable: with every file that can't be used, and every name that occurs twice.
        """
        return await self._metrics.load(paths)

    async def score(self, metric_name: str, score_input: Mapping[str, Any], case: str = "") -> QuantResult | QualResult:
        """Let a loaded metric judge; see `MetricRunner.score`.

        Raises:
            UserCodeFailed: there is no result, with the cause.
        """
        return await self._metrics.score(metric_name, score_input, case)

    async def load_agent(self, module_path: Path, class_name: str | None = None) -> str:
        """Load an agent's file and return its class's name, so that what is wrong is known before anything is spent.

        Raises:
            UserCodeNotLoadable: the file, or the class, can't be used.
        """
        return await self._agents.load(module_path, class_name)

    async def open_agent(
        self, module_path: Path, class_name: str | None, conversation_id: str, config: Mapping[str, Any]
    ) -> AgentHandle:
        """Make an instance of the agent's class for one conversation; see `AgentRunner.open`.

        Raises:
            UserCodeFailed: it can't be made.
        """
        return await self._agents.open(module_path, class_name, conversation_id, config)

    async def answer(self, handle: AgentHandle, message: str, metadata: Mapping[str, Any]) -> UserCodeAnswer:
        """Say something to the agent; see `AgentRunner.answer`.

        Raises:
            UserCodeFailed: there is no answer, with the cause.
        """
        return await self._agents.answer(handle, message, metadata)

    async def close_agent(self, handle: AgentHandle) -> None:
        """End a conversation: the agent's `close()` runs, if it has one."""
        await self._agents.close(handle)
