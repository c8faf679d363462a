"""Parameters and ways to ask for JSON that a server refuses: row 21 of the situations."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest

from arksim_ci.llm.client import LLMUnavailable
from arksim_ci.llm.structured import FAILURES_UNPROVEN
from tests.integration.llm.clients import GOOD, client, good, refusal, replies
from tests.support.scripted_server import Reply, Request, ScriptedServer, completion
from tests.unit.llm.asking import score_question, text_question


def way(request: Request) -> str:
    """How a request asks for JSON."""
    response_format = request.body.get("response_format", {})
    if response_format.get("type") == "json_object":
        return "json_object with schema" if "schema" in response_format else "json_object"
    return "tool" if "tools" in request.body else str(response_format.get("type", "text"))


def called_tool(content: str = GOOD) -> Reply:
    call = {"id": "1", "type": "function", "function": {"name": "judge_turn", "arguments": content}}
    return Reply(body=completion(None, tool_calls=[call]))


async def test_row_21_max_tokens_is_renamed_once_for_the_run() -> None:
    def script(request: Request) -> Reply:
        if "max_tokens" in request.body:
            return refusal(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        return good(request)

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            for _ in range(3):
                await llm.ask(score_question())
            assert llm.notes() == ["The server refused the parameter max_tokens; it was sent as max_completion_tokens."]
            assert llm.usage().judge.retries == 1
    assert ["max_tokens" in request.body for request in server.requests["llm"]] == [True, False, False, False]
    assert "max_completion_tokens" in server.requests["llm"][-1].body


async def test_row_21_a_limit_above_what_the_model_can_is_left_out() -> None:
    def script(request: Request) -> Reply:
        if "max_tokens" in request.body:
            return refusal("max_tokens is too large: 16384. This model supports at most 4096.", param="max_tokens")
        return good(request)

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            await llm.ask(score_question())
            assert llm.notes() == ["The server refused the parameter max_tokens; it was left out."]


async def test_row_21_any_other_parameter_is_left_out_whatever_the_status() -> None:
    def script(request: Request) -> Reply:
        if "prompt_cache_key" in request.body:
            return refusal("prompt_cache_key: Extra inputs are not permitted", status=500)
        return good(request)

    with ScriptedServer(script) as server:
        async with client(server, "openai") as llm:
            await asyncio.gather(*(llm.ask(score_question()) for _ in range(10)))
            assert llm.notes() == ["The server refused the parameter prompt_cache_key; it was left out."]


async def test_row_21_fifty_at_once_find_the_way_to_ask_for_json_once() -> None:
    def script(request: Request) -> Reply:
        if way(request) == "json_schema":
            return refusal("'response_format' of type 'json_schema' is not supported with this model.")
        if way(request) == "tool":
            return refusal("This model does not support tool calling.")
        return good(request)

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            answers = await asyncio.gather(*(llm.ask(score_question(case=str(n))) for n in range(50)))
            assert {answer.value for answer in answers} == {4.0}
            assert llm.notes() == [
                "The server does not honour response_format json_schema, a forced tool call; used instead: "
                "response_format json_object with a schema."
            ]
    asked = Counter(way(request) for request in server.requests["llm"])
    assert asked == {"json_schema": 1, "tool": 1, "json_object with schema": 50}


async def test_row_21_llama_cpp_refuses_with_a_500_that_quotes_its_validation() -> None:
    def script(request: Request) -> Reply:
        if way(request) == "json_schema":
            text = (
                "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or "
                "'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}]"
            )
            return Reply(
                status=500,
                body={"error": {"message": text, "type": "internal_server_error", "param": None, "code": None}},
            )
        if way(request) == "tool":
            return Reply(status=500, body={"error": {"message": "tool_choice is not available", "param": None}})
        return good(request)

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0
    assert [way(request) for request in server.requests["llm"]] == ["json_schema", "tool", "json_object with schema"]
    assert server.requests["llm"][-1].body["response_format"]["schema"]["required"] == ["score", "reason"]


async def test_everything_can_be_refused_down_to_the_plain_prompt() -> None:
    def script(request: Request) -> Reply:
        for name in ("response_format", "tools", "max_tokens", "max_completion_tokens"):
            if name in request.body:
                return refusal("Unrecognized request argument supplied", param=name)
        return Reply(content=f"```json\n{GOOD}\n```")

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0
            before = len(server.requests["llm"])
            assert (await llm.ask(score_question())).value == 4.0
            assert len(server.requests["llm"]) == before + 1
    assert set(server.requests["llm"][-1].body) == {"model", "messages"}
    assert "JSON Schema" in server.requests["llm"][-1].text


async def test_a_server_that_refuses_what_was_not_sent_is_not_asked_for_ever() -> None:
    with ScriptedServer(replies(refusal("'temperature' is not supported", param="temperature"))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match="temperature"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) == 1


async def test_a_server_that_blames_a_needed_field_is_not_asked_for_ever() -> None:
    with ScriptedServer(replies(refusal("response_format and tools and max_tokens are all bad"))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match="all bad"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) < 10


async def test_a_forced_tool_call_is_the_answer() -> None:
    with ScriptedServer(lambda request: called_tool()) as server:
        async with client(server, "anthropic") as llm:
            assert (await llm.ask(score_question())).value == 4.0
            assert llm.notes() == []
    body = server.requests["llm"][0].body
    assert "response_format" not in body
    assert body["tool_choice"]["function"]["name"] == "judge_turn"


async def test_a_server_that_ignores_the_schema_silently_is_found_out() -> None:
    def script(request: Request) -> Reply:
        if "JSON Schema" in request.text:  # only what the prompt says is heard
            return Reply(content=GOOD)
        return Reply(content="I'd give it a four.")

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            answers = await asyncio.gather(*(llm.ask(score_question(case=str(n))) for n in range(50)))
            assert {answer.value for answer in answers} == {4.0}
            before = len(server.requests["llm"])
            await llm.ask(score_question())
            assert len(server.requests["llm"]) == before + 1
    asked = Counter(way(request) for request in server.requests["llm"])
    assert FAILURES_UNPROVEN <= asked["json_schema"] <= 2 * FAILURES_UNPROVEN  # with their repairs
    assert FAILURES_UNPROVEN <= asked["tool"] <= 2 * FAILURES_UNPROVEN + 1


async def test_a_model_that_fails_once_does_not_change_the_way() -> None:
    def script(request: Request) -> Reply:
        return Reply(content="Four." if request.number == 1 else GOOD)

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            for _ in range(3):
                assert (await llm.ask(score_question())).value == 4.0
            assert llm.notes() == []
    assert {way(request) for request in server.requests["llm"]} == {"json_schema"}


async def test_values_out_of_range_say_nothing_of_the_way() -> None:
    with ScriptedServer(replies(Reply(content=json.dumps({"score": 307914268595700, "reason": "x"})))) as server:
        async with client(server) as llm:
            results = await asyncio.gather(*(llm.ask(score_question()) for _ in range(8)), return_exceptions=True)
            assert all(isinstance(result, Exception) for result in results)
            assert llm.notes() == []


async def test_questions_for_text_do_not_wait_for_the_way_to_ask_for_json() -> None:
    def script(request: Request) -> Reply:
        return Reply(content=GOOD, delay=0.5) if request.question else Reply(content="Hello")

    with ScriptedServer(script) as server:
        async with client(server) as llm:
            judging = asyncio.create_task(llm.ask(score_question()))
            await llm.ask(text_question())
            assert not judging.done()
            await judging
