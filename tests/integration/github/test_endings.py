"""How a step ends where there is no result, and what is left of it: outputs always, leftovers never, no verdict of anybody else."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from pathlib import Path

import pytest

from arksim_ci.github.publish import Publisher
from tests.support.action_step import Step, pull_request
from tests.support.fake_github import FakeGitHub, Trouble
from tests.support.project import llm
from tests.support.scripted_server import Reply, ScriptedServer

KEY = "sk_live_canary_0123"


def with_user_python(step: Step) -> None:
    """An environment for the user's commands, without the time that making one takes."""
    (step.folder / "user" / "bin").mkdir(parents=True)
    (step.folder / "user" / "bin" / "python").symlink_to("/usr/bin/env")


def bring_a_verdict(step: Step) -> Path:
    """A verdict that a pull request brought."""
    path = step.project.output_dir / "verdict.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"passed": true, "exit_code": 0}')
    return path


def commands(log: str) -> list[str]:
    """The lines that the runner takes for commands, as it reads them: split at CR and LF, trimmed on the left."""
    lines = [line.lstrip() for line in re.split("\r\n|\r|\n", log)]
    return [line for line in lines if line.startswith("::") or "##[" in line]


async def test_a_refused_key_leaves_nothing_of_the_run(step: Step, server: ScriptedServer, github: FakeGitHub) -> None:
    with_user_python(step)
    step.inputs |= {"setup-command": "echo installed", "agent-command": "exec sleep 60", "api-key": KEY}
    server.models = lambda request: Reply(status=401, body={"error": {"message": f"wrong key {KEY}"}})
    step.workspace.joinpath("arksim").mkdir()
    before = {path.relative_to(step.workspace) for path in step.workspace.rglob("*")}
    ended = await step.run()
    assert ended.code == 2, ended.log
    after = {path.relative_to(step.workspace) for path in step.workspace.rglob("*")}
    assert after - before == {Path("config.yaml"), Path("scenarios.json")}
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("2", "error")
    assert KEY not in ended.log.replace(f"::add-mask::{KEY}", "")
    assert github.bodies() == []


async def test_a_refused_key_keeps_other_people_s_files(step: Step, server: ScriptedServer) -> None:
    step.project.output_dir.mkdir(parents=True)
    theirs = step.project.output_dir / "notes.txt"
    theirs.write_text("mine")
    server.models = lambda request: Reply(status=401, body={"error": {"message": "wrong key"}})
    assert (await step.run()).code == 2
    assert theirs.read_text() == "mine"


async def test_no_verdict_of_another_run_outlives_a_set_up_that_failed(step: Step, server: ScriptedServer) -> None:
    """The custom agent needs what could not be set up, so the rest can't be checked and there is no result."""
    with_user_python(step)
    verdict = bring_a_verdict(step)
    (step.workspace / "agent.py").write_text("import no_such_package\n")
    step.project.config["agent_config"] = {
        "agent_type": "custom",
        "agent_name": "shop",
        "custom_config": {"module_path": "./agent.py"},
    }
    step.inputs["setup-command"] = "echo no index >&2; exit 4"
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert not verdict.exists()
    assert "no index" in ended.summary
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("3", "error")


async def test_no_verdict_of_another_run_outlives_a_skip(step: Step, server: ScriptedServer) -> None:
    verdict = bring_a_verdict(step)
    step.payload = pull_request("stranger/shop:fix")
    step.project.config |= {"provider": "openai", "base_url": server.base_url}
    step.inputs["on-missing-secrets"] = "skip"
    ended = await step.run()
    assert (ended.code, ended.outputs["conclusion"]) == (0, "skipped")
    assert not verdict.exists()


async def test_a_verdict_behind_a_link_is_not_ours_to_delete(step: Step) -> None:
    elsewhere = step.workspace / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "verdict.json").write_text("theirs")
    (step.workspace / "results").symlink_to(elsewhere)
    step.project.config |= {"output_dir": "results", "max_turn": 3}
    ended = await step.run()
    assert ended.code == 2
    assert (elsewhere / "verdict.json").read_text() == "theirs"


