"""Artifacts of this run: zips, and single files that a browser opens, uploaded from inside the action's container."""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from arksim_ci.github.artifact_http import ArtifactHttp
from arksim_ci.github.artifact_service import ArtifactRefused, MimeTypeUnknown, NameTaken, ResultsService
from arksim_ci.github.artifact_zip import FileRefused, open_regular, redacted, write_zip
from arksim_ci.retry import RetryPolicy

__all__ = [
    "ArtifactRefused",
    "ArtifactUploader",
    "UploadedArtifact",
    "check_artifact_name",
    "check_server",
    "takes_artifacts",
]

_log = logging.getLogger(__name__)

MOST_SUFFIXES: Final = 100
"""A name gets at most this number as its suffix: more legs of one matrix would be 256 at most, and rarely share a name."""
_FORBIDDEN: Final = re.compile(r'[":<>|*?\\/\r\n]')
_IN_MEMORY: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UploadedArtifact:
    """What was uploaded: `name` with its suffix, `url` for readers who may see the run, `digest` as `sha256:<hex>`."""

    id: int
    name: str
    url: str
    size: int
    digest: str


class ArtifactUploader:
    """Uploads to the run that this job belongs to."""

    def __init__(
        self,
        *,
        runtime_token: str,
        results_url: str,
        server_url: str,
        repository: str,
        run_id: str,
        max_retention_days: int | None = None,
        mask: Callable[[str], None] = lambda secret: None,
        redact: Callable[[str], str] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
        policy: RetryPolicy | None = None,
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            runtime_token: `ACTIONS_RUNTIME_TOKEN`.
            results_url: `ACTIONS_RESULTS_URL`.
            server_url: `GITHUB_SERVER_URL`.
            repository: `owner/name`.
            run_id: `GITHUB_RUN_ID`.
            max_retention_days: `GITHUB_RETENTION_DAYS`; longer wishes are cut to it.
            mask: told each secret that must not be seen in the log, before it is used.
            redact: applied to the text of everything that is uploaded.
            sleep: waits some seconds.
            now: seconds since the epoch.
            policy: how patiently requests are made again; None for the usual one.
        """
        self._token = runtime_token
        self._results_url = results_url
        self._server_url = server_url.rstrip("/")
        self._run_url = f"{self._server_url}/{repository}/actions/runs/{run_id}"
        self._max_retention_days = max_retention_days
        self._mask = mask
        self._redact = redact
        self._sleep = sleep
        self._now = now
        self._policy = policy

    async def upload_zip(
        self, name: str, files: Mapping[str, Path], retention_days: int | None = None
    ) -> UploadedArtifact:
        """Upload files as one zip.

        Args:
            name: of the artifact; a taken one gets a suffix `-2`, `-3`, ...
            files: name in the zip to file on disk; nothing else goes in.
            retention_days: how long it is kept; None for the repository's default.

        Raises:
            ArtifactRefused: it could not be uploaded; a warning, for the files are still in the workspace.
        """
        if not files:
            raise ArtifactRefused(f"artifact {name}: there is no file to upload")
        with _temporary() as file:
            try:
                write_zip(file, files, self._redact)
            except FileRefused as error:
                raise ArtifactRefused(f"artifact {name}: {error}") from None
            return await self._upload(name, file, "application/zip", None, retention_days)

    async def upload_file(
        self, path: Path, content_type: str, retention_days: int | None = None, *, name: str | None = None
    ) -> UploadedArtifact | None:
        """Upload one file as it is: a browser opens it straight from its link, where the type allows.

        Args:
            path: of the file.
            content_type: such as `text/html`, without a charset: the page says it itself.
            retention_days: how long it is kept; None for the repository's default.
            name: of the artifact, with the file's extension; None for the file's own. A taken one gets a suffix before the
                extension.

        Returns:
            None where the service takes zips only.

        Raises:
            ArtifactRefused: it could not be uploaded.
        """
        name = name or path.name
        with _temporary() as file:
            try:
                with open_regular(path) as source:
                    content = source.read()
            except FileRefused as error:
                raise ArtifactRefused(f"artifact {name}: {error}") from None
            if not content:
                raise ArtifactRefused(f"artifact {name}: {path} is empty")
            file.write(redacted(content, self._redact) if self._redact else content)
            try:
                return await self._upload(name, file, content_type, content_type, retention_days)
            except MimeTypeUnknown as error:
                _log.info("artifact %s: this service takes zips only (%s)", name, error)
                return None

    async def _upload(
        self, name: str, file: IO[bytes], content_type: str, mime_type: str | None, retention_days: int | None
    ) -> UploadedArtifact:
        self._check_place()
        check_artifact_name(name)
        expires_at = self._expiry(name, retention_days)
        extension = Path(name).suffix if mime_type else ""
        async with self._open_http() as http:
            service = ResultsService(http, self._results_url, self._token, self._mask)
            for number in range(1, MOST_SUFFIXES + 1):
                candidate = name if number == 1 else f"{name.removesuffix(extension)}-{number}{extension}"
                try:
                    url = await service.create(candidate, mime_type=mime_type, expires_at=expires_at)
                except NameTaken:
                    continue
                blob = await service.upload(url, file, content_type)
                artifact_id = await service.finalize(candidate, blob)
                link = f"{self._run_url}/artifacts/{artifact_id}"
                return UploadedArtifact(artifact_id, candidate, link, blob.size, blob.digest)
        raise ArtifactRefused(f"artifact {name}: this name and its suffixes up to -{MOST_SUFFIXES} are all taken")

    def _open_http(self) -> ArtifactHttp:
        if self._policy is None:
            return ArtifactHttp(sleep=self._sleep, now=self._now)
        return ArtifactHttp(sleep=self._sleep, now=self._now, policy=self._policy)

    def _check_place(self) -> None:
        check_server(self._server_url)
        if not self._token or not self._results_url:
            raise ArtifactRefused(
                "artifacts are not uploaded: the runner gave no ACTIONS_RUNTIME_TOKEN and ACTIONS_RESULTS_URL, as it does "
                "for an action that a workflow `uses`; the files are in the workspace"
            )

    def _expiry(self, name: str, days: int | None) -> str | None:
        if days is None:
            return None
        if self._max_retention_days is not None and days > self._max_retention_days:
            _log.warning(
                "artifact %s: kept for %d days, the most that this repository allows, not %d",
                name,
                self._max_retention_days,
                days,
            )
            days = self._max_retention_days
        expiry = datetime.fromtimestamp(self._now(), UTC) + timedelta(days=days)
        return expiry.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_server(server_url: str) -> None:
    """See that this GitHub takes artifacts.

    Raises:
        ArtifactRefused: it does not.
    """
    if not takes_artifacts(server_url):
        raise ArtifactRefused(
            f"artifacts are not uploaded: {urlsplit(server_url).hostname or server_url} is a GitHub Enterprise Server, which "
            "does not take artifacts of this version; the files are in the workspace, where a later step can upload them with "
            "actions/upload-artifact@v3"
        )


def takes_artifacts(server_url: str) -> bool:
    """Whether this GitHub takes artifacts of version 4: github.com, `*.ghe.com` and `*.localhost` do."""
    host = (urlsplit(server_url).hostname or "").lower()
    return host == "github.com" or host.endswith((".ghe.com", ".localhost"))


def check_artifact_name(name: str) -> None:
    r"""Check a name by GitHub's rules.

    Raises:
        ArtifactRefused: it is empty or has one of `" : < > | * ? \ /` or a line end.
    """
    if not name:
        raise ArtifactRefused("an artifact needs a name")
    found = _FORBIDDEN.search(name)
    if found:
        raise ArtifactRefused(f"{name!r} can't be an artifact's name: {found[0]!r} is not allowed in it")


def _temporary() -> IO[bytes]:
    """A file without a name: in memory while small, gone when closed."""
    return tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
