"""The event table: one fixture for every row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.github.context import GitHubContext
from arksim_ci.github.event import read_event

FIXTURES = sorted((Path(__file__).parent / "events").glob("*.json"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_row_of_the_table(path: Path) -> None:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    context = GitHubContext(workspace=Path("/github/workspace"), **fixture["context"])
    event = read_event(fixture["event"], fixture["payload"], context)
    assert {name: getattr(event, name) for name in fixture["expected"]} == fixture["expected"]


@pytest.mark.parametrize("payload", [{}, {"pull_request": None}, {"pull_request": {"head": [], "number": "12"}}])
def test_a_payload_of_another_shape_is_no_pull_request_and_no_crash(payload: dict[str, object]) -> None:
    context = GitHubContext(workspace=Path("/github/workspace"), repository="org/shop", sha="d" * 40)
    event = read_event("pull_request", payload, context)
    assert (event.lookup, event.number, event.head_sha) == ("none", None, "d" * 40)


def test_the_name_of_a_repository_is_compared_without_regard_to_case() -> None:
    context = GitHubContext(workspace=Path("/github/workspace"), repository="Org/Shop")
    pull = {"number": 3, "head": {"sha": "a" * 40, "repo": {"full_name": "org/shop"}}}
    assert read_event("pull_request", {"pull_request": pull}, context).is_fork is False


def test_a_reviewer_s_comment_event_belongs_to_its_pull_request() -> None:
    context = GitHubContext(workspace=Path("/github/workspace"), repository="org/shop")
    pull = {"number": 3, "head": {"sha": "a" * 40, "repo": {"full_name": "org/shop"}}}
    assert read_event("pull_request_review_comment", {"pull_request": pull}, context).number == 3
