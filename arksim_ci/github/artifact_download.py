"""Artifacts of another run: found by name, downloaded without handing our token to another host, unpacked safely."""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urlencode, urljoin, urlsplit

from arksim_ci.github.artifact_http import Answer, ArtifactHttp, NoAnswer, TooLarge, place
from arksim_ci.github.artifact_unpack import ArtifactUnsafe, Limits, unpack

__all__ = ["ArtifactUnavailable", "ArtifactUnsafe", "Limits", "RunArtifact", "RunArtifacts"]

PER_PAGE: Final = 100
MOST_PAGES: Final = 10
MOST_ARTIFACTS: Final = 64
MOST_REDIRECTS: Final = 3
DOWNLOAD_TIMEOUT_SECONDS: Final = 300.0
_ZIP_TYPES: Final = ("application/zip", "application/x-zip-compressed", "application/zip-compressed")
_REDIRECTS: Final = (301, 302, 303, 307, 308)


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
class RunArtifacts:
    """Reads the artifacts of runs of one repository.

    Args:
        api_url: `GITHUB_API_URL`.
        repository: `owner/name`.
        token: with the permission `actions: read`.
        limits: for each artifact.
        sleep: waits some seconds.
        now: seconds since the epoch.
    """

    api_url: str
    repository: str
    token: str = field(repr=False)
    limits: Limits = field(default_factory=Limits)
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    now: Callable[[], float] = time.time

    async def download(self, run_id: int, name: str, into: Path, wanted: Collection[str]) -> list[RunArtifact]:
        """Download a run's artifacts `name`, `name-2`, `name-3`, ...: one for each leg of a matrix, or attempt.

        Args:
            run_id: of the other run.
            name: without suffix.
            into: an existing folder; each artifact gets a folder of its own in it.
            wanted: names of files; others are not unpacked.

        Returns:
            The artifacts, oldest first; none where the run has none of that name that is still kept.

        Raises:
            ArtifactUnavailable: they can't be listed or downloaded.
            ArtifactUnsafe: one is broken or breaks a limit.
        """
        async with ArtifactHttp(sleep=self.sleep, now=self.now) as http:
            listed = await self._list(http, run_id, name)
            if len(listed) > MOST_ARTIFACTS:
                raise ArtifactUnsafe(
                    f"run {run_id} has {len(listed)} artifacts {name}; {MOST_ARTIFACTS} are read at most"
                )
            return [await self._fetch(http, artifact, into, wanted) for artifact in listed]

    async def _list(self, http: ArtifactHttp, run_id: int, name: str) -> list[dict[str, Any]]:
        ours = re.compile(rf"{re.escape(name)}(-[1-9][0-9]*)?")
        newest: dict[str, dict[str, Any]] = {}
        for page in range(1, MOST_PAGES + 1):
            query = urlencode({"per_page": PER_PAGE, "page": page})
            url = f"{self.api_url}/repos/{self.repository}/actions/runs/{run_id}/artifacts?{query}"
            answer = await self._ask(http, url, f"the artifacts of run {run_id} can't be listed")
            artifacts = (answer.json_object() or {}).get("artifacts")
            if not answer.ok or not isinstance(artifacts, list):
                raise ArtifactUnavailable(f"the artifacts of run {run_id} can't be listed: {_advice(answer)}")
            for artifact in artifacts:
                if ours.fullmatch(str(artifact.get("name"))) and not artifact.get("expired"):
                    known = newest.get(artifact["name"])
                    if known is None or _age(artifact) > _age(known):
                        newest[artifact["name"]] = artifact
            if len(artifacts) < PER_PAGE:
                break
        return sorted(newest.values(), key=_age)

    async def _fetch(
        self, http: ArtifactHttp, artifact: dict[str, Any], into: Path, wanted: Collection[str]
    ) -> RunArtifact:
        artifact_id, name = int(artifact["id"]), str(artifact["name"])
        url = f"{self.api_url}/repos/{self.repository}/actions/artifacts/{artifact_id}/zip"
        answer = await self._ask(http, url, f"artifact {name} can't be downloaded")
        if answer.status not in _REDIRECTS:
            raise ArtifactUnavailable(f"artifact {name} can't be downloaded: {_advice(answer)}")
        folder = into / name
        folder.mkdir()
        with tempfile.TemporaryFile() as file:
            answer, url = await self._follow(http, name, urljoin(url, answer.headers.get("location", "")), file)
            _check_digest(name, file, artifact.get("digest"))
            if _is_zip(answer, url):
                files = unpack(file, folder, wanted, self.limits)
            else:
                files = _keep_plain(file, folder, _file_name(answer), wanted, self.limits)
        return RunArtifact(artifact_id, name, str(artifact.get("created_at", "")), folder, tuple(files))

    async def _ask(self, http: ArtifactHttp, url: str, what: str) -> Answer:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        try:
            return await http.send("GET", url, headers=headers)
        except (NoAnswer, TooLarge) as error:
            raise ArtifactUnavailable(f"{what}: {error}") from None

    async def _follow(self, http: ArtifactHttp, name: str, url: str, file: IO[bytes]) -> tuple[Answer, str]:
        """Get a signed address, without our token: the storage refuses it, and it isn't its business."""
        encrypted = urlsplit(self.api_url).scheme == "https"
        for _ in range(MOST_REDIRECTS + 1):
            if urlsplit(url).scheme not in (("https",) if encrypted else ("http", "https")):
                raise ArtifactUnavailable(f"artifact {name} can't be downloaded: GitHub sent on to {place(url)}")
            try:
                answer = await http.send(
                    "GET",
                    url,
                    headers={},
                    into=file,
                    max_bytes=self.limits.download_bytes,
                    timeout_seconds=DOWNLOAD_TIMEOUT_SECONDS,
                )
            except NoAnswer as error:
                raise ArtifactUnavailable(f"artifact {name} can't be downloaded: {error}") from None
            except TooLarge as error:
                raise ArtifactUnsafe(f"artifact {name} is larger than it may be: {error}") from None
            if answer.ok:
                return answer, url
            if answer.status not in _REDIRECTS:
                raise ArtifactUnavailable(f"artifact {name} can't be downloaded from {place(url)}: {answer.reason()}")
            url = urljoin(url, answer.headers.get("location", ""))
        raise ArtifactUnavailable(f"artifact {name} can't be downloaded: GitHub sends on and on")


