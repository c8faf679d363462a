"""Whose code is in the workspace: a stranger's config alone can send a key away, so it is refused where secrets are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.github.client import GitHubClient, GitHubRefused
from arksim_ci.github.event import Event
from arksim_ci.github.publish import FORKS_PAGE
from arksim_ci.github.pull_request import with_fork_known

SKIPPED_TITLE: Final = "Skipped: nothing was tested"


@dataclass(frozen=True)
class MissingSecrets:
    """The run can't begin because GitHub withheld secrets. `names` are the variables that are not set."""

    names: tuple[str, ...]
    who: str

    @property
    def sentence(self) -> str:
        """What is missing and why, with the recipe."""
        return (
            f"{_listed(self.names)} not set: this run belongs to a pull request from {self.who}, and GitHub gives such runs "
            f"no secrets. Three ways: skip the gate there with `on-missing-secrets: skip`; test with `provider: offline` or a "
            f"local model, which need no key; or read {FORKS_PAGE}"
        )


async def with_trust_checked(event: Event, client: GitHubClient | None, repository: str, *, allowed: bool) -> Event:
    """The event, where the workspace may be used.

    Args:
        event: what started the workflow.
        client: talks to GitHub, to find out what the event does not say.
        repository: `owner/name`.
        allowed: the input `allow-untrusted-code`.

    Raises:
        ConfigError: the code may be a stranger's while the repository's secrets are at hand.
    """
    why = ""
    if event.is_fork is None and client is not None:
        try:
            event = await with_fork_known(client, repository, event)
        except GitHubRefused as error:
            why = f" (whether it comes from a fork could not be asked: {error})"
    if not event.code_is_untrusted or allowed:
        return event
    whose = "the pull request comes from a fork" if event.is_fork else "the pull request may come from a fork"
    raise ConfigError(
        Problem(
            f"under `{event.name}` this repository's secrets are at hand, and {whose}{why}: its "
            "config, scenarios, Python and commands could send them away, so nothing of the workspace is used. Run the gate under "
            f"`pull_request` and let a second workflow write the comment: {FORKS_PAGE}. Or set this to true, where the workspace "
            "holds nothing of the fork (what is in it can't be proved from here), or where somebody reads the code before each run",
            "input allow-untrusted-code",
        )
    )


def who_is_withheld(event: Event) -> str:
    """Who does not get secrets, in words."""
    return "Dependabot" if event.is_dependabot else "a fork"


def _listed(names: tuple[str, ...]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are"
