"""What started the workflow: which pull request it is about, and whom its code belongs to. One pure function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from arksim_ci.github.context import GitHubContext

Lookup = Literal["known", "by_commit", "by_head", "none"]

_PULL_REQUEST_EVENTS = {
    "pull_request",
    "pull_request_target",
    "pull_request_review",
    "pull_request_review_comment",
}
_WITH_OUR_SECRETS = {"pull_request_target", "workflow_run", "issue_comment"}
"""Events of a fork's pull request whose run has this repository's secrets and a token that may write."""
_DEPENDABOT = "dependabot[bot]"
_QUEUE = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-(\d{1,12})-[0-9a-f]+")


@dataclass(frozen=True)
class Event:
    """What started the workflow.

    `lookup` says how the pull request is found: its `number` is known, by the commit `head_sha`, by the branch `head_branch` of
    `head_owner` (with `head_sha` deciding), or there is none. `is_fork` is None where only the API can tell.
    """

    name: str
    lookup: Lookup = "none"
    number: int | None = None
    head_sha: str = ""
    head_owner: str = ""
    head_branch: str = ""
    is_fork: bool | None = False
    is_dependabot: bool = False

    @property
    def is_withheld(self) -> bool:
        """Whether GitHub gives the run a token that only reads, and none of the repository's secrets, as a rule."""
        return self.is_dependabot or (self.is_fork is True and self.name not in _WITH_OUR_SECRETS)

    @property
    def code_is_untrusted(self) -> bool:
        """Whether a stranger's code could be in the workspace while the repository's secrets are at hand."""
        return self.name in _WITH_OUR_SECRETS and self.is_fork is not False


def read_event(name: str, payload: Mapping[str, Any], context: GitHubContext) -> Event:
    """Read the event.

    Args:
        name: `GITHUB_EVENT_NAME`.
        payload: the event's JSON.
        context: the repository, commit, ref and actor of the run.
    """
    dependabot = context.actor == _DEPENDABOT
    if name in _PULL_REQUEST_EVENTS:
        pull = _mapping(payload, "pull_request")
        return _pull_request(name, pull, context, dependabot)
    if name == "push" and context.ref.startswith("refs/heads/"):
        return Event(name, "by_commit", head_sha=_text(payload.get("after")) or context.sha, is_dependabot=dependabot)
    if name == "workflow_run":
        return _workflow_run(name, _mapping(payload, "workflow_run"), context)
    if name == "merge_group":
        group = _mapping(payload, "merge_group")
        found = _QUEUE.fullmatch(_text(group.get("head_ref")) or context.ref)
        sha = _text(group.get("head_sha")) or context.sha
        return Event(name, "known", int(found[1]), sha) if found else Event(name, head_sha=sha)
    if name == "issue_comment":
        return _issue_comment(name, _mapping(payload, "issue"), context)
    return Event(name, head_sha=context.sha, is_dependabot=dependabot and name == "push")


def is_fork(head_repository: object, repository: str) -> bool:
    """Whether a pull request's head is in another repository than ours; a deleted one is null."""
    if not isinstance(head_repository, Mapping):
        return True
    return _text(head_repository.get("full_name")).casefold() != repository.casefold()


def _pull_request(name: str, pull: Mapping[str, Any], context: GitHubContext, dependabot: bool) -> Event:
    head = _mapping(pull, "head")
    number = _number(pull.get("number"))
    return Event(
        name,
        "known" if number else "none",
        number,
        head_sha=_text(head.get("sha")) or context.sha,
        head_owner=_owner(head.get("repo")),
        head_branch=_text(head.get("ref")),
        is_fork=is_fork(head.get("repo"), context.repository),
        is_dependabot=dependabot,
    )


def _workflow_run(name: str, run: Mapping[str, Any], context: GitHubContext) -> Event:
    return Event(
        name,
        "by_head" if _text(run.get("head_sha")) else "none",
        head_sha=_text(run.get("head_sha")),
        head_owner=_owner(run.get("head_repository")),
        head_branch=_text(run.get("head_branch")),
        is_fork=is_fork(run.get("head_repository"), context.repository),
    )


def _issue_comment(name: str, issue: Mapping[str, Any], context: GitHubContext) -> Event:
    number = _number(issue.get("number"))
    if number is None:  # an event that can't be read: nobody knows whose code it is about
        return Event(name, head_sha=context.sha, is_fork=None)
    if isinstance(issue.get("pull_request"), Mapping):
        return Event(name, "known", number, is_fork=None)
    return Event(name, head_sha=context.sha)


def _owner(repository: object) -> str:
    if not isinstance(repository, Mapping):
        return ""
    return _text(_mapping(repository, "owner").get("login")) or _text(repository.get("full_name")).partition("/")[0]


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
