"""A server on the machine itself, seen from inside of a container: localhost is the container, the machine is its gateway."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

CONNECT_SECONDS: Final = 3.0
TRIES: Final = 10
"""With a second between them: a server that an earlier step started may still be starting."""
_PORTS = {"http": 80, "https": 443}
_DEFAULT_ROUTE = "00000000"

Accepts = Callable[[str, int], Awaitable[bool]]
"""Whether a host and port accept a connection."""


class OutOfReach(Exception):
    """Neither localhost nor the gateway accepts. The text names the ways out."""


@dataclass(frozen=True)
class Reached:
    """Where the server answers. `note` says what was done about it; it is empty where the URL is the one that was given."""

    url: str
    note: str = ""


async def reach(
    url: str,
    *,
    what: str,
    key: str,
    in_container: bool,
    routes: str,
    accepts: Accepts,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    tries: int = TRIES,
) -> Reached:
    """Find out where a server on localhost is reached from here.

    Args:
        url: of the server.
        what: who it is, for messages, such as `the agent`.
        key: the setting that holds the URL, for messages.
        in_container: whether this process runs in one; outside, nothing is tried.
        routes: the text of `/proc/net/route`.
        accepts: tries a connection.
        sleep: waits seconds.
        tries: how often both places are tried, a second apart.

    Raises:
        OutOfReach: nothing accepts at localhost nor at the gateway.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not in_container or not is_loopback(host):
        return Reached(url)
    port = parts.port or _PORTS.get(parts.scheme, 80)
    gateway = gateway_of(routes)
    for number in range(max(tries, 1)):
        if number:
            await sleep(1.0)
        if await accepts(host, port):
            return Reached(url)
        if gateway and await accepts(gateway, port):
            note = (
                f"{key} says {host}:{port}, where nothing listens inside of the action's container; {what} answers at the "
                f"machine's address {gateway}:{port}, which is used instead"
            )
            return Reached(with_host(url, gateway), note)
    tried = f"{host}:{port}" + (f" or {gateway}:{port}" if gateway else "")
    raise OutOfReach(
        f"{what} is out of reach: nothing accepts connections at {tried}. {host} is the action's own container: let {what} "
        f"listen on 0.0.0.0, or run it under `services:` and name it in {key}, or start it with agent-command"
    )


async def accepts_connections(host: str, port: int) -> bool:
    """Whether a host and port accept a connection within a few seconds."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def gateway_of(routes: str) -> str:
    """The gateway of the default route in `/proc/net/route`, where addresses are little-endian hexadecimal; empty if none."""
    for line in routes.splitlines()[1:]:
        fields = line.split()
        if (
            len(fields) > 7
            and fields[1] == _DEFAULT_ROUTE
            and fields[7] == _DEFAULT_ROUTE
            and fields[2] != _DEFAULT_ROUTE
        ):
            try:
                return str(ipaddress.IPv4Address(bytes.fromhex(fields[2])[::-1]))
            except ValueError:
                return ""
    return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address means the machine itself; 0.0.0.0 is understood so, too."""
    if host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def with_host(url: str, host: str) -> str:
    """The URL with another host; user info, port, path and query stay."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(parts._replace(netloc=f"{user}{at}{host}{port}"))
