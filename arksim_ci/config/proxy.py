"""The proxy that the machine is set to use."""

from __future__ import annotations

import contextlib
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

from arksim_ci.retry import llm_status_is_retryable


class ProxyFault(Exception):
    """The proxy can't be used or reached, or refuses. The text names it without its credentials.

    `passing` says whether another try makes sense.
    """

    def __init__(self, cause: str, *, passing: bool) -> None:
        super().__init__(cause)
        self.passing = passing


def proxy_for(url: str) -> str | None:
    """The proxy for this address, as curl and pip find it; None where there is none.

    `HTTPS_PROXY` or `HTTP_PROXY`, else `ALL_PROXY`, with or without `http://`; but not for what `NO_PROXY` names.

    Raises:
        ProxyFault: it is no address of an HTTP proxy.
    """
    import yarl  # noqa: PLC0415  (comes with aiohttp, which is loaded when the first request is made)

    parts = urlsplit(url)
    names = (parts.netloc.rpartition("@")[2], parts.hostname or "")  # NO_PROXY has IPv6 addresses without brackets
    if any(map(urllib.request.proxy_bypass, names)):
        return None
    proxies = urllib.request.getproxies()
    proxy = (proxies.get(parts.scheme) or proxies.get("all") or "").strip()
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    with contextlib.suppress(ValueError):
        address = yarl.URL(proxy)
        if address.scheme in ("http", "https") and address.host:
            return proxy
    name = f"{parts.scheme.upper()}_PROXY" if proxies.get(parts.scheme) else "ALL_PROXY"
    cause = f"the proxy of this machine ({name}) can't be used: it must begin with http:// or https:// and name a host"
    raise ProxyFault(cause, passing=False)


@contextlib.contextmanager
def through(proxy: str | None) -> Iterator[None]:
    """Make a request through this proxy: what goes wrong with it is said of it, and not in aiohttp's words, which hold its credentials.

    Raises:
        ProxyFault: it can't be reached, or refuses.
    """
    import aiohttp  # noqa: PLC0415
    import yarl  # noqa: PLC0415

    try:
        yield
    except (aiohttp.ClientHttpProxyError, aiohttp.ClientConnectorError) as error:
        if proxy is None:
            raise
        address = yarl.URL(proxy)
        if isinstance(error, aiohttp.ClientHttpProxyError):
            passing = llm_status_is_retryable(error.status)
            raise ProxyFault(f"the proxy {address.origin()} answers HTTP {error.status}", passing=passing) from None
        if (error.host, error.port) != (address.raw_host, address.port):
            raise
        cause = error.strerror or type(error).__name__
        raise ProxyFault(f"the proxy {address.origin()} can't be reached: {cause}", passing=True) from None
