"""How the events of an A2A agent become one answer."""

from __future__ import annotations

from typing import Any

import pytest

from arksim_ci.agents.a2a_answer import TOOL_CALLS_KEY, Reply
from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.schema.simulation import ToolCall

COMPLETED = "TASK_STATE_COMPLETED"
ASKS = "TASK_STATE_INPUT_REQUIRED"


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"text": each} for each in texts]


def status(state: str, said: str = "", message_id: str = "m1") -> dict[str, Any]:
    return {"state": state, "message": {"messageId": message_id, "parts": text(said)}} if said else {"state": state}


def artifact(*texts: str, artifact_id: str = "a1", calls: list[Any] | None = None) -> dict[str, Any]:
    metadata = {"metadata": {TOOL_CALLS_KEY: calls}} if calls else {}
    return {"artifactId": artifact_id, "parts": text(*texts), **metadata}


def task(state: dict[str, Any], *artifacts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"task": {"id": "t1", "contextId": "c1", "status": state, "artifacts": list(artifacts), **more}}


def update(given: dict[str, Any], *, append: bool = False) -> dict[str, Any]:
    return {"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": given, "append": append}}


def reply(*events: dict[str, Any], after: Reply | None = None) -> Reply:
    made = after.next() if after else Reply()
    for event in events:
        made.add(event)
    return made


def said(*events: dict[str, Any]) -> str:
    made = reply(*events)
    assert made.is_final
    return made.answer().content


def test_a_plain_message_is_the_answer() -> None:
    made = reply({"message": {"messageId": "m", "contextId": "theirs", "parts": text("Hello.", "How are you?")}})
    assert made.is_final
    assert made.answer().content == "Hello.\nHow are you?"
    assert made.context_id == "theirs"


def test_text_and_data_are_joined_and_files_are_named() -> None:
    parts = [
        {"text": "Your order:"},
        {"data": {"id": 7.0, "price": 1.5, "items": [1.0]}},
        {"url": "https://shop.example/invoice.pdf", "mediaType": "application/pdf"},
        {"raw": "YWJj", "filename": "label.png"},
        {"metadata": {"nothing": "here"}},
    ]
    answer = said({"message": {"parts": parts}})
    assert answer == (
        'Your order:\n{"id": 7, "price": 1.5, "items": [1]}\n'
        "[file https://shop.example/invoice.pdf, application/pdf]\n[file label.png]"
    )


def test_a_task_answers_with_its_artifacts() -> None:
    done = status(COMPLETED, "Done.")
    assert said(task(done, artifact("One."), artifact("Two.", artifact_id="a2"))) == "One.\nTwo."


def test_without_artifacts_with_its_last_message() -> None:
    assert said(task(status(COMPLETED, "Shipped."))) == "Shipped."


def test_without_either_with_what_it_said_since_the_users_message() -> None:
    history = [
        {"role": "ROLE_AGENT", "parts": text("old")},
        {"role": "ROLE_USER", "parts": text("new question")},
        {"role": "ROLE_AGENT", "parts": text("It is shipped.")},
    ]
    assert said(task(status(COMPLETED), history=history)) == "It is shipped."
    assert said(task(status(COMPLETED), history=history[:2])) == ""
    working = {"statusUpdate": {"taskId": "t1", "status": status("TASK_STATE_WORKING", "It is shipped.")}}
    assert said(working, {"statusUpdate": {"taskId": "t1", "status": status(COMPLETED)}}) == "It is shipped."


def test_chunks_of_a_streamed_artifact_are_one_text() -> None:
    events = [
        task(status("TASK_STATE_SUBMITTED")),
        update(artifact("Your or")),
        update(artifact("der is "), append=True),
        update(artifact("shipped."), append=True),
    ]
    assert not reply(*events).is_final
    done = {"statusUpdate": {"taskId": "t1", "status": status(COMPLETED)}}
    assert said(*events, done) == "Your order is shipped."
    snapshot = task(status(COMPLETED), artifact("Your or", "der is ", "shipped."))
    assert said(*events, snapshot) == "Your order is shipped."


