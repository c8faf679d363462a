"""What users of such actions complain about, by number. 12 and 14 are tested with the image, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.github.comments import Marker, find_marker, publish_comment
from arksim_ci.github.workflow import SUMMARY_LIMIT
from arksim_ci.reports.safe_text import utf16_length
from tests.integration.github.test_client import Patient
from tests.support.action_step import SHA, Ended, Step, failing, pull_request
from tests.support.fake_github import BOT, FORBIDDEN, REPOSITORY, SECONDARY, FakeGitHub, Trouble
from tests.support.fake_results_service import FakeResultsService
from tests.support.fake_time import FakeTime
from tests.support.project import judgement, llm, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer

LABEL = "false information"
WRONG = {"agent_behavior_failure": LABEL}
KEY = "Gate/test/0"


def published(ended: Ended, code: int) -> None:
    """The gate's result stands, and the summary is there."""
    assert ended.code == code, ended.log
    assert ended.outputs["exit-code"] == str(code)
    assert "Gate " in ended.summary


@pytest.mark.parametrize("wrong", [False, True])
async def test_1_a_fork_s_token_can_not_comment(
    step: Step, github: FakeGitHub, server: ScriptedServer, results: FakeResultsService, wrong: bool
) -> None:
    github.may.discard("pull_requests:write")
    step.payload, step.results = pull_request("stranger/shop:fix"), results
    server.llm = llm(agent_behavior_failure=LABEL if wrong else "no failure")
    ended = await step.run()
    published(ended, int(wrong))
    [notice] = [text for text in ended.annotations("notice") if "comment" in text]
    assert "docs/forks.md" in notice
    assert ended.annotations("warning") == []
    assert "arksim-evaluation" in {artifact.name for artifact in results.finished()}
    assert len(github.requests("POST", "comments")) == 1, "a permission is not asked for again"


async def test_1_a_missing_permission_elsewhere_is_told_with_the_block_to_paste(step: Step, github: FakeGitHub) -> None:
    github.may.discard("pull_requests:write")
    ended = await step.run()
    published(ended, 0)
    [warning] = ended.annotations("warning")
    assert FORBIDDEN in warning
    assert "permissions:\n  contents: read\n  pull-requests: write" in warning


async def test_2_a_deleted_fork_is_a_fork(step: Step, github: FakeGitHub) -> None:
    github.may.discard("pull_requests:write")
    step.payload = pull_request(None)
    ended = await step.run()
    published(ended, 0)
    assert "from a fork" in ended.annotations("notice")[0]


async def test_3_our_comment_on_the_second_page_is_updated(step: Step, github: FakeGitHub) -> None:
    for number in range(100):
        github.comment(12, f"comment {number}", "ada", "User")
    ours = github.comment(12, f"old text {Marker(KEY, 4, 1)}")
    ended = await step.run()
    published(ended, 0)
    assert len(github.comments) == 101
    assert ours["body"].startswith("## ✅ Gate passed")
    assert ended.outputs["comment-url"] == ours["html_url"]


async def test_4_two_legs_have_two_comments_each_with_its_own_text(
    step: Step, github: FakeGitHub, server: ScriptedServer, tmp_path: Path
) -> None:
    other = Step(tmp_path / "other", server, github, inputs={"comment-key": "Gate/test/1"})
    other.project.config["agent_config"]["agent_name"] = "second"
    await step.run()
    await other.run()
    titles = [body.splitlines()[0] for body in github.bodies()]
    assert titles == ["## ✅ Gate passed: shop", "## ℹ️ Measured, no gate configured: second"]


