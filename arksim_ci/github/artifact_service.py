"""GitHub's results service, version 4 of artifacts: create, upload in blocks, finalize.

The interface is internal to GitHub; what it does was read in `actions/toolkit` (packages/artifact).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Final
from urllib.parse import parse_qs, quote, urlsplit

from arksim_ci.github.addresses import place
from arksim_ci.github.artifact_http import Answer, ArtifactHttp, NoAnswer

_log = logging.getLogger(__name__)

SERVICE: Final = "github.actions.results.api.v1.ArtifactService"
BLOCK_BYTES: Final = 8 * 1024 * 1024
BLOCK_TIMEOUT_SECONDS: Final = 300.0
_MIME_TYPE_UNKNOWN: Final = frozenset({400, 404, 422, 501})


class ArtifactRefused(Exception):
    """An artifact can't be uploaded. The text says why and what to do; a warning for the user, never a failed run."""


class NameTaken(Exception):
    """An artifact of this name is there already: another leg of a matrix, or an earlier attempt."""


class MimeTypeUnknown(Exception):
    """The service takes zips only: it knows no artifact that is a plain file."""


@dataclass(frozen=True, slots=True)
class BackendIds:
    """The names that the service has for the run and the job."""

    run: str
    job: str


@dataclass(frozen=True, slots=True)
class Blob:
    """What was uploaded: size in bytes, and digest as `sha256:<hex>`."""

    size: int
    digest: str


def backend_ids(runtime_token: str) -> BackendIds:
    """Read the ids from the runtime token, a JWT: claim `scp`, item `Actions.Results:<run>:<job>`.

    The signature isn't checked: the token was given to us by the runner, and the service checks it.

    Raises:
        ArtifactRefused: they aren't in it.
    """
    try:
        payload = runtime_token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        for item in str(claims["scp"]).split(" "):
            name, *ids = item.split(":")
            if name == "Actions.Results" and len(ids) == 2 and all(ids):
                return BackendIds(*ids)
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        pass
    raise ArtifactRefused(
        "artifacts can't be uploaded: the runner's token (ACTIONS_RUNTIME_TOKEN) names no run and job"
    )