@pytest.mark.parametrize("where", ["config", "agent"])
async def test_a_bug_of_ours_tells_no_secret_and_forges_no_command(
    step: Step, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """An exception's text may hold anything that an agent said."""
    verdict = bring_a_verdict(step)
    step.inputs["api-key"] = KEY
    said = f"{KEY}\n::error::forged\r::set-output name=x::y\n  ##[error]forged <script> @everyone"

    async def broken(host: str, port: int) -> bool:
        raise ZeroDivisionError(said)

    if where == "config":
        monkeypatch.setattr("arksim_ci.action.gate.overrides_of", lambda *_: 1 / len(said.replace(said, "")))
    step.in_container, step.accepts = True, broken
    ended = await step.run()
    assert ended.code == 3
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("3", "error")
    assert "Traceback" in ended.log
    assert KEY not in ended.log.replace(f"::add-mask::{KEY}", "") + ended.summary
    assert all(
        re.match("::(add-mask|group|endgroup|error title=arksim%3A internal error)", line)
        for line in commands(ended.log)
    )
    assert "No result" in ended.summary
    assert "<script>" not in ended.summary
    assert ended.log.count("::group::") == ended.log.count("::endgroup::")
    if where == "agent":
        assert not verdict.exists()


async def test_the_cause_at_the_end_of_a_long_traceback_is_in_the_log(step: Step) -> None:
    async def broken(host: str, port: int) -> bool:
        raise ExceptionGroup("many", [ValueError("x" * 300) for _ in range(100)] + [KeyError("the last one")])

    step.in_container, step.accepts = True, broken
    ended = await step.run()
    assert ended.code == 3
    assert "the last one" in "".join(line for line in ended.log.splitlines() if not line.startswith("::"))


async def test_a_bug_while_publishing_does_not_change_what_the_run_came_to(
    step: Step, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Publisher, "publish", broken)
    assert (await step.run()).code == 0
    server.llm = llm(agent_behavior_failure="false information")
    ended = await step.run()
    assert ended.code == 1
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("1", "failed")
    assert "publishing broke off" in ended.annotations("warning")[0]
    assert "ZeroDivisionError" in ended.log


@pytest.mark.parametrize("word", ["COMPLETED", "METRIC_BELOW_MIN_PASS_RATE", "conversation_id", "no failure"])
async def test_a_secret_that_is_a_word_of_the_format_changes_no_exit_code(
    step: Step, github: FakeGitHub, word: str
) -> None:
    step.environment["AGENT_KEY"] = word
    step.project.config["agent_config"]["api_config"]["headers"] = {"X-Key": "${AGENT_KEY}"}
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert len(github.bodies()) == 1


async def test_what_libraries_say_is_escaped_too(step: Step, server: ScriptedServer) -> None:
    """The runner reads standard error as well, where Python would write a warning for which nobody listens."""
    step.inputs["api-key"] = KEY

    async def accepts(host: str, port: int) -> bool:
        logging.getLogger("asyncio").error("Task failed: %s", f"{KEY}\n::error::forged")
        logging.getLogger("some.package").info("chatter")
        return True

    step.in_container, step.accepts = True, accepts
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert "error: Task failed: ***" in ended.log
    assert "chatter" not in ended.log
    assert not [line for line in commands(ended.log) if "forged" in line]


async def test_inputs_that_nobody_reads_leave_room_for_the_verdict(step: Step, server: ScriptedServer) -> None:
    server.llm = llm(agent_behavior_failure="false information")
    step.environment |= {f"INPUT_UNKNOWN-{number}": "1" for number in range(30)}
    ended = await step.run()
    assert len(ended.annotations("warning")) == 1
    assert "unknown-29" in ended.log
    assert any("false information" in text for text in ended.annotations("error"))


async def test_an_empty_workspace_is_told_of_the_checkout_that_it_lacks(step: Step) -> None:
    step.project.write()
    ended = await step.run()
    assert "actions/checkout" not in ended.log
    step.inputs["config"] = "arksim/config.yaml"
    step.project.write = lambda: Path()  # type: ignore[method-assign]
    for path in step.workspace.iterdir():
        if path.is_file():
            path.unlink()
    for path in sorted(step.workspace.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    ended = await step.run()
    assert ended.code == 2
    assert "a step with actions/checkout must come before" in ended.annotations("error")[0]


@pytest.mark.parametrize("event", ["{", "[1]", '"x"', "", '{"pull_request": {"number": -1, "head": 3}}', "\xff\xfe"])
async def test_an_event_that_can_not_be_read_costs_the_comment_only(
    step: Step, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    path = step.folder / "other-event.json"
    path.write_bytes(event.encode("latin-1"))
    step.environment["GITHUB_EVENT_PATH"] = str(path)
    environment = step.variables
    monkeypatch.setattr(step, "variables", lambda: {**environment(), "GITHUB_EVENT_PATH": str(path)})
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert github.bodies() == []


async def test_a_cancelled_job_sets_its_outputs_even_where_the_run_does_not_end(
    step: Step, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = bring_a_verdict(step)
    monkeypatch.setattr("arksim_ci.action.gate.MOST_SECONDS", 0.2)

    async def stuck(*_: object, **__: object) -> None:
        step.stop.set()
        await asyncio.sleep(60)

    monkeypatch.setattr("arksim_ci.action.gate.run", stuck)
    ended = await step.run()
    assert ended.code == 3
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("3", "error")
    assert "Not run: cancelled" in ended.summary
    assert not verdict.exists()


async def test_annotations_hold_hostile_names_as_text(step: Step, server: ScriptedServer) -> None:
    hostile = "x,line=1::forged\n::error::forged\r##[error]%0A::set-env name=a::b"
    step.project.scenarios = [
        {
            **json.loads(json.dumps(step.project.scenarios[0])),
            "scenario_id": hostile.replace("\n", " ").replace("\r", " "),
        }
    ]
    step.project.config["agent_config"]["agent_name"] = hostile
    server.agent = lambda request: Reply(content=hostile)
    server.llm = llm(
        agent_behavior_failure="false information",
        analysis=lambda request: Reply(
            content=json.dumps({"groups": [{"description": hostile, "members": ["F1", "F2"]}]})
        ),
    )
    ended = await step.run()
    assert ended.code == 1, ended.log
    allowed = r"::(group::|endgroup::|error (file=[\w./]+,)?(line=\d+,)?title=[^:]*::|warning title=[^:]*::)"
    assert [line for line in commands(ended.log) if not re.match(allowed, line)] == []
    for value in ended.outputs.values():
        assert "\n" not in value


async def test_outputs_that_can_not_be_written_are_said(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = step.variables
    monkeypatch.setattr(step, "variables", lambda: {**environment(), "GITHUB_OUTPUT": str(step.folder)})
    step.project.config["max_turn"] = 3
    ended = await step.run()
    assert ended.code == 2
    assert "can't be written" in ended.annotations("warning")[0]


@pytest.mark.parametrize("what", ["trust", "comment"])
async def test_a_job_that_is_cancelled_while_github_makes_it_wait_ends_at_once(
    step: Step, github: FakeGitHub, what: str
) -> None:
    """The runner kills ten seconds after its first signal; GitHub may have to be waited for much longer."""

    async def told_to_wait(seconds: float) -> None:
        step.stop.set()
        await asyncio.sleep(60)

    monkeypatch_time(step, told_to_wait)
    if what == "trust":
        step.event, step.payload = "issue_comment", {"issue": {"number": 12, "pull_request": {}}}
        github.troubles.append(Trouble("GET", "pulls/12", 429, "slow down", {"Retry-After": "60"}, times=9))
    else:
        step.inputs |= {"command": "comment", "run-id": "900"}
        github.troubles.append(Trouble("GET", "actions/runs/900", 429, "slow down", {"Retry-After": "60"}, times=9))
    started = time.monotonic()
    ended = await step.run()
    assert time.monotonic() - started < 8
    assert ended.code == 3
    assert (ended.outputs["exit-code"], ended.outputs["conclusion"]) == ("3", "error")
    assert "cancelled" in ended.summary + ended.log


def monkeypatch_time(step: Step, sleep: object) -> None:
    """Let the step's waits be those of a test."""
    step.time.sleep = sleep  # type: ignore[assignment, method-assign]