@pytest.mark.parametrize(("theirs", "stays"), [(5, "ours"), (6, "theirs")])
async def test_4_the_same_key_at_once_is_one_comment_in_the_end(
    step: Step, github: FakeGitHub, theirs: int, stays: str
) -> None:
    def another_job() -> None:
        github.before_create = lambda: None
        github.comment(12, f"theirs {Marker(KEY, theirs, 1)}")

    github.before_create = another_job
    ended = await step.run()
    published(ended, 0)
    [comment] = github.comments
    assert comment["id"] == 1001, "the oldest stays"
    assert comment["body"].startswith("theirs") == (stays == "theirs")
    assert ended.outputs["comment-url"] == comment["html_url"]


async def test_4_an_answer_that_got_lost_leaves_no_double(step: Step, github: FakeGitHub) -> None:
    github.troubles.append(Trouble("POST", "issues/12/comments", 502, done=True))
    published(await step.run(), 0)
    assert len(github.comments) == 1


async def test_5_and_6_five_hundred_errors_fit_and_everything_is_closed(
    step: Step, github: FakeGitHub, server: ScriptedServer
) -> None:
    """500 unique errors with emoji and long stack traces, of an agent that is wrong in 500 ways."""
    trace = "🚑" * 40 + "\n```\n<details>\n" + "  at very.long.Stack.trace(File.java:1)\n" * 60
    step.project.scenarios = [scenario(f"case_{number:03}") for number in range(125)]
    step.project.config |= {"num_conversations_per_scenario": 1, "max_turns": 4, "max_recommendations": 0}
    server.agent = lambda request: Reply(content=f"{trace} {request.number}")

    def judge(request: Request) -> Reply:
        value = judgement(request, **(WRONG if request.question == "judge_turn" else {}))
        if "agent_behavior_failure" in value:
            value["agent_behavior_failure"]["reason"] = f"{trace} number {request.number}"
        return Reply(content=json.dumps(value))

    def alone(request: Request) -> Reply:
        names = sorted({word for word in request.text.split('"') if word[:1] == "F" and word[1:].isdigit()})
        groups = [{"description": f"{trace} {name}", "members": [name]} for name in names]
        return Reply(content=json.dumps({"groups": groups}))

    server.llm = llm(judge, analysis=alone)
    step.inputs["top-errors"] = "100"
    (step.folder / "summary").write_text("earlier text\n" * 20_000, encoding="utf-8")
    ended = await step.run()
    assert ended.code == 1, ended.log
    assert int(ended.outputs["unique-errors"]) == 500
    [body] = github.bodies()
    assert utf16_length(body) <= 65_000
    assert find_marker(body) == Marker(KEY, 5, 1)
    assert body.rstrip().endswith("-->")
    closed(body)
    assert "not shown here" in body
    size = (step.folder / "summary").stat().st_size
    assert 260_000 + 100_000 < size < SUMMARY_LIMIT
    assert ended.summary.startswith("earlier text\n")
    closed(ended.summary)
    assert len([line for line in ended.log.splitlines() if line.startswith(("::error", "::warning", "::notice"))]) <= 10


def closed(markdown: str) -> None:
    """Every fold and every fence ends."""
    fence = ""
    folds = 0
    for line in markdown.splitlines():
        text = line.lstrip("> ")
        ticks = text[: len(text) - len(text.lstrip("`"))]
        if fence:
            fence = "" if ticks == fence and text == ticks else fence
        elif len(ticks) >= 3:
            fence = ticks
        else:
            folds += line.count("<details>") - line.count("</details>")
            assert folds >= 0
    assert fence == ""
    assert folds == 0


@pytest.mark.parametrize(
    ("status", "message", "headers", "waited"),
    [
        (403, SECONDARY, {"Retry-After": "7"}, 7),
        (403, SECONDARY, {}, 60),
        (429, "", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}, 31),
    ],
)
async def test_7_limits_are_waited_for_within_a_cap(
    github: FakeGitHub, status: int, message: str, headers: dict[str, str], waited: float
) -> None:
    github.troubles.append(Trouble("POST", "comments", status, message, headers))
    time, marker = FakeTime(), Marker(KEY, 5, 1)
    async with Patient(github, time) as client:
        outcome = await publish_comment(client, REPOSITORY, 12, marker, f"text {marker}", "always", failed=False)
    assert outcome.done == "created"
    assert waited in time.slept


