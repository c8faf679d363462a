"""The agent as a process of ours: set up once, started, waited for, watched, and stopped with everything that it started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from arksim_ci.agents.command_log import CommandLog
from arksim_ci.agents.commands import BASH, SetUpFailed, user_environment, with_last_lines
from arksim_ci.agents.health import HealthCheck
from arksim_ci.agents.process_group import ProcessGroup, how_it_ended
from arksim_ci.config.environment import hide_our_environment

IN_THE_IMAGE: Final = "the action's image has Python and bash only, an agent that needs more is started in an earlier step or under `services:`"
_COMMAND_NOT_FOUND = 127


class AgentNotStarted(SetUpFailed):
    """`setup-command` failed, or the agent ended or did not answer in time after `agent-command`."""


@dataclass(frozen=True, slots=True)
class AgentCommands:
    """What to run so that there is an agent to talk to.

    Args:
        setup: run to its end first; what it leaves running stays until the agent is stopped.
        agent: starts the agent.
        health_url: answers 200 when the agent is ready; without it, the endpoint's port has to accept.
        endpoint: the agent's endpoint, "" where it has none.
        startup_timeout_seconds: how long the agent may take until it is ready.
        workspace: the working directory.
        environment: the job's variables; our tokens are taken out of it here.
        log_path: the file for what the commands print.
        python: the interpreter of the user's venv; None where the job's own Python and PATH stay what they are.
        has: what commands there are, in words, for who misses one.
    """

    setup: str | None
    agent: str | None
    health_url: str | None
    endpoint: str
    startup_timeout_seconds: float
    workspace: Path
    environment: Mapping[str, str] = field(repr=False)
    log_path: Path
    python: Path | None
    has: str = IN_THE_IMAGE


@asynccontextmanager
async def started(
    commands: AgentCommands, *, redact: Callable[[str], str], log: Callable[[str], None]
) -> AsyncIterator[None]:
    """Run the set-up, start the agent, wait until it is ready; at the end, and on cancel, stop it and all that was started.

    Args:
        commands: what to run.
        redact: replaces secrets in what the commands print.
        log: takes a line about what is done. What the commands print never gets there; it goes to their log file.

    Raises:
        AgentNotStarted: with the cause and the last lines of the log.
    """
    if commands.setup is None and commands.agent is None:
        yield
        return
    hide_our_environment()
    async with AsyncExitStack() as stack:
        start = _Start(commands, _open_log(commands, redact, stack), redact, log, stack)
        if commands.setup is not None:
            await start.set_up(commands.setup)
        if commands.agent is not None:
            await start.agent(commands.agent)
        yield


def _open_log(commands: AgentCommands, redact: Callable[[str], str], stack: AsyncExitStack) -> CommandLog:
    try:
        command_log = CommandLog(commands.log_path, redact)
    except OSError as error:
        raise AgentNotStarted(f"the agent's log {commands.log_path} can't be written ({error.strerror}).") from error
    stack.callback(command_log.close)
    return command_log


class _Start:
    """One start, step by step. What is started is stopped by `stack`."""

    def __init__(
        self,
        commands: AgentCommands,
        command_log: CommandLog,
        redact: Callable[[str], str],
        log: Callable[[str], None],
        stack: AsyncExitStack,
    ) -> None:
        self._commands = commands
        self._command_log = command_log
        self._redact = redact
        self._log = log
        self._stack = stack

    async def set_up(self, command: str) -> None:
        """Run `setup-command` to its end."""
        self._say("Running setup-command")
        group = await self._start("setup-command", command)
        code = await group.exit_code()
        await group.output_read()
        if code != 0:
            raise self._failure(f"setup-command failed ({self._ending(code)}).")

    async def agent(self, command: str) -> None:
        """Start `agent-command` and wait until the agent is ready."""
        self._say("Starting agent-command")
        group = await self._start("agent-command", command)
        check = HealthCheck.of(self._commands.health_url, self._commands.endpoint)
        if check is None:
            self._say("The agent has no endpoint and no agent-health-url, so it is not waited for")
        else:
            await self._until_ready(group, check)
        watching = asyncio.create_task(self._watch(group))
        self._stack.push_async_callback(_end, watching)

    async def _start(self, name: str, command: str) -> ProcessGroup:
        commands = self._commands
        try:
            group = await ProcessGroup.start(
                [*BASH, command],
                folder=commands.workspace,
                environment=user_environment(commands.environment, commands.python),
                on_line=self._command_log.line,
            )
        except OSError as error:
            raise AgentNotStarted(f"{name} can't be started: {error.strerror} ({error.filename}).") from error
        self._stack.push_async_callback(group.stop)
        return group

    async def _until_ready(self, group: ProcessGroup, check: HealthCheck) -> None:
        seconds = self._commands.startup_timeout_seconds
        ended = asyncio.create_task(group.ended())
        ready = asyncio.create_task(check.until_ready())
        try:
            done, _ = await asyncio.wait({ended, ready}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if ready in done:
                ready.result()
        finally:
            await _end(ended)
            await _end(ready)
        if ended in done:
            await group.output_read()
            raise self._failure(f"agent-command ended ({self._ending(ended.result())}) before {check.expected}.")
        if not done:
            raise self._failure(
                f"the agent was not ready within {seconds:g} seconds (agent-startup-timeout-seconds), it counts as ready when {check.expected}; "
                f"at the last try {check.last}."
            )
        self._say(f"The agent is ready: {check.expected}")

    async def _watch(self, group: ProcessGroup) -> None:
        code = await group.ended()
        self._say(f"The agent ended in the middle of the run ({self._ending(code)})")

    def _ending(self, exit_code: int) -> str:
        if exit_code == _COMMAND_NOT_FOUND:
            return f"exit code 127: a command was not found; {self._commands.has}"
        return how_it_ended(exit_code)

    def _say(self, sentence: str) -> None:
        self._command_log.note(sentence)
        self._log(self._redact(sentence))

    def _failure(self, cause: str) -> AgentNotStarted:
        self._command_log.note(cause)
        return AgentNotStarted(self._redact(with_last_lines(cause, self._command_log.last_lines())))


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
