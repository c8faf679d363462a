"""Addresses as messages name them."""

from __future__ import annotations

from urllib.parse import urlsplit


def place(url: str) -> str:
    """Where a URL leads, without user info and query: a signed URL's query is a secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return "an address that is none"
