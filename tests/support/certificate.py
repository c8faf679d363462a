"""A certificate of nobody that anybody trusts."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def self_signed(folder: Path, name: str = "DNS:localhost") -> tuple[Path, ssl.SSLContext]:
    """The file of a certificate that was made just now for this name, and a server's side of it."""
    path, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-keyout", str(key), "-out", str(path), "-subj", "/CN=localhost", "-addext", f"subjectAltName={name}"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(path, key)
    return path, context
