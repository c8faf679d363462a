from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.model import RunConfig
from arksim_ci.config.variables import resolve_agent, secrets, short_secret_warnings
from tests.unit.config.project import load, problems, write


def with_headers(*lines: str, endpoint: str = "http://localhost/v1") -> str:
    headers = "".join(f"      {line}\n" for line in lines)
    return (
        "agent_config:\n  agent_type: chat_completions\n  agent_name: x\n  api_config:\n"
        f"    endpoint: {endpoint}\n    headers:\n{headers}    body: {{messages: []}}\nscenario_file_path: scenarios.json\n"
    )


def config_with(headers: dict[str, str], endpoint: str = "http://localhost/v1", **settings: object) -> RunConfig:
    api = {"endpoint": endpoint, "headers": headers, "body": {}}
    agent = {"agent_type": "chat_completions", "agent_name": "x", "api_config": api}
    return RunConfig.model_validate({"agent_config": agent, **settings})


def test_variables_are_filled_into_the_endpoint_and_the_headers(tmp_path: Path) -> None:
    environment = {"HOST": "example.org", "KEY": "k-12345678\n", "TEAM": "red"}
    agent = with_headers('Authorization: "Bearer ${KEY}"', "X-Team: ${TEAM}-${TEAM}", endpoint="https://${HOST}/v1")
    loaded = load(write(tmp_path, agent=agent), environment=environment)
    api = resolve_agent(loaded.config, environment).api_config
    assert api is not None
    assert api.endpoint == "https://example.org/v1"
    assert api.headers == {"Authorization": "Bearer k-12345678", "X-Team": "red-red"}
    assert "k-12345678" not in repr(api)


@pytest.mark.parametrize("environment", [{}, {"KEY": ""}, {"KEY": " \n"}])
def test_an_unset_variable_names_itself(tmp_path: Path, environment: dict[str, str]) -> None:
    config = write(tmp_path, agent=with_headers('Authorization: "Bearer ${KEY}"', "X: ${OTHER}"))
    found = problems(config, environment=environment)
    assert found[0].startswith(
        "config.yaml:7: agent_config.api_config.headers.Authorization: the variable KEY is not set, or empty"
    )
    assert "config.yaml:8: agent_config.api_config.headers.X: the variable OTHER" in found[1]


@pytest.mark.parametrize("name", ["INPUT_API-KEY", "INPUT_X", "ACTIONS_RUNTIME_TOKEN", "GITHUB_TOKEN", "github_token"])
def test_variables_with_the_runners_tokens_are_refused(tmp_path: Path, name: str) -> None:
    environment = {name: "value-12345"}
    config = write(tmp_path, agent=with_headers(f'Authorization: "Bearer ${{{name}}}"'))
    found = problems(config, environment=environment)
    assert len(found) == 1
    assert "is refused: INPUT_*" in found[0] or "not the name of a variable" in found[0]
    assert "value-12345" not in found[0]
    config = write(tmp_path, f"api_key_env: {name}\n")
    assert "api_key_env" in problems(config, environment=environment)[0]


@pytest.mark.parametrize("value", ["${KEY", "${}", "${KEY:-x}", "${1A}"])
def test_what_is_no_variable_is_refused(tmp_path: Path, value: str) -> None:
    assert len(problems(write(tmp_path, agent=with_headers(f'X: "{value}"')), environment={"KEY": "x"})) == 1


def test_a_dollar_sign_alone_is_text(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, agent=with_headers('X: "$KEY costs 5$ {a}"')))
    api = resolve_agent(loaded.config, {}).api_config
    assert api and api.headers["X"] == "$KEY costs 5$ {a}"


def test_the_endpoint_is_checked_once_it_is_filled(tmp_path: Path) -> None:
    config = write(tmp_path, agent=with_headers("X: a", endpoint="${URL}"))
    found = problems(config, environment={"URL": "example.org/secret-path"})
    assert "endpoint: must be a URL" in found[0]
    assert "secret-path" not in found[0]


def test_a_run_without_an_agent_has_nothing_to_resolve() -> None:
    with pytest.raises(ConfigError, match="agent_config: is missing"):
        resolve_agent(RunConfig(), {})


def test_secrets_are_found_with_and_without_their_scheme() -> None:
    config = config_with(
        {
            "Authorization": "Bearer literal-token-1",
            "X-Api-Key": "${AGENT_KEY}",
            "Cookie": "session=cookie-value-1; theme=dark-mode-9",
            "X-Session-Token": "Token ${PART}:suffix-1",
            "Content-Type": "application/json",
        },
        endpoint="https://user:pass%40word@host/v1?api_key=query-secret&page=plain-value",
        api_key_env="MY_KEY",
        base_url="https://gateway/v1?token=gateway-token",
    )
    environment = {
        "AGENT_KEY": "agent-key-1",
        "PART": "part-value",
        "MY_KEY": "my-key-value",
        "OPENAI_API_KEY": "sk-openai-1",
        "UNRELATED": "unrelated-value",
    }
    found = secrets(config, environment)
    expected = {
        "Bearer literal-token-1",
        "literal-token-1",
        "agent-key-1",
        "cookie-value-1",
        "dark-mode-9",
        "session=cookie-value-1; theme=dark-mode-9",
        "part-value",
        "Token part-value:suffix-1",
        "part-value:suffix-1",
        "pass%40word",
        "pass@word",
        "query-secret",
        "gateway-token",
        "my-key-value",
        "sk-openai-1",
    }
    assert set(found) == expected
    assert found == sorted(found, key=lambda value: (-len(value), value))


def test_a_secret_that_is_too_short_to_hide_is_a_warning() -> None:
    config = config_with({"X-Api-Key": "short", "Authorization": "Bearer ${KEY}"})
    environment = {"KEY": "tiny", "OPENAI_API_KEY": "sk-1"}
    assert secrets(config, environment) == ["Bearer tiny"]
    assert short_secret_warnings(config, environment) == [
        "a provider's key is shorter than 8 characters, so it is not hidden in what is written",
        "the value of ${KEY} is shorter than 8 characters, so it is not hidden in what is written",
        "the value of the header X-Api-Key is shorter than 8 characters, so it is not hidden in what is written",
    ]


def test_the_warning_comes_with_the_loaded_configuration(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, agent=with_headers("X-Api-Key: short")))
    assert "the header X-Api-Key is shorter" in loaded.warnings[0]
