"""From the event to the pull request: by its number, by the commit, or by the branch with the head commit deciding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arksim_ci.github.client import GitHubClient
from arksim_ci.github.event import Event, is_fork


async def find_pull_request(client: GitHubClient, repository: str, event: Event) -> int | None:
    """The open pull request that the event is about; None where there is none.

    Raises:
        GitHubRefused: GitHub could not be asked.
    """
    if event.lookup == "known":
        return event.number
    if event.lookup == "by_commit":
        return await _first(client, f"/repos/{repository}/commits/{event.head_sha}/pulls", {}, event.head_sha)
    if event.lookup == "by_head":
        pulls = f"/repos/{repository}/pulls"
        found = None
        if event.head_owner and event.head_branch:
            head = {"state": "open", "head": f"{event.head_owner}:{event.head_branch}"}
            found = await _first(client, pulls, head, event.head_sha)
        # A fork that was renamed or deleted since is not found by its owner's name.
        return found or await _first(client, pulls, {"state": "open"}, event.head_sha)
    return None


async def with_fork_known(client: GitHubClient, repository: str, event: Event) -> Event:
    """The event with `is_fork` and `head_sha` looked up, where only the API can tell.

    Raises:
        GitHubRefused: GitHub could not be asked.
    """
    if event.is_fork is not None or event.number is None:
        return event
    pull = await client.get(f"/repos/{repository}/pulls/{event.number}")
    head: Any = pull.get("head") if isinstance(pull, dict) else None
    if not isinstance(head, dict):
        return event
    return replace(event, is_fork=is_fork(head.get("repo"), repository), head_sha=str(head.get("sha") or ""))


async def _first(client: GitHubClient, path: str, parameters: Mapping[str, str | int], sha: str) -> int | None:
    async for item in client.pages(path, parameters):
        if not isinstance(item, dict) or item.get("state") != "open" or not isinstance(item.get("number"), int):
            continue
        head = item.get("head")
        if isinstance(head, dict) and head.get("sha") == sha:
            return int(item["number"])
    return None