def _age(artifact: dict[str, Any]) -> tuple[str, int]:
    return str(artifact.get("created_at", "")), int(artifact.get("id", 0))


def _advice(answer: Answer) -> str:
    if answer.status in (401, 403, 404):
        return (
            f"{answer.reason()}. The workflow needs `permissions:` with `actions: read`, and `run-id` must be a run of this "
            "repository"
        )
    if answer.status == 410:
        return f"{answer.reason()}. It has expired: run the first workflow again"
    return answer.reason()


def _check_digest(name: str, file: IO[bytes], digest: object) -> None:
    """Hold the bytes to the digest that GitHub's API names, where it names one."""
    if not isinstance(digest, str) or not digest.startswith("sha256:"):
        return
    file.seek(0)
    if hashlib.file_digest(file, "sha256").hexdigest() != digest.removeprefix("sha256:"):  # type: ignore[arg-type]
        raise ArtifactUnavailable(f"artifact {name} did not arrive as it was uploaded: its digest differs; run again")


def _is_zip(answer: Answer, url: str) -> bool:
    """GitHub's own rule: by content type, or by the path's end."""
    kind = answer.headers.get("content-type", "").split(";")[0].strip().lower()
    return kind in _ZIP_TYPES or urlsplit(url).path.lower().endswith(".zip")


def _file_name(answer: Answer) -> str:
    """The name in Content-Disposition, `filename*` first, without any folder."""
    header = answer.headers.get("content-disposition", "")
    extended = re.search(r"filename\*\s*=\s*UTF-8''([^;\r\n]*)", header, re.IGNORECASE)
    plain = re.search(r"(?<!\*)filename\s*=\s*['\"]?([^;\r\n\"']*)", header, re.IGNORECASE)
    name = unquote(extended[1].strip()) if extended else plain[1].strip() if plain else ""
    return re.split(r"[/\\]", name)[-1]


def _keep_plain(file: IO[bytes], folder: Path, name: str, wanted: Collection[str], limits: Limits) -> list[str]:
    if name not in wanted:
        return []
    file.seek(0)
    content = file.read(limits.file_bytes + 1)
    if len(content) > limits.file_bytes:
        raise ArtifactUnsafe(f"{name} in the artifact is larger than it may be ({limits.file_bytes} bytes)")
    (folder / name).write_bytes(content)
    return [name]
