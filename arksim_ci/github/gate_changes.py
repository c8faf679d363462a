"""Which files of its own gate a pull request changes: whoever reviews it should look at those first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arksim_ci.github.client import GitHubClient, GitHubRefused, PermissionMissing

MOST_FILES: Final = 3000
"""GitHub lists no more files of a pull request."""


@dataclass(frozen=True)
class GateChanges:
    """The gate's changed files, relative to the repository; `warning` says what could not be looked at."""

    files: tuple[str, ...] = ()
    warning: str = ""


async def find_gate_changes(
    client: GitHubClient, repository: str, number: int, gate_files: Iterable[str]
) -> GateChanges:
    """Look the pull request's files up.

    Args:
        client: talks to GitHub.
        repository: `owner/name`.
        number: the pull request.
        gate_files: the configuration, scenario, metric and workflow files, relative to the repository.
    """
    wanted = set(gate_files)
    touched: set[str] = set()
    listed = 0
    try:
        async for item in client.pages(f"/repos/{repository}/pulls/{number}/files", most_pages=MOST_FILES // 100):
            listed += 1
            if isinstance(item, dict):
                touched |= {str(item.get(key)) for key in ("filename", "previous_filename") if item.get(key)}
    except PermissionMissing:
        return GateChanges(
            warning="whether the pull request changes its own gate could not be checked: the token may not read pull "
            "requests; give the job `pull-requests: write`, or `read`"
        )
    except GitHubRefused as error:
        return GateChanges(warning=f"whether the pull request changes its own gate could not be checked: {error}")
    found = tuple(sorted(wanted & touched))
    if listed >= MOST_FILES and not found:
        return GateChanges(
            warning=f"whether the pull request changes its own gate is not known: GitHub lists only {MOST_FILES:,} of its files"
        )
    return GateChanges(found)


def repository_path(path: Path, workspace: Path) -> str:
    """A file's path in its repository, which is the workspace, or the checkout below it that the file stands in."""
    if not path.is_relative_to(workspace):
        return path.as_posix()
    for folder in path.parents:
        if folder == workspace or (folder / ".git").exists():
            return path.relative_to(folder).as_posix()
    return path.as_posix()
