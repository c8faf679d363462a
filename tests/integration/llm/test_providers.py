"""Each provider's way on the wire, the preflight and the cache."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.client import LLMUnavailable, PreflightFailed
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits
from tests.integration.llm.clients import GOOD, KEY, client, good, refusal, replies
from tests.support.scripted_server import Reply, ScriptedServer, completion
from tests.unit.llm.asking import score_question

NOT_FOUND = Reply(status=404, body={"detail": "Not Found"})


async def test_openai_gets_the_newer_name_of_the_limit_and_a_cache_key() -> None:
    with ScriptedServer(good) as server:
        async with client(server, "openai") as llm:
            await llm.ask(score_question())
    body = server.requests["llm"][0].body
    assert "max_completion_tokens" in body
    assert "prompt_cache_key" in body
    assert body["response_format"]["json_schema"]["strict"] is True


async def test_azure_is_asked_by_deployment_and_version() -> None:
    with ScriptedServer(good) as server:
        async with client(server, "azure") as llm:
            assert (await llm.ask(score_question())).value == 4.0
    (request,) = server.requests["llm"]
    assert request.path == "/openai/deployments/my-deployment/chat/completions"
    assert request.query == {"api-version": "2024-10-21"}
    assert request.headers["api-key"] == KEY


@pytest.mark.parametrize("ending", ["/", "/openai", "/openai/", "/openai/v1/"])
async def test_an_azure_endpoint_may_end_as_the_portal_shows_it(ending: str) -> None:
    with ScriptedServer(good) as server:
        async with client(server.base_url.removesuffix("/v1") + ending, "azure") as llm:
            await llm.ask(score_question())
    assert server.requests["llm"][0].path == "/openai/deployments/my-deployment/chat/completions"


async def test_a_server_without_a_key_gets_none() -> None:
    with ScriptedServer(good) as server:
        async with client(server, "ollama", key=None) as llm:
            assert await llm.preflight() == []
            await llm.ask(score_question())
    assert "Authorization" not in server.requests["llm"][0].headers
    assert "Authorization" not in server.requests["models"][0].headers


async def test_a_query_in_base_url_goes_with_every_request() -> None:
    with ScriptedServer(good) as server:
        async with client(server.base_url + "?api-version=7") as llm:
            await llm.preflight()
            await llm.ask(score_question())
    assert server.requests["llm"][0].query == server.requests["models"][0].query == {"api-version": "7"}


async def test_the_openai_account_is_told_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-private")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private-0123456789")
    with ScriptedServer(good) as server:
        for key in (KEY, None):
            async with client(server, "openai_compatible", key=key) as llm:
                await llm.ask(score_question())
    assert "private" not in json.dumps([request.headers for request in server.requests["llm"]])


async def test_the_preflight_looks_the_model_up_and_pays_nothing() -> None:
    with ScriptedServer(good) as server:
        async with client(server, "openai") as llm:
            assert await llm.preflight() == []
            assert llm.usage().judge.calls == 0
            assert llm.model == "model-1"
    assert [request.path for request in server.requests["models"]] == ["/v1/models/model-1"]
    assert server.requests["llm"] == []


async def test_the_preflight_of_anthropic_uses_its_own_headers() -> None:
    with ScriptedServer(good) as server:
        async with client(server, "anthropic") as llm:
            await llm.preflight()
    headers = server.requests["models"][0].headers
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"]
    assert "Authorization" not in headers


async def test_the_preflight_warns_of_a_model_that_is_about_to_go() -> None:
    soon = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    with ScriptedServer(good, models=replies(Reply(body={"id": "model-1", "shutdown_date": soon}))) as server:
        async with client(server, "openai") as llm:
            (warning,) = await llm.preflight()
    assert f"model-1 is announced to shut down on {soon}" in warning


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (refusal("Incorrect API key provided", 401), "refused the key in MY_KEY"),
        (refusal("The model `model-1` does not exist", 404, code="model_not_found"), "set `model`"),
    ],
)
async def test_the_preflight_finds_a_bad_key_and_an_unknown_model(models: Reply, words: str) -> None:
    with ScriptedServer(good, models=replies(models)) as server:
        async with client(server, "openai") as llm:
            with pytest.raises(PreflightFailed, match=words):
                await llm.preflight()
    assert server.requests["llm"] == []


async def test_the_preflight_asks_a_tiny_question_where_models_are_not_listed() -> None:
    def script(request: object) -> Reply:
        body = server.requests["llm"][-1].body
        if "max_tokens" in body:
            return refusal("Unsupported parameter; use 'max_completion_tokens'", param="max_tokens")
        return Reply(content="OK")

    with ScriptedServer(script, models=replies(NOT_FOUND)) as server:
        async with client(server) as llm:
            assert await llm.preflight() == []
            assert llm.usage().judge.calls == 2
    assert server.requests["llm"][-1].body["max_completion_tokens"] == 16


async def test_the_tiny_question_finds_an_unknown_model() -> None:
    unknown = refusal('model "model-1" not found, try pulling it first', 404)
    with ScriptedServer(replies(unknown), models=replies(NOT_FOUND)) as server:
        async with client(server) as llm:
            with pytest.raises(PreflightFailed, match="does not know the model model-1"):
                await llm.preflight()


async def test_a_wrong_path_is_a_fault_of_base_url() -> None:
    with ScriptedServer(good) as server:
        async with client(server.base_url + "/wrong") as llm:
            with pytest.raises(PreflightFailed, match=r"/v1/wrong does not answer chat requests.*check `base_url`"):
                await llm.preflight()


async def test_an_outage_during_the_preflight_is_an_outage() -> None:
    with ScriptedServer(good, models=replies(refusal("overloaded", 503))) as server:
        async with client(server, "openai") as llm:
            with pytest.raises(LLMUnavailable, match="HTTP 503"):
                await llm.preflight()


async def test_a_cached_answer_costs_nothing(tmp_path: Path) -> None:
    with ScriptedServer(good) as server:
        async with client(server, cache_dir=tmp_path) as llm:
            await llm.ask(score_question(case="1"))
        async with client(server, cache_dir=tmp_path) as llm:
            answer = await llm.ask(score_question(case="1"))
            assert (answer.value, answer.model, llm.model) == (4.0, "scripted-1", "scripted-1")
            assert llm.usage().judge.calls == 0
            await llm.ask(score_question(case="2"))
            assert llm.usage().judge.calls == 1


@pytest.mark.parametrize(
    "reply", [Reply(content='{"score": 4, "reason": ""}'), Reply(content='{"score": 9, "reason": "x"}')]
)
async def test_what_is_not_right_is_never_cached(tmp_path: Path, reply: Reply) -> None:
    with ScriptedServer(replies(reply)) as server:
        async with client(server, cache_dir=tmp_path) as llm:
            for _ in range(2):
                try:
                    await llm.ask(score_question())
                except Exception as error:
                    assert "can't be used" in str(error)
    assert len(server.requests["llm"]) == 4
    assert list(tmp_path.rglob("*.json")) == []


async def test_an_entry_that_no_longer_fits_is_asked_again(tmp_path: Path) -> None:
    with ScriptedServer(good) as server:
        async with client(server, cache_dir=tmp_path) as llm:
            await llm.ask(score_question())
            (entry,) = tmp_path.rglob("*.json")
            entry.write_text(json.dumps({"format": 1, "model": "m", "answer": {"score": 99}}))
            assert (await llm.ask(score_question())).value == 4.0
    assert len(server.requests["llm"]) == 2


async def test_a_repaired_answer_is_cached(tmp_path: Path) -> None:
    with ScriptedServer(replies(Reply(body=completion("?")), Reply(content=GOOD))) as server:
        async with client(server, cache_dir=tmp_path) as llm:
            await llm.ask(score_question())
            await llm.ask(score_question())
    assert len(server.requests["llm"]) == 2


async def test_the_openai_account_stands_in_its_headers() -> None:
    account = {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj-1"}
    with ScriptedServer(good) as server:
        settings = ProviderSettings("openai", "model-1", server.base_url, KEY, "MY_KEY", account_headers=account)
        llm = build_llm(settings, Limits(1, model="model-1"), timeout_seconds=5)
        await llm.ask(score_question())
        await llm.close()
    headers = {name.lower(): value for name, value in server.requests["llm"][0].headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "proj-1")


async def test_a_proxy_of_the_machine_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(good) as server:
        monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        async with client("http://llm.example/v1") as llm:
            assert (await llm.ask(score_question())).value == 4.0
    assert server.requests["llm"][0].headers["Host"] == "llm.example"


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    with ScriptedServer(good) as elsewhere:
        moved = Reply(status=307, headers={"Location": f"{elsewhere.base_url}/chat/completions?token=t-secret"})
        with ScriptedServer(replies(moved), models=replies(moved)) as server:
            async with client(server, "openai") as llm:
                with pytest.raises(PreflightFailed, match=f"redirects to {elsewhere.base_url}.*set base_url") as caught:
                    await llm.preflight()
                with pytest.raises(LLMUnavailable, match=r"HTTP 307: .* redirects to"):
                    await llm.ask(score_question())
    assert elsewhere.requests["llm"] == elsewhere.requests["models"] == []
    assert "t-secret" not in str(caught.value)


@pytest.mark.parametrize("headers", [{}, {"Location": ""}, {"Location": "http://[::1/"}])
async def test_a_redirect_without_an_address_is_not_said_to_lead_to_itself(headers: dict[str, str]) -> None:
    moved = Reply(status=307, body=b"", headers=headers)
    with ScriptedServer(good, models=replies(moved)) as server:
        async with client(server, "openai") as llm:
            with pytest.raises(PreflightFailed, match=f"{server.base_url} redirects to no address; set base_url"):
                await llm.preflight()
