"""What comes of an answer: rows 12 and 20 of the situations in which a gate goes green by mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arksim_ci.llm.client import AnswerInvalid, LLMUnavailable
from arksim_ci.llm.request import OUTPUT_LIMIT
from tests.integration.llm.clients import GOOD, client, finished, good, refusal, replies
from tests.support.scripted_server import Reply, ScriptedServer, completion
from tests.unit.llm.asking import score_question, text_question


async def test_an_ordinary_answer_costs_one_call() -> None:
    with ScriptedServer(good) as server:
        async with client(server) as llm:
            answer = await llm.ask(score_question())
            assert (answer.value, answer.model, answer.problems) == (4.0, "scripted-1", ())
            assert llm.model == "scripted-1"
            assert llm.notes() == []
            judge = llm.usage().judge
            assert (judge.calls, judge.retries, judge.input_tokens, judge.cached_tokens, judge.output_tokens) == (
                1,
                0,
                100,
                40,
                10,
            )
        (request,) = server.requests["llm"]
        assert request.question == "judge_turn"
        assert request.body["model"] == "model-1"
        assert "temperature" not in request.body


async def test_a_text_is_asked_for_without_a_schema() -> None:
    with ScriptedServer(replies(Reply(content="<think>hm</think>Hello!"))) as server:
        async with client(server) as llm:
            answer = await llm.ask(text_question())
    assert answer.value.strip() == "Hello!"
    assert not {"response_format", "tools"} & set(server.requests["llm"][0].body)


@pytest.mark.parametrize(
    "content",
    [
        f"```json\n{GOOD}\n```",
        f"Here you are: {GOOD} I hope this helps.",
        f"<think>{{}} or {{1}}?</think>{GOOD}",
    ],
)
async def test_row_20_a_whole_answer_is_read_without_a_repair(content: str) -> None:
    with ScriptedServer(replies(Reply(content=content))) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0
    assert len(server.requests["llm"]) == 1


UNUSABLE = [
    pytest.param(Reply(content="I would say four."), "not JSON", id="prose"),
    pytest.param(finished('{"score": 4, "rea', "length"), "cut off", id="truncated"),
    pytest.param(Reply(content=""), "empty", id="empty"),
    pytest.param(Reply(body=completion(None)), "empty", id="null content"),
    pytest.param(finished(None, "stop", refusal="I can't judge this."), "refused to answer: I can't", id="refusal"),
    pytest.param(finished("Hal", "content_filter"), "content filter", id="content filter"),
    pytest.param(Reply(body={**completion(None), "choices": []}), "empty", id="no choice"),
    pytest.param(Reply(content='{"score": 4, "score": 5, "reason": "x"}'), "twice", id="doubled key"),
    pytest.param(Reply(content='{"score": NaN, "reason": "x"}'), "NaN", id="NaN"),
    pytest.param(Reply(content="[4]"), "1 to 5", id="another shape"),
    pytest.param(Reply(content='{"score": 7, "reason": "x"}'), "from 1 to 5, not 7", id="row 12: out of range"),
    pytest.param(Reply(content='{"score": "4", "reason": "x"}'), "not '4'", id="row 12: a text"),
    pytest.param(Reply(content='{"score": 307914268595700, "reason": "x"}'), "307914268595700", id="row 12: huge"),
]


@pytest.mark.parametrize(("reply", "cause"), UNUSABLE)
async def test_rows_12_and_20_one_repair_mends_an_answer(reply: Reply, cause: str) -> None:
    with ScriptedServer(replies(reply, Reply(content=GOOD))) as server:
        async with client(server) as llm:
            answer = await llm.ask(score_question())
            assert (answer.value, answer.problems) == (4.0, ())
            assert llm.usage().judge.calls == 2
    first, repair = server.requests["llm"]
    assert repair.body["messages"][: len(first.body["messages"])] == first.body["messages"]
    assert [message["role"] for message in repair.body["messages"][-2:]] == ["assistant", "user"]
    assert cause in repair.body["messages"][-1]["content"]


@pytest.mark.parametrize(("reply", "cause"), UNUSABLE)
async def test_rows_12_and_20_after_one_repair_it_is_not_measured(reply: Reply, cause: str) -> None:
    with ScriptedServer(replies(reply)) as server:
        async with client(server) as llm:
            with pytest.raises(AnswerInvalid, match="the answer to judge_turn can't be used") as caught:
                await llm.ask(score_question())
    assert cause in str(caught.value)
    assert len(server.requests["llm"]) == 2


async def test_what_is_right_all_the_same_is_kept_with_its_problems() -> None:
    with ScriptedServer(replies(Reply(content='{"score": 4, "reason": ""}'))) as server:
        async with client(server) as llm:
            answer = await llm.ask(score_question())
    assert (answer.value, answer.problems) == (4.0, ("reason must be a text",))
    assert len(server.requests["llm"]) == 2


@pytest.mark.parametrize("repair", [Reply(content="?"), refusal("no", 400), refusal("no", 500)])
async def test_a_failed_repair_does_not_lose_what_was_right(repair: Reply) -> None:
    with ScriptedServer(replies(Reply(content='{"score": 4, "reason": ""}'), repair)) as server:
        async with client(server) as llm:
            answer = await llm.ask(score_question())
    assert (answer.value, answer.problems) == (4.0, ("reason must be a text",))


async def test_the_repair_of_a_truncated_answer_may_be_longer() -> None:
    with ScriptedServer(replies(finished('{"score', "length"), Reply(content=GOOD))) as server:
        async with client(server) as llm:
            await llm.ask(score_question())
    assert [request.body["max_tokens"] for request in server.requests["llm"]] == [OUTPUT_LIMIT, 2 * OUTPUT_LIMIT]


async def test_an_answer_that_is_whole_though_the_limit_was_reached_counts() -> None:
    with ScriptedServer(replies(finished(GOOD, "length"))) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0


async def test_a_truncated_text_is_not_a_text() -> None:
    with ScriptedServer(replies(finished("And then I", "length"))) as server:
        async with client(server) as llm:
            with pytest.raises(AnswerInvalid, match="cut off at the output limit"):
                await llm.ask(text_question())


async def test_a_filter_that_refuses_the_question_is_named() -> None:
    with ScriptedServer(replies(refusal("The prompt triggered the policy", code="content_filter"))) as server:
        async with client(server) as llm:
            with pytest.raises(AnswerInvalid, match="content filter refused the question"):
                await llm.ask(score_question())
    assert len(server.requests["llm"]) == 1


async def test_a_huge_answer_is_cut_off() -> None:
    huge = json.dumps(completion("x" * 50_000_000)).encode()
    with ScriptedServer(replies(Reply(body=huge), Reply(content=GOOD))) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0
            assert "larger than 8 MB" in server.requests["llm"][1].text


async def test_a_huge_error_is_cut_off() -> None:
    with ScriptedServer(replies(Reply(status=400, body=b"y" * 50_000_000))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match="HTTP 400: yyy") as caught:
                await llm.ask(score_question())
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b'{"choices": [', b"[]", b'"text"', b"", b"\xff"])
async def test_something_that_is_no_completion_is_an_outage(body: Any) -> None:
    with ScriptedServer(replies(Reply(body=body))) as server:
        async with client(server) as llm:
            with pytest.raises(LLMUnavailable, match="answers with something that is not"):
                await llm.ask(score_question())


async def test_an_error_inside_http_200_is_an_error() -> None:
    upstream = Reply(body={"error": {"message": "upstream overloaded", "code": 503}})
    with ScriptedServer(replies(upstream, Reply(content=GOOD))) as server:
        async with client(server) as llm:
            assert (await llm.ask(score_question())).value == 4.0
            assert llm.usage().judge.retries == 1


async def test_a_model_that_changes_during_the_run_is_noted() -> None:
    with ScriptedServer(replies(Reply(body=completion(GOOD, "a")), Reply(body=completion(GOOD, "b")))) as server:
        async with client(server) as llm:
            await llm.ask(score_question())
            await llm.ask(score_question())
            assert llm.notes() == ["The server answered as more than one model: a, b."]
            assert llm.model == "a"


@pytest.mark.parametrize("levels", [51, 600, 950])
async def test_an_answer_that_nests_too_deeply_costs_itself_and_not_the_run(levels: int) -> None:
    deep = '{"score": 4, "reason": ' + "[" * levels + "]" * levels + "}"
    with ScriptedServer(replies(Reply(content=deep))) as server:
        async with client(server) as llm:
            with pytest.raises(AnswerInvalid, match=r"nests too deeply|not whole JSON"):
                await llm.ask(score_question())