async def test_7_a_limit_without_end_costs_the_comment_not_the_gate(step: Step, github: FakeGitHub) -> None:
    github.troubles.append(Trouble("POST", "comments", 403, SECONDARY, times=99))
    ended = await step.run()
    published(ended, 0)
    assert "secondary rate limit" in ended.annotations("warning")[0]
    assert sum(step.time.slept) < 200
    assert "comment-url" not in ended.outputs


async def test_8_a_stranger_s_comment_with_our_marker_is_ignored(step: Step, github: FakeGitHub) -> None:
    strangers = [
        github.comment(12, f"forged {Marker(KEY, 999, 1)}", "stranger", "User"),
        github.comment(12, f"forged {Marker(KEY, 999, 1)}", "github-actions", "User"),
        github.comment(12, f"forged {Marker(KEY, 999, 1)}", "other-app[bot]", "Bot"),
    ]
    published(await step.run(), 0)
    assert [each["body"][:6] for each in strangers] == ["forged"] * 3
    assert len(github.comments) == 4


@pytest.mark.parametrize(
    ("viewer", "author", "kind"),
    [
        ("gate-bot[bot]", "gate-bot[bot]", "Bot"),
        ("gate-bot", "gate-bot[bot]", "Bot"),
        ("ada", "Ada", "User"),
        (BOT, BOT, "Bot"),
    ],
)
async def test_8_a_token_of_another_bot_or_person_finds_its_own_comment(
    step: Step, github: FakeGitHub, viewer: str, author: str, kind: str
) -> None:
    github.viewer = viewer
    github.comment(12, f"old {Marker(KEY, 4, 1)}", author, kind)
    published(await step.run(), 0)
    [body] = github.bodies()
    assert body.startswith("## ✅ Gate passed")


async def test_9_on_enterprise_server_the_right_hosts_are_asked_and_artifacts_are_skipped(
    step: Step, github: FakeGitHub, results: FakeResultsService
) -> None:
    """The private CA bundle is in `test_client.py`."""
    step.results = results
    step.environment["GITHUB_SERVER_URL"] = "https://github.example.com"
    ended = await step.run()
    published(ended, 0)
    [warning] = ended.annotations("warning")
    assert "Enterprise" in warning
    assert results.seen == []
    assert "https://github.example.com/org/shop/actions/runs/77" in github.bodies()[0]
    assert "//github.com/org/shop" not in github.bodies()[0]
    assert (ended.workspace / ended.outputs["report-file"]).exists()


EVENTS = sorted((Path(__file__).parents[2] / "unit" / "github" / "events").glob("*.json"))


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
async def test_10_every_event_finds_its_pull_request_or_none_and_raises_no_false_alarm(
    step: Step, github: FakeGitHub, path: Path
) -> None:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    step.event, step.payload = fixture["event"], fixture["payload"]
    context = fixture["context"]
    step.environment |= {
        "GITHUB_SHA": context["sha"],
        "GITHUB_REF": context["ref"],
        "GITHUB_ACTOR": context["actor"],
    }
    step.inputs["allow-untrusted-code"] = "true"
    github.pull(11, "e" * 40, head="org/shop:fix-refunds")
    pull = github.pull(12, SHA, head="org/shop:fix-refunds" if "fork" not in path.stem else "stranger/shop:main")
    github.pull(13, SHA, state="closed")
    if "deleted" in path.stem:
        pull["head"]["repo"] = None
    ended = await step.run()
    published(ended, 0)
    wanted = 0 if fixture["expected"]["lookup"] == "none" else 1
    assert [comment["issue"] for comment in github.comments] == [12] * wanted
    assert ended.annotations("warning") == ended.annotations("error") == ended.annotations("notice") == []


