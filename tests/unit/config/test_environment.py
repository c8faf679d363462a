from __future__ import annotations

import pytest

from arksim_ci.config.environment import without_tokens


@pytest.mark.parametrize(
    "name",
    [
        "INPUT_API-KEY",
        "INPUT_GITHUB-TOKEN",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_RESULTS_URL",
        "GITHUB_TOKEN",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_STATE",
        "github_token",
    ],
)
def test_tokens_and_command_files_are_taken_out(name: str) -> None:
    assert without_tokens({name: "x", "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "GITHUB_WORKSPACE", "GITHUB_SHA", "MY_INPUT_X", "HOME", "PYTHONPATH"]
)
def test_the_rest_of_the_jobs_environment_stays(name: str) -> None:
    assert without_tokens({name: "x"}) == {name: "x"}
