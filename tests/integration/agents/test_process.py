"""Real commands: set up, started, waited for, watched, stopped with everything that they started."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.agents.process import AgentCommands, AgentNotStarted, started
from arksim_ci.agents.requirements import RequirementsNotInstalled, install_requirements
from arksim_ci.redaction import redactor

SERVER = """
import sys, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2])); self.end_headers()
    def log_message(self, *a): pass
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class Start:
    """A start in a workspace; `said` is what goes to the runner's log."""

    def __init__(self, workspace: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.workspace = workspace
        (workspace / "server.py").write_text(SERVER)
        self.said: list[str] = []
        self.commands = AgentCommands(
            setup=None,
            agent=None,
            health_url=None,
            endpoint=f"http://127.0.0.1:{self.port}/chat",
            startup_timeout_seconds=10,
            workspace=workspace,
            environment={
                "PATH": os.environ["PATH"],
                "HOME": str(workspace),
                "INPUT_API-KEY": "k",
                "SHOWN": "sk-secret-123",
            },
            log_path=workspace / "results" / "agent.log",
            python=Path(sys.executable),
        )

    @property
    def log(self) -> str:
        return self.commands.log_path.read_text()

    async def run(self, inside: Callable[[], object] = lambda: None, **changes: Any) -> None:
        commands = replace(self.commands, **changes)
        async with started(commands, redact=redactor(["sk-secret-123"]), log=self.said.append):
            result = inside()
            if asyncio.iscoroutine(result):
                await result

    async def fails(self, **changes: Any) -> str:
        with pytest.raises(AgentNotStarted) as failure:
            await self.run(**changes)
        return str(failure.value)

    def accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def file(self, name: str) -> str:
        return (self.workspace / name).read_text().strip()


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return Start(tmp_path)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.02)


async def test_the_agent_runs_while_it_is_needed_and_no_longer(start: Start) -> None:
    seen = []
    await start.run(lambda: seen.append(start.accepts()), agent=f"python server.py {start.port} 200")
    assert seen == [True]
    assert not start.accepts()
    assert start.said == [
        "Starting agent-command",
        f"The agent is ready: port {start.port} of 127.0.0.1 accepts connections",
    ]


async def test_the_health_url_has_to_answer_200(start: Start) -> None:
    url = f"http://127.0.0.1:{start.port}/health"
    await start.run(agent=f"python server.py {start.port} 200", health_url=url)
    assert start.said[-1] == f"The agent is ready: {url} answers 200"
    message = await start.fails(agent=f"python server.py {start.port} 503", health_url=url, startup_timeout_seconds=1)
    assert "not ready within 1 seconds (agent-startup-timeout-seconds)" in message
    assert "it answers HTTP 503" in message
    assert "  | serving" in message
    assert not start.accepts()


async def test_an_agent_that_never_listens_is_told_from_one_that_refuses(start: Start) -> None:
    message = await start.fails(agent="sleep 30", startup_timeout_seconds=0.5)
    assert f"port {start.port} of 127.0.0.1 accepts connections" in message
    assert "the connection is refused" in message
    assert "It printed nothing." in message


async def test_an_early_death_is_reported_with_the_last_lines_at_once(start: Start) -> None:
    began = time.monotonic()
    message = await start.fails(agent="echo ::error::boom sk-secret-123; exit 7", startup_timeout_seconds=60)
    assert time.monotonic() - began < 5
    assert "agent-command ended (exit code 7) before port" in message
    assert "  | ::error::boom ***" in message


async def test_a_missing_program_says_what_the_image_has(start: Start) -> None:
    message = await start.fails(agent="no-such-program --serve")
    assert "exit code 127: a command was not found; the action's image has Python and bash only" in message
    assert "no-such-program" in message


async def test_the_set_up_runs_first_and_its_failure_ends_the_start(start: Start) -> None:
    await start.run(setup="echo made > made.txt", agent=f"cat made.txt && python server.py {start.port} 200")
    assert start.file("made.txt") == "made"
    message = await start.fails(setup="false | cat; touch never.txt", agent="touch agent.txt")
    assert message.startswith("setup-command failed (exit code 1).")
    assert not (start.workspace / "never.txt").exists(), "pipefail and -e hold"
    assert not (start.workspace / "agent.txt").exists()


async def test_what_the_set_up_leaves_running_serves_the_agent_and_is_stopped_with_it(start: Start) -> None:
    pids = []

    async def look() -> None:
        pids.append(int(start.file("pid")))
        assert alive(pids[0])

    await start.run(look, setup="sleep 300 & echo $! > pid", agent=f"python server.py {start.port} 200")
    assert not alive(pids[0])


async def test_an_agent_put_into_the_background_is_no_early_death(start: Start) -> None:
    await start.run(lambda: start.accepts() or pytest.fail("it is gone"), agent=f"python server.py {start.port} 200 &")
    assert not start.accepts()


async def test_the_output_is_in_the_log_file_redacted_and_never_in_the_runners_log(start: Start) -> None:
    agent = f"echo $SHOWN; printf '::set-output name=passed::true\\n' >&2; python server.py {start.port} 200"
    await start.run(setup="echo setting up", agent=agent)
    assert start.log.splitlines() == [
        "[arksim] Running setup-command",
        "setting up",
        "[arksim] Starting agent-command",
        "***",
        "::set-output name=passed::true",
        "serving",
        f"[arksim] The agent is ready: port {start.port} of 127.0.0.1 accepts connections",
    ]
    assert not any("set-output" in line or "setting up" in line for line in start.said)


