"""The one comment per key on a pull request: found again by a hidden marker and its author, never overwritten by an older run."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote

from arksim_ci.github.client import GitHubClient, GitHubRefused, PermissionMissing

logger = logging.getLogger(__name__)

PERMISSIONS = "permissions:\n  contents: read\n  pull-requests: write"
"""What a job that comments needs."""

Mode = Literal["always", "on-failure", "off"]
Done = Literal["created", "updated", "kept", "none"]

_MARKER = re.compile(r"<!-- arksim-action key=([A-Za-z0-9%._~]+) run=(\d{1,18}) attempt=(\d{1,9}) -->")


class CannotComment(Exception):
    """There is no comment. The text says why, and what to do. `forbidden`: the token may not write."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        self.forbidden = forbidden
        super().__init__(message)


@dataclass(frozen=True)
class Marker:
    """Which comment this is, and the run that wrote it. As a text it is a hidden HTML comment."""

    key: str
    run: int
    attempt: int

    def __str__(self) -> str:
        key = quote(self.key, safe="").replace("-", "%2D")
        return f"<!-- arksim-action key={key} run={self.run} attempt={self.attempt} -->"

    def is_newer_than(self, other: Marker) -> bool:
        """Whether the run that wrote this one started after the other's."""
        return (self.run, self.attempt) > (other.run, other.attempt)


def find_marker(body: str) -> Marker | None:
    """The marker in a comment's text: the last one, which is where we put it."""
    found = _MARKER.findall(body)
    return Marker(unquote(found[-1][0]), int(found[-1][1]), int(found[-1][2])) if found else None


@dataclass(frozen=True)
class Comment:
    """A comment of ours."""

    id: int
    url: str
    marker: Marker


@dataclass(frozen=True)
class Outcome:
    """What was done, and where the comment is; no URL where there is none."""

    done: Done
    url: str = ""


async def publish_comment(
    client: GitHubClient, repository: str, number: int, marker: Marker, body: str, mode: Mode, *, failed: bool
) -> Outcome:
    """Create our comment, update it, or leave it.

    Args:
        client: talks to GitHub.
        repository: `owner/name`.
        number: the pull request.
        marker: of this run; `body` holds it.
        body: the comment's text.
        mode: `on-failure` writes where the gate failed, and over an older comment; `off` never writes.
        failed: whether the run's exit code is not 0.

    Raises:
        CannotComment: there is no comment now.
    """
    if mode == "off":
        return Outcome("none")
    thread = _Thread(client, repository, number, marker)
    try:
        return await thread.publish(body, create=failed or mode == "always")
    except PermissionMissing as error:
        if "locked" in str(error).casefold():
            raise CannotComment(f"the pull request's conversation is locked ({error})") from None
        if error.status == 401:
            raise CannotComment(f"GitHub does not accept the input github-token ({error})") from None
        raise CannotComment(f"the token may not comment ({error})", forbidden=True) from None
    except GitHubRefused as error:
        raise CannotComment(str(error)) from None


class _Thread:
    """The comments of a pull request, as far as they are ours."""

    def __init__(self, client: GitHubClient, repository: str, number: int, marker: Marker) -> None:
        self._client = client
        self._comments = f"/repos/{repository}/issues/comments"
        self._thread = f"/repos/{repository}/issues/{number}/comments"
        self._marker = marker

    async def publish(self, body: str, *, create: bool) -> Outcome:
        login = await self._login()
        ours = await self._ours(login)
        if ours:
            return await self._write_over(ours, body, "updated")
        if not create:
            return Outcome("none")
        created = _comment(await self._client.post(self._thread, {"body": body}))
        if created is None:
            raise GitHubRefused("the comment was sent, but GitHub's answer does not describe it")
        try:
            ours = await self._ours(login)  # another job, or an answer that got lost, may have created one, too
        except GitHubRefused as error:
            logger.info("Whether there are two comments could not be looked up: %s", error)
            return Outcome("created", created.url)
        if not ours or ours[0].id >= created.id:
            return Outcome("created", created.url)
        await self._delete(created)
        return await self._write_over([each for each in ours if each.id != created.id], body, "updated")

    async def _write_over(self, ours: list[Comment], body: str, done: Done) -> Outcome:
        """Leave one comment: the oldest, with the text of the newest run."""
        oldest = ours[0]
        newest = max(ours, key=lambda each: (each.marker.run, each.marker.attempt))
        if newest.marker.is_newer_than(self._marker):
            return Outcome("kept", newest.url)
        url = oldest.url
        try:
            changed = _comment(await self._client.patch(f"{self._comments}/{oldest.id}", {"body": body}))
            url = changed.url if changed else url
        except GitHubRefused as error:
            if error.status != 404:
                raise
            created = _comment(await self._client.post(self._thread, {"body": body}))  # somebody deleted it meanwhile
            return Outcome("created", created.url if created else "")
        for younger in ours[1:]:
            await self._delete(younger)
        return Outcome(done, url)

    async def _delete(self, comment: Comment) -> None:
        """Take a second comment away; where that fails, the next run tries again."""
        try:
            await self._client.delete(f"{self._comments}/{comment.id}")
        except GitHubRefused as error:
            logger.info("The second comment %s could not be deleted: %s", comment.url, error)

    async def _ours(self, login: str) -> list[Comment]:
        """Our comments with this key, the oldest first."""
        found = []
        async for item in self._client.pages(self._thread):
            comment = _comment(item)
            if comment and comment.marker.key == self._marker.key and _is_by(item, login):
                found.append(comment)
        return sorted(found, key=lambda each: each.id)

    async def _login(self) -> str:
        """Who we are. `GET /user` is forbidden to an action's own token; this is not."""
        viewer = (await self._client.graphql("query { viewer { login } }")).get("viewer")
        login = viewer.get("login") if isinstance(viewer, dict) else None
        if not isinstance(login, str) or not login:
            raise GitHubRefused("GitHub does not say whose token this is, so our own comment can't be told from others")
        return login


def _is_by(item: Mapping[str, Any], login: str) -> bool:
    """Whether a comment is by this login. Some APIs leave the `[bot]` of an app's login out, so the type decides."""
    user = item.get("user")
    if not isinstance(user, dict):
        return False
    name = str(user.get("login", ""))
    same = name.removesuffix("[bot]").casefold() == login.removesuffix("[bot]").casefold()
    is_app = login.endswith("[bot]") or name.endswith("[bot]")
    return same and (user.get("type") == "Bot") == is_app


def _comment(item: object) -> Comment | None:
    if not isinstance(item, dict) or not isinstance(item.get("id"), int):
        return None
    marker = find_marker(str(item.get("body") or ""))
    return Comment(item["id"], str(item.get("html_url") or ""), marker) if marker else None
