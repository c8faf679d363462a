"""Answers on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arksim_ci.llm.cache import AnswerCache
from arksim_ci.llm.client import ChatMessage
from tests.unit.llm.asking import SCHEMA, score_question, text_question

IDENTITY = ("openai", "m", "https://api.example/v1")
VALUE = {"score": 4, "reason": "fine ü 😀"}


def test_an_answer_is_found_again_by_another_process(tmp_path: Path) -> None:
    AnswerCache(tmp_path / "new" / "folder", IDENTITY).put(score_question(), VALUE, "m-1")
    found = AnswerCache(tmp_path / "new" / "folder", IDENTITY).get(score_question())
    assert found is not None
    assert (found.value, found.model) == (VALUE, "m-1")


def test_nothing_else_is_taken_for_it(tmp_path: Path) -> None:
    AnswerCache(tmp_path, IDENTITY).put(score_question(), VALUE, "m-1")
    question = score_question()
    others = [
        replace(question, case="2"),
        replace(question, name="judge_goal"),
        replace(question, schema={**SCHEMA, "title": "x"}),
        replace(question, messages=(*question.messages, ChatMessage("user", ""))),
        replace(question, messages=tuple(reversed(question.messages))),
    ]
    cache = AnswerCache(tmp_path, IDENTITY)
    assert all(cache.get(other) is None for other in others)
    for place in range(3):
        identity = tuple("other" if index == place else part for index, part in enumerate(IDENTITY))
        assert AnswerCache(tmp_path, identity).get(question) is None


def test_only_the_judge_is_cached(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, IDENTITY)
    cache.put(text_question(), "Hello", "m-1")
    assert cache.get(text_question()) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"format": 0}', b'{"format": 1}', b"\xff", b'{"format":1,"model":3,"answer":4}'],
)
def test_a_spoiled_entry_is_ignored_and_written_anew(tmp_path: Path, content: bytes) -> None:
    cache = AnswerCache(tmp_path, IDENTITY)
    cache.put(score_question(), VALUE, "m-1")
    (entry,) = tmp_path.rglob("*.json")
    entry.write_bytes(content)
    assert cache.get(score_question()) is None
    cache.put(score_question(), VALUE, "m-1")
    assert cache.get(score_question()) is not None


def test_no_half_written_file_is_left(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, IDENTITY)
    with pytest.raises(TypeError):
        cache.put(score_question(), object(), "m-1")
    assert list(tmp_path.rglob("*.*")) == []


def test_a_folder_that_cannot_be_written_does_not_stop_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    cache = AnswerCache(tmp_path / "file", IDENTITY)
    cache.put(score_question(), VALUE, "m-1")
    cache.put(score_question(), VALUE, "m-1")
    assert cache.get(score_question()) is None
    assert [record.message.startswith("answers are not cached") for record in caplog.records] == [True]