async def test_commands_see_the_jobs_environment_without_tokens_and_the_users_python_first(start: Start) -> None:
    await start.run(setup="env > env.txt; command -v python > python.txt; pwd > pwd.txt; cat > stdin.txt")
    seen = start.file("env.txt")
    assert "SHOWN=sk-secret-123" in seen
    assert "INPUT_" not in seen
    assert start.file("python.txt") == str(Path(sys.executable).parent / "python")
    assert start.file("pwd.txt") == str(start.workspace)
    assert start.file("stdin.txt") == ""


async def test_a_death_in_the_middle_is_noted(start: Start) -> None:
    async def kill() -> None:
        os.kill(int(start.file("pid")), signal.SIGKILL)
        await until(lambda: any("in the middle" in line for line in start.said))

    await start.run(kill, agent=f"echo $$ > pid; exec python server.py {start.port} 200")
    assert start.said[-1] == "The agent ended in the middle of the run (SIGKILL)"
    assert "[arksim] The agent ended in the middle of the run (SIGKILL)" in start.log


async def test_a_normal_end_is_no_death_in_the_middle(start: Start) -> None:
    await start.run(agent=f"python server.py {start.port} 200")
    assert "middle" not in start.log


async def test_whoever_ignores_sigterm_is_killed(start: Start) -> None:
    pids = []
    stubborn = f"trap '' TERM; python server.py {start.port} 200 & echo $! > pid; while :; do sleep 0.1; done"
    await start.run(lambda: pids.append(int(start.file("pid"))), agent=stubborn)
    assert not alive(pids[0])
    assert not start.accepts()


async def test_sigterm_comes_first_so_that_an_agent_can_say_goodbye(start: Start) -> None:
    await start.run(agent=f"trap 'echo bye > bye.txt; kill $!' TERM; python server.py {start.port} 200 & wait")
    assert start.file("bye.txt") == "bye"


@pytest.mark.parametrize("when", ["setup", "waiting", "running"])
async def test_a_cancelled_run_leaves_nothing_behind(start: Start, when: str) -> None:
    changes: dict[str, Any] = {"agent": f"echo $$ > pid; python server.py {start.port} 200"}
    if when == "setup":
        changes = {"setup": "echo $$ > pid; sleep 300"}
    elif when == "waiting":
        changes = {"agent": "echo $$ > pid; sleep 300"}
    running = asyncio.create_task(start.run(lambda: asyncio.sleep(300), **changes))
    await until(lambda: (start.workspace / "pid").exists() and start.file("pid") != "")
    if when == "running":
        await until(start.accepts)
        await until(lambda: "ready" in start.log)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(int(start.file("pid")))
    assert not start.accepts()


async def test_an_error_of_the_run_passes_through_and_the_agent_is_stopped(start: Start) -> None:
    def fail() -> None:
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        await start.run(fail, agent=f"python server.py {start.port} 200")
    assert not start.accepts()


async def test_hostile_output_costs_neither_memory_nor_time(start: Start) -> None:
    flood = "head -c 50000000 /dev/zero | tr '\\0' x"
    message = await start.fails(agent=f"{flood}; echo; echo the end; exit 1", startup_timeout_seconds=30)
    assert "  | the end" in message
    assert start.commands.log_path.stat().st_size < 200_000
    assert len(message) < 2000


async def test_without_commands_nothing_is_written(start: Start) -> None:
    await start.run()
    assert not start.commands.log_path.exists()


async def test_a_log_that_cant_be_written_is_said(start: Start) -> None:
    (start.workspace / "results").write_text("a file")
    assert "agent.log can't be written" in await start.fails(agent="true")


def package(folder: Path, name: str) -> Path:
    """A package's source that installs without any index."""
    source = folder / name
    source.mkdir()
    (source / "setup.py").write_text(f"raise SystemExit('{name} does not build, token sk-secret-123')")
    return source


async def test_requirements_go_into_a_venv_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# nothing yet\n")
    said: list[str] = []
    python = await install_requirements(
        tmp_path / "requirements.txt",
        tmp_path / "venv",
        workspace=tmp_path,
        environment={"PATH": "", "PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere"},
        redact=str,
        log=said.append,
    )
    assert python == tmp_path / "venv" / "bin" / "python"
    assert said == ["Installing requirements.txt for the user's Python"]
    start = Start(tmp_path)
    command = 'python -c "import sys; print(sys.prefix)" > prefix.txt; python -m pip --version > pip.txt'
    await start.run(setup=f"{command}; if python -c 'import pydantic'; then exit 1; fi", python=python)
    assert start.file("prefix.txt") == str(tmp_path / "venv")
    assert str(tmp_path / "venv") in start.file("pip.txt")


async def test_requirements_that_cant_be_installed_say_what_pip_said(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"./{package(tmp_path, 'broken').name}\n")
    with pytest.raises(RequirementsNotInstalled) as failure:
        await install_requirements(
            tmp_path / "requirements.txt",
            tmp_path / "venv",
            workspace=tmp_path,
            environment={"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"},
            redact=redactor(["sk-secret-123"]),
            log=lambda _: None,
        )
    message = str(failure.value)
    assert message.startswith(f"`requirements`: pip could not install {tmp_path / 'requirements.txt'} (exit code")
    assert "  | " in message
    assert "sk-secret-123" not in message