def test_an_artifact_that_comes_again_replaces_the_old_one() -> None:
    assert (
        said(update(artifact("Draft")), update(artifact("Final")), task(status(COMPLETED), artifact("Final")))
        == "Final"
    )


def test_tool_calls_are_read_once_however_often_they_are_shown() -> None:
    call = {"id": "1", "name": "get_order", "arguments": {"id": 7.0}, "result": {"status": "shipped"}}
    more = {"name": "notify", "error": "no network"}
    answer = reply(
        update(artifact("It is ", calls=[call])),
        update(artifact("shipped.", calls=[call, more]), append=True),
        task(status(COMPLETED), artifact("It is ", "shipped.", calls=[call, more])),
    ).answer()
    assert answer.tool_calls == (
        ToolCall(id="1", name="get_order", arguments={"id": 7}, result='{"status": "shipped"}', source="a2a_protocol"),
        ToolCall(name="notify", error="no network", source="a2a_protocol"),
    )


@pytest.mark.parametrize("calls", ["text", [1], [{"arguments": {}}], [{"name": 7}], {"name": "x"}])
def test_what_is_no_list_of_calls_is_left_out(calls: Any) -> None:
    assert reply(task(status(COMPLETED), artifact("Hi", calls=calls))).answer().tool_calls == ()


def test_an_agent_that_asks_has_answered_and_its_task_stays_open() -> None:
    asks = reply(task(status(ASKS, "Which order?"), artifact("I found two.")))
    assert asks.is_final
    assert asks.answer().content == "I found two.\nWhich order?"
    assert asks.open_task == "t1"
    assert reply(task(status(COMPLETED))).open_task == ""


def test_what_an_open_task_still_shows_is_not_new() -> None:
    call = {"id": "1", "name": "find_orders", "arguments": {}}
    other = {"id": "2", "name": "get_order", "arguments": {}}
    asks = reply(task(status(ASKS, "Which order?"), artifact("I found two.", calls=[call])))
    still = task(status(ASKS, "Which order?"), artifact("I found two.", calls=[call]))
    assert not reply(still, after=asks).is_final
    grown = artifact("I found two.", "It is shipped.", calls=[call, other])
    done = reply(still, task(status(COMPLETED, "Done.", "m2"), grown), after=asks)
    assert done.is_final
    assert done.answer().content == "It is shipped."
    assert [each.name for each in done.answer().tool_calls] == ["get_order"]
    nothing_new = reply(task(status(COMPLETED), artifact("I found two.", calls=[call])), after=asks)
    assert nothing_new.answer().content == "I found two."


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("FAILED", "the agent's task failed: The database is down."),
        ("CANCELED", "the agent's task was canceled: The database is down."),
        ("AUTH_REQUIRED", "wants to be authenticated (set agent_config.api_config.headers): The database is down."),
    ],
)
def test_a_task_that_ends_badly_is_no_answer(state: str, cause: str) -> None:
    made = reply(task(status(f"TASK_STATE_{state}", "The database is down.")))
    assert made.is_final
    with pytest.raises(AgentDidNotAnswer) as caught:
        made.answer()
    assert cause in str(caught.value)


def test_a_rejection_with_a_text_is_an_answer_and_one_without_is_not() -> None:
    assert said(task(status("TASK_STATE_REJECTED", "I only speak about orders."))) == "I only speak about orders."
    with pytest.raises(AgentDidNotAnswer, match="rejected the task and says no reason"):
        reply(task(status("TASK_STATE_REJECTED"))).answer()


@pytest.mark.parametrize("state", ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", ""])
def test_a_task_under_way_is_not_final(state: str) -> None:
    assert not reply(task({"state": state})).is_final
