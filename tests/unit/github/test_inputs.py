"""Every input is checked at the start, and each error names the input and what it allows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.github.comments import Marker, find_marker
from arksim_ci.github.context import GitHubContext, read_context
from arksim_ci.github.inputs import Inputs, read_inputs, variable

CONTEXT = GitHubContext(workspace=Path("/github/workspace"), workflow="Gate", job="test")


def read(**values: str) -> Inputs:
    """Read inputs; underscores in the names stand for hyphens."""
    return read_inputs({variable(name.replace("_", "-")): value for name, value in values.items()}, CONTEXT)


def problem(**values: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(**values)
    return str(caught.value)


def test_names_with_hyphens_are_read_as_the_runner_passes_them() -> None:
    given = {
        "INPUT_AGENT-COMMAND": "python agent.py",
        "INPUT_AGENT-STARTUP-TIMEOUT-SECONDS": "90",
        "INPUT_AGENT_COMMAND": "not this one",
    }
    inputs = read_inputs(given, CONTEXT)
    assert inputs.agent_command == "python agent.py"
    assert inputs.agent_startup_timeout_seconds == 90


def test_an_empty_input_is_unset() -> None:
    assert read(config="", top_errors=" ", comment="", fail_on_gate="", comment_key="") == read()
    assert read().config == Path("/github/workspace/arksim/config.yaml")
    assert read().comment_key == "Gate/test/0"


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        ({"command": "simulate"}, "simulate-evaluate, evaluate, comment"),
        ({"comment": "never"}, "always, on-failure, off"),
        ({"on_missing_secrets": "ignore"}, "fail, skip"),
        ({"fail_on_gate": "no"}, "true, false"),
        ({"upload_artifacts": "1"}, "true, false"),
        ({"allow_untrusted_code": "yes"}, "true, false"),
        ({"top_errors": "-1"}, "a whole number from 0 to 100"),
        ({"top_errors": "many"}, "a whole number from 0 to 100"),
        ({"top_errors": "٣"}, "a whole number from 0 to 100"),
        ({"retention_days": "0"}, "a whole number from 1 to 400"),
        ({"run_id": "12x"}, "a whole number from 1 to any size"),
        ({"agent_startup_timeout_seconds": "0"}, "a number of seconds above 0, up to 3600"),
        ({"agent_startup_timeout_seconds": "nan"}, "a number of seconds above 0, up to 3600"),
        ({"agent_command": "x", "agent_health_url": "localhost:8000"}, "begins with http:// or https://"),
        ({"artifact_name": "a/b:c"}, "can't hold"),
        ({"artifact_name": "a\nb"}, "one line"),
    ],
)
def test_a_wrong_value_names_the_input_and_what_it_allows(values: dict[str, str], allowed: str) -> None:
    text = problem(**values)
    name = list(values)[-1].replace("_", "-")
    assert text.startswith(f"input {name}: ")
    assert allowed in text


def test_a_near_miss_is_named() -> None:
    assert 'did you mean "on-failure"?' in problem(comment="on_failure")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read(command="x", top_errors="x", config="../x", comment="x")
    assert {each.source for each in caught.value.problems} == {
        "input command",
        "input top-errors",
        "input config",
        "input comment",
    }


@pytest.mark.parametrize("path", ["../other/config.yaml", "/home/runner/shop/config.yaml", "a/../../b"])
def test_a_path_outside_of_the_workspace_is_told_what_is_mounted(path: str) -> None:
    for name in ("config", "scenarios", "requirements"):
        text = problem(**{name: path})
        assert text.startswith(f"input {name}: ")
        assert "/github/workspace" in text
        assert "/github/runner_temp" in text


def test_a_path_that_github_translated_into_the_workspace_is_inside() -> None:
    assert read(config="/github/workspace/a/../b.yaml").config == Path("/github/workspace/b.yaml")


@pytest.mark.parametrize("name", ["config", "scenarios", "requirements"])
def test_a_link_out_of_the_workspace_is_no_file_inside_of_it(tmp_path: Path, name: str) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "below").mkdir(parents=True)
    (tmp_path / "outside.yaml").write_text("x")
    (workspace / "below" / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (workspace / "inside.yaml").symlink_to(workspace / "below")
    context = GitHubContext(workspace=workspace)
    with pytest.raises(ConfigError, match="leads out of the workspace through a symbolic link"):
        read_inputs({variable(name): "below/link.yaml"}, context)
    assert read_inputs({variable(name): "inside.yaml"}, context)


def test_any_name_of_a_workflow_can_be_part_of_a_key() -> None:
    hostile = "👩‍💻 Gate --> <!-- x -->\n::error::/test/\udc80"
    for key in (hostile, "a" * 5000, "-" * 300):
        found = read(comment_key=key).comment_key
        marker = str(Marker(found, 1, 1))
        assert marker.count("--") == 2
        assert find_marker(marker) == Marker(found, 1, 1)
    assert read(comment_key="a" * 5000 + "b").comment_key != read(comment_key="a" * 5000 + "c").comment_key


def test_a_short_key_is_warned_of() -> None:
    assert "shorter than 8 characters" in read(api_key="abc1234").warnings[0]
    assert read(api_key="abc12345").warnings == ()


def test_secrets_are_in_no_text() -> None:
    inputs = read(api_key="sk-secret-value", github_token="ghs_secret_value")
    assert "secret" not in repr(inputs).replace("on_missing_secrets", "")
    text = problem(api_key="sk-secret value")
    assert "secret value" not in text
    assert "input api-key" in text
    assert "ACTIONS-TOKEN" not in repr(read_context({"ACTIONS_RUNTIME_TOKEN": "ACTIONS-TOKEN"}))


def test_the_comment_command_needs_a_run_and_a_comment() -> None:
    assert "input run-id: is missing" in problem(command="comment")
    assert "input comment: `off`" in problem(command="comment", run_id="1", comment="off")
    assert read(command="comment", run_id="77").run_id == 77


def test_a_health_url_needs_an_agent_command() -> None:
    assert "agent-command" in problem(agent_health_url="http://localhost:8000/health")


def test_an_unknown_input_is_a_warning_with_the_nearest_name() -> None:
    [warning] = read(scenario="a.json").warnings
    assert warning == 'the action has no input "scenario"; did you mean "scenarios"?'
    assert read(args="x", entrypoint="y").warnings == ()


def test_the_runner_s_variables_are_read_and_enterprise_urls_kept() -> None:
    context = read_context(
        {
            "GITHUB_WORKSPACE": "/github/workspace",
            "GITHUB_REPOSITORY": "org/shop",
            "GITHUB_RUN_ID": "77",
            "GITHUB_RUN_NUMBER": "5",
            "GITHUB_RUN_ATTEMPT": "x",
            "GITHUB_SERVER_URL": "https://github.example.com/",
            "GITHUB_API_URL": "https://github.example.com/api/v3",
            "GITHUB_GRAPHQL_URL": "https://github.example.com/api/graphql",
            "GITHUB_WORKFLOW_REF": "org/shop/.github/workflows/gate.yml@refs/heads/main",
            "GITHUB_OUTPUT": "/github/file_commands/out",
        }
    )
    assert (context.run_id, context.run_number, context.run_attempt) == (77, 5, 0)
    assert context.run_url == "https://github.example.com/org/shop/actions/runs/77"
    assert context.workflow_file == ".github/workflows/gate.yml"
    assert context.graphql_url == "https://github.example.com/api/graphql"
    assert re.fullmatch(r"/github/file_commands/\w+", str(context.output_file))


def test_a_workflow_of_another_repository_is_none_of_ours() -> None:
    context = read_context(
        {"GITHUB_REPOSITORY": "org/shop", "GITHUB_WORKFLOW_REF": "org/ci/.github/workflows/x.yml@v1"}
    )
    assert context.workflow_file == ""
