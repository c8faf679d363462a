"""Whose code, whose secrets, whose files: what a stranger's pull request can't do, and what forks may."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.action_step import SHA, Step, pull_request
from tests.support.scripted_server import ScriptedServer

FORK = "stranger/shop:fix"


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "issue_comment"])
@pytest.mark.parametrize("payload", [{}, {"issue": {"number": "12"}}, {"pull_request": []}])
async def test_an_event_that_can_not_be_read_is_no_reason_for_trust(
    step: Step, server: ScriptedServer, event: str, payload: dict[str, Any]
) -> None:
    step.event, step.payload = event, payload
    step.project.config["max_turn"] = "not even read"
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert "input allow-untrusted-code" in ended.log
    assert "max_turn" not in ended.log
    assert server.requests["llm"] == server.requests["agent"] == []


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
async def test_a_config_can_not_send_a_key_away(step: Step, server: ScriptedServer, event: str) -> None:
    """The fork's config alone: its endpoint carries the key, and its provider is an address of the stranger's."""
    step.event = event
    fork = {"full_name": "stranger/shop", "owner": {"login": "stranger"}}
    run = {"head_sha": SHA, "head_branch": "fix", "head_repository": fork}
    step.payload = pull_request(FORK) if event == "pull_request_target" else {"workflow_run": run}
    step.environment["OPENAI_API_KEY"] = "sk_of_the_repository"
    step.project.config["agent_config"]["api_config"]["endpoint"] = f"{server.agent_url}?key=${{OPENAI_API_KEY}}"
    step.project.config |= {"api_key_env": "OPENAI_API_KEY"}
    ended = await step.run()
    assert ended.code == 2
    assert server.requests["llm"] == server.requests["agent"] == []


async def test_the_refusal_says_what_to_do_where_the_checkout_is_the_repository_s_own(step: Step) -> None:
    step.event, step.payload = "pull_request_target", pull_request(FORK)
    ended = await step.run()
    assert "holds nothing of the fork" in ended.annotations("error")[0]


@pytest.mark.parametrize("provider", ["offline", "openai_compatible"])
async def test_what_needs_no_key_runs_for_forks(step: Step, provider: str) -> None:
    step.payload = pull_request(FORK)
    step.project.config["provider"] = provider
    ended = await step.run()
    assert ended.outputs["conclusion"] != "skipped"
    assert ended.file("verdict.json")["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("config", "missing"),
    [
        ({"provider": "azure", "base_url": None}, "AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT"),
        ({"provider": "google", "base_url": None}, "GEMINI_API_KEY"),
        ({"api_key_env": "SHOP_LLM_KEY"}, "SHOP_LLM_KEY"),
    ],
)
async def test_every_secret_that_a_fork_lacks_is_skipped_together(
    step: Step, config: dict[str, Any], missing: str
) -> None:
    step.payload = pull_request(FORK)
    step.project.config |= config
    ended = await step.run()
    assert ended.code == 2
    assert f"{missing} " in ended.log
    step.inputs["on-missing-secrets"] = "skip"
    ended = await step.run()
    assert (ended.code, ended.outputs["conclusion"]) == (0, "skipped"), ended.log


@pytest.mark.parametrize(
    "endpoint", ["${AGENT_URL}", "${AGENT_URL}/v1/chat", "https://${AGENT_HOST}:${AGENT_PORT}/chat"]
)
async def test_an_endpoint_that_is_a_secret_is_missing_for_a_fork(step: Step, endpoint: str) -> None:
    step.payload = pull_request(FORK)
    step.project.config["agent_config"]["api_config"]["endpoint"] = endpoint
    step.inputs["on-missing-secrets"] = "skip"
    ended = await step.run()
    assert (ended.code, ended.outputs["conclusion"]) == (0, "skipped"), ended.log
    assert "AGENT_" in ended.summary


async def test_an_address_that_is_missing_alone_is_a_mistake_of_the_configuration(step: Step) -> None:
    step.payload = pull_request(FORK)
    step.project.config |= {"provider": "azure", "base_url": None}
    step.inputs |= {"on-missing-secrets": "skip", "api-key": "present-12345"}
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert "AZURE_OPENAI_ENDPOINT" in ended.log


@pytest.mark.parametrize("key", ["output_dir", "output_file_path", "cache_dir"])
@pytest.mark.parametrize("folder", [".git", ".git/hooks", ".github/workflows", "sub/.git", ".GIT"])
async def test_no_result_is_written_where_git_or_github_reads(step: Step, key: str, folder: str) -> None:
    step.project.config[key] = f"{folder}/x"
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert f"{key}: " in ended.log
    assert "where no results belong" in ended.log
    assert not (step.workspace / folder).exists()


async def test_a_project_may_stand_below_dot_github(step: Step) -> None:
    step.project.config["output_dir"] = ".github/arksim/results"
    assert (await step.run()).code == 0


@pytest.mark.parametrize("key", ["output_dir", "output_file_path", "cache_dir"])
async def test_no_result_is_written_through_a_link_inside_of_the_workspace(step: Step, key: str) -> None:
    theirs = step.workspace / "theirs"
    theirs.mkdir()
    (step.workspace / "link").symlink_to(theirs)
    step.project.config[key] = "link/below/x.json"
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert "symbolic link" in ended.log
    assert list(theirs.iterdir()) == []


@pytest.mark.parametrize("folder", ["..", "../..", "/tmp/arksim-elsewhere", "results/../../x"])
async def test_results_outside_of_the_workspace_are_refused(step: Step, folder: str) -> None:
    step.project.config["output_dir"] = folder
    ended = await step.run()
    assert ended.code == 2, ended.log
    assert "outside of the workspace" in ended.log


async def test_requirements_that_are_not_there_are_a_mistake_of_the_configuration(step: Step) -> None:
    for name in ("missing.txt", "."):
        step.inputs["requirements"] = name
        ended = await step.run()
        assert ended.code == 2, ended.log
        assert "input requirements: there is no file" in ended.annotations("error")[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_only_what_we_made_gets_the_workspace_s_owner(step: Step, server: ScriptedServer) -> None:
    step.project.config["output_dir"] = "."
    theirs = step.workspace / "focus"
    theirs.mkdir()
    (theirs / "notes.txt").write_text("theirs")
    outside = step.folder / "outside.txt"
    outside.write_text("theirs")
    (step.workspace / "linked.json").symlink_to(outside)
    step.project.write()
    os.chown(step.workspace, 1234, 1235)
    ended = await step.run()
    assert ended.code == 0, ended.log
    owned = {path.name for path in step.workspace.rglob("*") if owner(path) == 1234}
    assert {"verdict.json", "evaluation.json", "journal.jsonl", "final_report.html"} <= owned
    assert not owned & {"config.yaml", "scenarios.json", "notes.txt", "focus", "linked.json"}
    assert owner(outside) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_an_agent_s_log_gets_the_workspace_s_owner_however_the_step_ends(step: Step) -> None:
    (step.folder / "user" / "bin").mkdir(parents=True)
    (step.folder / "user" / "bin" / "python").symlink_to("/usr/bin/env")
    (step.workspace / "agent.py").write_text("import no_such_package\n")
    step.project.config["agent_config"] = {
        "agent_type": "custom",
        "agent_name": "shop",
        "custom_config": {"module_path": "./agent.py"},
    }
    step.inputs["setup-command"] = "echo broken; exit 4"
    os.chown(step.workspace, 1234, 1235)
    ended = await step.run()
    assert ended.code == 3, ended.log
    assert owner(step.project.output_dir / "agent.log") == 1234
    assert owner(step.project.output_dir) == 1234


def owner(path: Path) -> int:
    return path.lstat().st_uid