@dataclass(frozen=True, slots=True)
class ResultsService:
    """The service for one job.

    Args:
        http: makes the requests.
        url: `ACTIONS_RESULTS_URL`; its scheme and host count.
        token: `ACTIONS_RUNTIME_TOKEN`.
        mask: told what must be masked in the log: the signature of each signed address.
    """

    http: ArtifactHttp
    url: str
    token: str = field(repr=False)
    mask: Callable[[str], None]

    async def create(self, name: str, *, mime_type: str | None, expires_at: str | None) -> str:
        """Ask for an artifact and return the signed address that takes its bytes.

        Args:
            name: of the artifact.
            mime_type: makes it a plain file, which a browser opens (version 7); None makes it a zip (version 4).
            expires_at: RFC 3339, or None for the repository's default.

        Raises:
            NameTaken: also when an earlier try of ours took it and its answer was lost: there is no second address for it.
            MimeTypeUnknown: the service knows no plain files.
            ArtifactRefused: anything else.
        """
        body: dict[str, object] = {**self._ids(), "name": name, "version": 4}
        if mime_type is not None:
            body |= {"version": 7, "mime_type": mime_type}
        if expires_at is not None:
            body["expires_at"] = expires_at

        def is_final(answer: Answer) -> bool:
            # A server that decodes strictly fails on the unknown field; act says 500 and nothing else.
            return mime_type is not None and answer.status == 500 and not answer.body.strip()

        answer = await self._call("CreateArtifact", body, is_final)
        if answer.status == 409:
            raise NameTaken(name)
        if mime_type is not None and (answer.status in _MIME_TYPE_UNKNOWN or is_final(answer)):
            raise MimeTypeUnknown(answer.reason())
        said = _accepted(answer, "CreateArtifact", name)
        url = said.get("signed_upload_url") or said.get("signedUploadUrl")
        if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
            raise ArtifactRefused(f"artifact {name}: CreateArtifact gave no address to upload to")
        self._mask_signature(url)
        return url

    async def upload(self, url: str, file: IO[bytes], content_type: str) -> Blob:
        """Upload a file in blocks and commit them, as Azure's block blobs want it.

        Args:
            url: from `create`.
            file: read from its start, one block at a time.
            content_type: that the blob gets.

        Raises:
            ArtifactRefused: the storage did not take it.
        """
        digest = hashlib.sha256()
        size = 0
        block_ids: list[str] = []
        file.seek(0)
        while block := file.read(BLOCK_BYTES):
            block_id = base64.b64encode(f"block-{len(block_ids):08d}".encode()).decode()
            await self._put(
                f"comp=block&blockid={quote(block_id, safe='')}", url, block, "application/octet-stream", {}
            )
            block_ids.append(block_id)
            digest.update(block)
            size += len(block)
        listed = "".join(f"<Latest>{block_id}</Latest>" for block_id in block_ids)
        xml = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
        await self._put("comp=blocklist", url, xml, "application/xml", {"x-ms-blob-content-type": content_type})
        return Blob(size, f"sha256:{digest.hexdigest()}")

    async def finalize(self, name: str, blob: Blob) -> int:
        """Say that the bytes are complete and return the artifact's id.

        Raises:
            ArtifactRefused: the service did not accept it.
        """
        body = {**self._ids(), "name": name, "size": str(blob.size), "hash": blob.digest}
        answer = await self._call("FinalizeArtifact", body)
        if not answer.ok and answer.sent_before:
            # An earlier try can have done it, and only its answer was lost.
            found = await self._find(name, blob)
            if found is not None:
                return found
        said = _accepted(answer, "FinalizeArtifact", name)
        artifact_id = _integer(said.get("artifact_id") or said.get("artifactId"))
        if artifact_id is None:
            raise ArtifactRefused(f"artifact {name}: FinalizeArtifact gave no id")
        return artifact_id

    async def _find(self, name: str, blob: Blob) -> int | None:
        answer = await self._call("ListArtifacts", {**self._ids(), "name_filter": name})
        listed = (answer.json_object() or {}).get("artifacts") if answer.ok else None
        for artifact in listed if isinstance(listed, list) else []:
            size = _integer(artifact.get("size"))
            if artifact.get("name") == name and size == blob.size and artifact.get("digest") in (None, blob.digest):
                return _integer(artifact.get("database_id") or artifact.get("databaseId"))
        return None

    async def _call(
        self, method: str, body: dict[str, object], is_final: Callable[[Answer], bool] = lambda answer: False
    ) -> Answer:
        parts = urlsplit(self.url)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            return await self.http.send(
                "POST",
                f"{parts.scheme}://{parts.netloc}/twirp/{SERVICE}/{method}",
                headers=headers,
                body=json.dumps(body).encode(),
                is_final=is_final,
            )
        except NoAnswer as error:
            raise ArtifactRefused(f"artifacts can't be uploaded: {error}") from None

    async def _put(self, query: str, url: str, body: bytes, content_type: str, headers: dict[str, str]) -> None:
        try:
            answer = await self.http.send(
                "PUT",
                f"{url}{'&' if urlsplit(url).query else '?'}{query}",
                headers={"Content-Type": content_type, **headers},
                body=body,
                timeout_seconds=BLOCK_TIMEOUT_SECONDS,
            )
        except NoAnswer as error:
            raise ArtifactRefused(f"the artifact's bytes were not taken: {error}") from None
        if not answer.ok:
            raise ArtifactRefused(f"the artifact's bytes were not taken by {place(url)}: {answer.reason()}")

    def _ids(self) -> dict[str, object]:
        ids = backend_ids(self.token)
        return {"workflow_run_backend_id": ids.run, "workflow_job_run_backend_id": ids.job}

    def _mask_signature(self, url: str) -> None:
        for signature in parse_qs(urlsplit(url).query).get("sig", []):
            for spelling in {signature, quote(signature, safe="")}:
                self.mask(spelling)


def _accepted(answer: Answer, method: str, name: str) -> dict[str, object]:
    """The answer's fields.

    Raises:
        ArtifactRefused: it is a failure.
    """
    said = answer.json_object()
    if not answer.ok:
        raise ArtifactRefused(f"artifact {name}: {method} failed with {answer.reason()}")
    if said is None or not said.get("ok"):
        raise ArtifactRefused(f"artifact {name}: {method} was answered without success")
    return said


def _integer(value: object) -> int | None:
    """A 64-bit number: JSON of Protocol Buffers carries it as a string."""
    try:
        return int(value) if isinstance(value, str | int) else None
    except ValueError:
        return None