@pytest.mark.parametrize("event", ["push", "schedule"])
async def test_10_without_a_pull_request_or_the_right_to_look_nothing_is_alarming(
    step: Step, github: FakeGitHub, event: str
) -> None:
    step.event, step.payload = event, {"after": SHA}
    step.environment["GITHUB_REF"] = "refs/heads/main"
    github.may.clear()
    ended = await step.run()
    published(ended, 0)
    assert ended.annotations("warning") == ended.annotations("error") == []


async def test_11_the_head_commit_decides_between_branches_of_the_same_name(step: Step, github: FakeGitHub) -> None:
    step.event = "workflow_run"
    step.inputs["allow-untrusted-code"] = "true"
    owner = {"full_name": "old-name/shop", "owner": {"login": "old-name"}}
    step.payload = {"workflow_run": {"head_sha": SHA, "head_branch": "main", "head_repository": owner}}
    github.pull(11, "e" * 40, head="old-name/shop:main")
    github.pull(12, SHA, head="new-name/shop:main")  # the fork was renamed
    github.pull(13, "f" * 40, head="stranger/shop:main")
    published(await step.run(), 0)
    assert [comment["issue"] for comment in github.comments] == [12]


async def test_11_a_push_is_no_news_for_a_pull_request_whose_head_is_another_commit(
    step: Step, github: FakeGitHub
) -> None:
    step.event, step.payload = "push", {"after": SHA}
    step.environment["GITHUB_REF"] = "refs/heads/fix"
    github.pull(11, "e" * 40)["holds"] = SHA
    published(await step.run(), 0)
    assert github.comments == []


async def test_13_a_taken_artifact_name_gets_a_suffix(
    step: Step, results: FakeResultsService, server: ScriptedServer
) -> None:
    step.results = results
    first = await step.run()
    step.attempt = 2
    (step.folder / "output").unlink()
    second = await step.run()
    published(second, 0)
    names = [artifact.name for artifact in results.finished()]
    assert names == [
        "arksim-evaluation",
        "arksim-report.html",
        "arksim-evaluation-2",
        "arksim-report-2.html",
    ]
    assert first.outputs["artifact-url"] != second.outputs["artifact-url"]


async def test_13_a_refused_upload_is_one_warning_and_the_files_stay(
    step: Step, results: FakeResultsService, github: FakeGitHub
) -> None:
    step.results = results
    step.environment["ACTIONS_RUNTIME_TOKEN"] = "not a token"
    ended = await step.run()
    published(ended, 0)
    assert len(ended.annotations("warning")) == 1
    assert (ended.workspace / ended.outputs["evaluation-file"]).exists()
    assert len(github.comments) == 1


async def test_14_inputs_with_hyphens_are_read_in_a_hostile_environment(step: Step, github: FakeGitHub) -> None:
    step.environment |= {"PATH": "/nowhere", "PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"}
    step.inputs["top-errors"] = "0"
    published(await step.run(), 0)


@pytest.mark.parametrize(
    ("inputs", "config"),
    [
        ({"config": "/home/runner/shop/config.yaml"}, {}),
        ({"scenarios": "../scenarios.json"}, {}),
        ({}, {"scenario_file_path": "/home/runner/shop/scenarios.json"}),
        ({}, {"custom_metrics_file_paths": ["../../metrics.py"]}),
        ({}, {"output_dir": "/tmp/results"}),
        ({}, {"output_file_path": "../simulation.json"}),
        ({"overrides": "output_dir: /tmp/results"}, {}),
    ],
)
async def test_15_a_path_outside_of_the_workspace_is_told_what_is_mounted(
    step: Step, inputs: dict[str, str], config: dict[str, object]
) -> None:
    step.inputs |= inputs
    step.project.config |= config
    ended = await step.run()
    assert ended.code == 2, ended.log
    told = " ".join(ended.annotations("error"))
    assert "/github/workspace" in told
    assert "/github/runner_temp" in told


