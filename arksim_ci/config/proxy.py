"""The proxy that the machine is set to use."""

from __future__ import annotations

import urllib.request
from urllib.parse import urlsplit


def proxy_for(url: str) -> str | None:
    """The proxy for this address, as curl and pip find it: `HTTPS_PROXY`, `HTTP_PROXY`, and `NO_PROXY`; None where there is none."""
    parts = urlsplit(url)
    if urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return urllib.request.getproxies().get(parts.scheme)
