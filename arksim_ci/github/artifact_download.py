"""Artifacts of another run: found by name, held to their digest, unpacked safely."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from arksim_ci.github.artifact_unpack import ArtifactUnsafe, Limits, unpack
from arksim_ci.github.client import Answer, GitHubClient, GitHubRefused

__all__ = ["ArtifactUnavailable", "ArtifactUnsafe", "Limits", "RunArtifact", "download_run_artifacts"]

MOST_PAGES: Final = 10
MOST_ARTIFACTS: Final = 64
_ZIP_TYPES: Final = ("application/zip", "application/x-zip-compressed", "application/zip-compressed")


class ArtifactUnavailable(Exception):
    """The artifacts of a run can't be listed or downloaded. The text says why and what to do."""


@dataclass(frozen=True, slots=True)
class RunArtifact:
    """A downloaded artifact: its id and name, when it was made (ISO 8601), its folder, and the wanted files in there."""

    id: int
    name: str
    created_at: str
    folder: Path
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Listed:
    """An artifact as GitHub's API lists it."""

    created_at: str
    id: int
    name: str
    digest: str


async def download_run_artifacts(
    client: GitHubClient,
    repository: str,
    run_id: int,
    name: str,
    into: Path,
    wanted: Collection[str],
    limits: Limits | None = None,
) -> list[RunArtifact]:
    """Download a run's artifacts `name`, `name-2`, `name-3`, ...: one for each leg of a matrix, or attempt.

    Args:
        client: with a token that has the permission `actions: read`.
        repository: `owner/name`.
        run_id: of the other run.
        name: without suffix.
        into: an existing folder; each artifact gets a folder of its own in it.
        wanted: names of files; others are not unpacked.
        limits: for each artifact; None for the usual ones.

    Returns:
        The artifacts, oldest first; none where the run has none of that name that is still kept.

    Raises:
        ArtifactUnavailable: they can't be listed or downloaded.
        ArtifactUnsafe: one is broken or breaks a limit.
    """
    listed = await _list(client, repository, run_id, name)
    if len(listed) > MOST_ARTIFACTS:
        raise ArtifactUnsafe(f"run {run_id} has {len(listed)} artifacts {name}; {MOST_ARTIFACTS} are read at most")
    return [await _fetch(client, repository, artifact, into, wanted, limits or Limits()) for artifact in listed]


async def _list(client: GitHubClient, repository: str, run_id: int, name: str) -> list[_Listed]:
    """The artifacts that are still kept, oldest first; of one name only the newest, for that is the last attempt's."""
    ours = re.compile(rf"{re.escape(name)}(-[1-9][0-9]*)?")
    newest: dict[str, _Listed] = {}
    try:
        async for page in client.pages(f"/repos/{repository}/actions/runs/{run_id}/artifacts", most_pages=MOST_PAGES):
            for artifact in _artifacts(page):
                known = newest.get(artifact.name)
                if ours.fullmatch(artifact.name) and (known is None or _age(artifact) > _age(known)):
                    newest[artifact.name] = artifact
    except GitHubRefused as error:
        raise ArtifactUnavailable(f"the artifacts of run {run_id} can't be listed: {_advice(error)}") from None
    return sorted(newest.values(), key=_age)


def _artifacts(page: Any) -> list[_Listed]:
    listed = page.get("artifacts") if isinstance(page, dict) else None
    if not isinstance(listed, list):
        raise GitHubRefused("GitHub's answer holds no list of artifacts")
    return [
        _Listed(str(item.get("created_at")), int(item["id"]), str(item["name"]), str(item.get("digest") or ""))
        for item in listed
        if not item.get("expired")
    ]


async def _fetch(
    client: GitHubClient, repository: str, artifact: _Listed, into: Path, wanted: Collection[str], limits: Limits
) -> RunArtifact:
    path = f"/repos/{repository}/actions/artifacts/{artifact.id}/zip"
    try:
        answer = await client.download(path, limits.download_bytes)
    except GitHubRefused as error:
        raise ArtifactUnavailable(f"artifact {artifact.name} can't be downloaded: {_advice(error)}") from None
    if artifact.digest.startswith("sha256:") and hashlib.sha256(answer.body).hexdigest() != artifact.digest[7:]:
        raise ArtifactUnavailable(
            f"artifact {artifact.name} did not arrive as it was uploaded (its digest differs): run this workflow again"
        )
    folder = into / artifact.name
    folder.mkdir()
    if _is_zip(answer):
        files = unpack(io.BytesIO(answer.body), folder, wanted, limits)
    else:
        files = _keep_plain(answer, folder, wanted, limits)
    return RunArtifact(artifact.id, artifact.name, artifact.created_at, folder, tuple(files))


def _age(artifact: _Listed) -> tuple[str, int]:
    return artifact.created_at, artifact.id


def _advice(error: GitHubRefused) -> str:
    if error.status in (401, 403, 404):
        return (
            f"{error}. The workflow needs `actions: read` in its `permissions:`, and `run-id` must be a run of this "
            "repository"
        )
    if error.status == 410:
        return f"{error}. It has expired: run the first workflow again"
    return str(error)


def _is_zip(answer: Answer) -> bool:
    """GitHub's own rule: by content type, or by the path's end."""
    kind = answer.headers.get("content-type", "").split(";")[0].strip().lower()
    return kind in _ZIP_TYPES or urlsplit(answer.url).path.lower().endswith(".zip")


def file_name(content_disposition: str) -> str:
    """The name in a Content-Disposition header, `filename*` first, without any folder; "" where there is none."""
    extended = re.search(r"filename\*\s*=\s*UTF-8''([^;\r\n]*)", content_disposition, re.IGNORECASE)
    plain = re.search(r"(?<!\*)filename\s*=\s*['\"]?([^;\r\n\"']*)", content_disposition, re.IGNORECASE)
    name = unquote(extended[1].strip()) if extended else plain[1].strip() if plain else ""
    return re.split(r"[/\\]", name)[-1]


def _keep_plain(answer: Answer, folder: Path, wanted: Collection[str], limits: Limits) -> list[str]:
    name = file_name(answer.headers.get("content-disposition", ""))
    if name not in wanted:
        return []
    if len(answer.body) > limits.file_bytes:
        raise ArtifactUnsafe(f"{name} in the artifact is larger than it may be ({limits.file_bytes} bytes)")
    (folder / name).write_bytes(answer.body)
    return [name]