async def test_16_no_results_is_not_a_pass(step: Step, server: ScriptedServer) -> None:
    server.agent = lambda request: Reply(status=500)
    ended = await step.run()
    assert ended.code == 1
    assert failing(ended.outputs)


@pytest.mark.parametrize(("judge_fails", "code"), [(False, 0), (True, 3)])
async def test_16_fail_on_gate_false_ends_0_only_where_the_run_was_complete(
    step: Step, github: FakeGitHub, server: ScriptedServer, judge_fails: bool, code: int
) -> None:
    step.inputs["fail-on-gate"] = "false"

    def judge(request: Request) -> Reply:
        if judge_fails and request.question == "judge_goal":
            return Reply(status=400, body={"error": {"message": "no"}})
        return Reply(content=json.dumps(judgement(request, **WRONG)))

    step.project.config["numeric_thresholds"] = {"faithfulness": 3.5, "goal_completion": 0.5}
    server.llm = llm(judge)
    ended = await step.run()
    assert ended.code == code, ended.log
    assert failing(ended.outputs)
    assert ended.file("verdict.json")["exit_code"] == 1
    assert "Gate failed" in github.bodies()[0]
    assert "Gate failed" in ended.summary


async def test_16_on_failure_writes_red_and_turns_its_own_comment_green_again(
    step: Step, github: FakeGitHub, server: ScriptedServer
) -> None:
    step.inputs["comment"] = "on-failure"
    published(await step.run(), 0)
    assert github.comments == []
    server.llm, step.run_number = llm(agent_behavior_failure=LABEL), 6
    assert (await step.run()).code == 1
    assert github.bodies()[0].startswith("## ❌ Gate failed")
    server.llm, step.run_number = llm(), 7
    assert (await step.run()).code == 0
    [body] = github.bodies()
    assert body.startswith("## ✅ Gate passed")


async def test_16_off_asks_github_for_nothing(step: Step, github: FakeGitHub, server: ScriptedServer) -> None:
    step.inputs["comment"] = "off"
    server.llm = llm(agent_behavior_failure=LABEL)
    assert (await step.run()).code == 1
    assert github.comments == []
    assert github.requests("POST") == []


@pytest.mark.parametrize(("number", "attempt"), [(6, 1), (5, 2)])
async def test_17_an_older_run_that_ends_last_does_not_overwrite(
    step: Step, github: FakeGitHub, number: int, attempt: int
) -> None:
    github.comment(12, f"newer {Marker(KEY, number, attempt)}")
    ended = await step.run()
    published(ended, 0)
    assert github.bodies()[0].startswith("newer")
    assert len(github.comments) == 1
    assert "A newer run has written the comment already" in ended.log


async def test_17_the_same_run_and_a_later_attempt_do(step: Step, github: FakeGitHub) -> None:
    github.comment(12, f"older {Marker(KEY, 5, 1)}")
    step.attempt = 2
    published(await step.run(), 0)
    assert find_marker(github.bodies()[0]) == Marker(KEY, 5, 2)


@pytest.mark.parametrize("before", [SUMMARY_LIMIT - 60_000, SUMMARY_LIMIT - 50_000, SUMMARY_LIMIT - 10])
async def test_18_a_summary_that_is_nearly_full_is_never_lost(step: Step, server: ScriptedServer, before: int) -> None:
    server.llm = llm(agent_behavior_failure=LABEL)
    step.project.scenarios = [scenario(f"case_{number}") for number in range(40)]
    (step.folder / "summary").write_text("x" * before, encoding="utf-8")
    ended = await step.run()
    assert ended.code == 1, ended.log
    size = (step.folder / "summary").stat().st_size
    assert before <= size < SUMMARY_LIMIT
    if before < SUMMARY_LIMIT - 51_000:
        assert "Gate failed" in ended.summary
    else:
        assert "full" in " ".join(ended.annotations("warning"))
