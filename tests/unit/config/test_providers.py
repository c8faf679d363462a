from __future__ import annotations

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.model import Provider, RunConfig
from arksim_ci.config.providers import PRESETS, ProviderSettings, provider_settings


def settings(environment: dict[str, str], api_key: str = "", **config: object) -> ProviderSettings:
    return provider_settings(RunConfig.model_validate(config), environment, api_key)


@pytest.mark.parametrize(
    ("provider", "environment", "base_url", "variable"),
    [
        ("openai", {"OPENAI_API_KEY": "key-1"}, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("anthropic", {"ANTHROPIC_API_KEY": "key-1"}, "https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY"),
        (
            "google",
            {"GEMINI_API_KEY": "key-1", "GOOGLE_API_KEY": "key-2"},
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "GEMINI_API_KEY",
        ),
        (
            "google",
            {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "key-1"},
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "GOOGLE_API_KEY",
        ),
    ],
)
def test_each_provider_has_its_usual_endpoint_and_key(
    provider: Provider, environment: dict[str, str], base_url: str, variable: str
) -> None:
    found = settings(environment, provider=provider, model="m")
    assert found == ProviderSettings(provider, "m", base_url, "key-1", variable)
    assert "key-1" not in repr(found)


def test_azure_needs_its_endpoint() -> None:
    environment = {"AZURE_OPENAI_API_KEY": "key-1", "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}
    found = settings(environment, provider="azure", model="m")
    assert (found.base_url, found.azure_deployment, found.azure_api_version) == (
        "https://x.openai.azure.com",
        "m",
        "2024-10-21",
    )
    environment |= {"AZURE_OPENAI_DEPLOYMENT_NAME": "d", "AZURE_OPENAI_API_VERSION": "v"}
    found = settings(environment, provider="azure", model="m")
    assert (found.azure_deployment, found.azure_api_version) == ("d", "v")
    with pytest.raises(ConfigError) as caught:
        settings({}, provider="azure")
    assert len(caught.value.problems) == 2
    assert "AZURE_OPENAI_ENDPOINT" in str(caught.value)
    assert "AZURE_OPENAI_API_KEY" in str(caught.value)


@pytest.mark.parametrize("provider", [name for name, preset in PRESETS.items() if preset.key_variables])
def test_a_missing_key_says_which_variable_to_set(provider: Provider) -> None:
    with pytest.raises(ConfigError) as caught:
        settings({}, provider=provider)
    assert PRESETS[provider].key_variables[0] in str(caught.value)
    assert "in a workflow: the input `api-key`" in str(caught.value)


def test_local_and_offline_providers_need_no_key() -> None:
    assert settings({}, provider="ollama").base_url == "http://localhost:11434/v1"
    assert settings({}, provider="openai_compatible", base_url="http://x/v1").api_key is None
    assert settings({"OPENAI_API_KEY": "key-1"}, provider="offline").api_key is None


def test_the_configured_variable_beats_the_usual_one() -> None:
    environment = {"OPENAI_API_KEY": "key-1", "MINE": " key-2\n"}
    found = settings(environment, api_key_env="MINE")
    assert (found.api_key, found.api_key_variable) == ("key-2", "MINE")
    with pytest.raises(ConfigError, match="set the variable MINE"):
        settings({"OPENAI_API_KEY": "key-1"}, api_key_env="MINE")
    with pytest.raises(ConfigError, match="set the variable MINE"):
        settings({}, provider="openai_compatible", base_url="http://x", api_key_env="MINE")


def test_a_key_that_is_given_beats_every_variable() -> None:
    found = settings({"OPENAI_API_KEY": "key-1", "MINE": "key-2"}, "key-3", api_key_env="MINE")
    assert (found.api_key, found.api_key_variable) == ("key-3", "the input `api-key`")


def test_the_configured_endpoint_beats_the_variable() -> None:
    environment = {"OPENAI_API_KEY": "key-1", "OPENAI_BASE_URL": "http://variable/v1"}
    assert settings(environment).base_url == "http://variable/v1"
    assert settings(environment, base_url="http://config/v1").base_url == "http://config/v1"


def test_a_key_that_no_header_can_carry_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError) as caught:
        settings({"OPENAI_API_KEY": "key\nsecond-line"})
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "second-line" not in str(caught.value)


def test_openai_alone_is_told_which_account_it_is() -> None:
    account = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}
    key = {"OPENAI_API_KEY": "key-1", "ANTHROPIC_API_KEY": "key-1"}

    assert settings(account | key).account_headers == {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj-1"}
    assert settings(key).account_headers == {}
    assert settings(account | key, provider="anthropic", model="m").account_headers == {}
