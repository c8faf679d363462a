"""Addresses: how messages name them, and through which proxy they are reached."""

from __future__ import annotations

import urllib.request
from urllib.parse import urlsplit


def place(url: str) -> str:
    """Where a URL leads, without user info and query: a signed URL's query is a secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return "an address that is none"


def proxy_for(url: str) -> str | None:
    """The proxy that the machine is set to use for this address, as curl and pip use it."""
    parts = urlsplit(url)
    if urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return urllib.request.getproxies().get(parts.scheme)
