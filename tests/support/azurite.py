"""Azurite, Microsoft's own emulator of its storage, and the signed addresses that lead into it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

ACCOUNT = "devstoreaccount1"
# The published key of the emulator's only account; it opens nothing else.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-12-02"
CONTAINER = "artifacts"
FOREVER = "2099-01-01T00:00:00Z"


class Azurite:
    """The blob service on a free local port, in memory: `with Azurite(node_modules, folder) as storage`."""

    def __init__(self, node_modules: Path, folder: Path) -> None:
        self._main = node_modules / "azurite" / "dist" / "src" / "blob" / "main.js"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    def __enter__(self) -> Azurite:
        log = (self._folder / "azurite.log").open("wb")
        command = ["node", str(self._main), "--blobPort", str(self.port)]
        command += ["--inMemoryPersistence", "--disableTelemetry", "--silent", "--skipApiVersionCheck"]
        with log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._folder
            )
        self._wait()
        request = urllib.request.Request(self._account_url(), method="PUT", data=b"")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
            assert answer.status == 201, answer.status
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(20)

    def upload_url(self, key: str) -> str:
        """Where the bytes of a blob are sent, as GitHub signs it: to create and write this one blob."""
        return self._blob_url(key, "cw", "", "")

    def download_url(self, key: str, file_name: str, content_type: str) -> str:
        """Where a blob is read, with the headers that GitHub has signed in."""
        return self._blob_url(key, "r", f'attachment; filename="{file_name}"', content_type)

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self._process and self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"Azurite did not start: {(self._folder / 'azurite.log').read_text()[-500:]}")

    def _account_url(self) -> str:
        """Account SAS to make the container. The string to sign: "Create an account SAS", Azure Storage REST API."""
        fields = [ACCOUNT, "rwlc", "b", "c", "", FOREVER, "", "", VERSION, ""]
        signed = {"sv": VERSION, "ss": "b", "srt": "c", "sp": "rwlc", "se": FOREVER, "sig": _sign(fields, "\n")}
        query = urlencode({"restype": "container", **signed})
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}/{CONTAINER}?{query}"

    def _blob_url(self, key: str, permissions: str, disposition: str, content_type: str) -> str:
        """Service SAS of one blob. The string to sign: "Create a service SAS", version 2020-12-06 and later."""
        resource = f"/blob/{ACCOUNT}/{CONTAINER}/{key}"
        fields = [permissions, "", FOREVER, resource, "", "", "", VERSION, "b", "", "", ""]
        fields += [disposition, "", "", content_type]
        query = {"sp": permissions, "se": FOREVER, "sv": VERSION, "sr": "b", "sig": _sign(fields)}
        query |= {name: value for name, value in (("rscd", disposition), ("rsct", content_type)) if value}
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}/{CONTAINER}/{key}?{urlencode(query)}"


def _sign(fields: list[str], end: str = "") -> str:
    text = ("\n".join(fields) + end).encode()
    return base64.b64encode(hmac.new(base64.b64decode(KEY), text, hashlib.sha256).digest()).decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
