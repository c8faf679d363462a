"""Comments where GitHub, a person or another job is in the way: the gate's exit code stays, and what is said is true."""

from __future__ import annotations

import pytest

from tests.support.action_step import Step
from tests.support.fake_github import FakeGitHub, Trouble
from tests.support.project import llm
from tests.support.scripted_server import ScriptedServer

LOCKED = "Unable to create comment because issue is locked."


async def test_a_locked_conversation_is_no_missing_permission(step: Step, github: FakeGitHub) -> None:
    github.troubles.append(Trouble("POST", "comments", 403, LOCKED))
    ended = await step.run()
    assert ended.code == 0, ended.log
    [warning] = ended.annotations("warning")
    assert "locked" in warning
    assert "permissions" not in warning


async def test_a_token_that_github_does_not_know_is_no_missing_permission(step: Step, github: FakeGitHub) -> None:
    github.troubles.append(Trouble("POST", "graphql", 401, "Bad credentials"))
    ended = await step.run()
    assert ended.code == 0
    warning = ended.annotations("warning")[0]
    assert "github-token" in warning
    assert "pull-requests: write" not in warning


@pytest.mark.parametrize("status", [403, 404, 422, 500])
async def test_a_list_or_a_viewer_that_is_refused_costs_the_comment_only(
    step: Step, github: FakeGitHub, status: int
) -> None:
    github.troubles += [Trouble("POST", "graphql", status, "no", times=9)]
    ended = await step.run()
    assert ended.code == 0, ended.log
    assert github.bodies() == []
    assert ended.outputs["conclusion"] == "passed"
    assert any("there is no comment" in text for text in ended.annotations("warning"))


async def test_a_comment_that_somebody_deletes_meanwhile_is_created_anew(
    step: Step, github: FakeGitHub, server: ScriptedServer
) -> None:
    await step.run()
    gone = github.comments[0]["id"]
    github.troubles.append(Trouble("PATCH", f"comments/{gone}", 404, "Not Found"))
    step.run_number += 1
    server.llm = llm(agent_behavior_failure="false information")
    ended = await step.run()
    assert ended.code == 1
    assert "Gate failed" in github.bodies()[-1]
    assert ended.outputs["comment-url"] == github.comments[-1]["html_url"]


async def test_a_comment_stands_although_the_look_for_doubles_failed(step: Step, github: FakeGitHub) -> None:
    def created() -> None:
        github.troubles.append(Trouble("GET", "issues/12/comments", 403, "Resource not accessible", times=9))

    github.after_create = created
    ended = await step.run()
    assert ended.code == 0
    assert ended.outputs["comment-url"] == github.comments[0]["html_url"]
    assert ended.annotations("warning") == []


async def test_an_update_stands_although_a_double_can_not_be_deleted(step: Step, github: FakeGitHub) -> None:
    await step.run()
    github.comment(12, github.bodies()[0])
    github.troubles.append(Trouble("DELETE", "comments", 403, "Resource not accessible", times=9))
    step.run_number += 1
    ended = await step.run()
    assert ended.code == 0
    assert ended.outputs["comment-url"] == github.comments[0]["html_url"]
    assert ended.annotations("warning") == []
    assert f"run={step.run_number} " in github.bodies()[0]


@pytest.mark.parametrize(
    "key",
    [
        "👩‍💻 Gate/test/0",
        "a -->\n<!-- arksim-action key=x run=99 attempt=1 -->",
        "::error::x",
        "-" * 400,
        "a b\t%00 @x",
    ],
)
async def test_a_hostile_key_is_one_comment_and_stays_its_own(step: Step, github: FakeGitHub, key: str) -> None:
    step.inputs["comment-key"] = key
    for _ in range(2):
        ended = await step.run()
        assert ended.code == 0, ended.log
        step.run_number += 1
    [body] = github.bodies()
    assert body.count("<!-- arksim-action") == 1
    assert "run=6 " in body
    step.inputs["comment-key"] = "another"
    await step.run()
    assert len(github.bodies()) == 2
