"""Localhost from inside of a container: the gateway, or an error with the ways out."""

from __future__ import annotations

import pytest

from arksim_ci.agents.reach import OutOfReach, Reached, gateway_of, is_loopback, reach, with_host
from tests.support.fake_time import FakeTime

ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
)
URL = "http://localhost:8000/v1/chat?x=1"


async def reached(*open_places: str, in_container: bool = True, url: str = URL, routes: str = ROUTES) -> Reached:
    async def accepts(host: str, port: int) -> bool:
        return f"{host}:{port}" in open_places

    return await reach(
        url,
        what="the agent",
        key="agent_config.api_config.endpoint",
        in_container=in_container,
        routes=routes,
        accepts=accepts,
        sleep=FakeTime().sleep,
        tries=3,
    )


async def test_the_gateway_is_used_where_localhost_refuses_and_the_log_says_so() -> None:
    found = await reached("172.17.0.1:8000")
    assert found.url == "http://172.17.0.1:8000/v1/chat?x=1"
    assert "localhost:8000" in found.note
    assert "172.17.0.1:8000" in found.note


async def test_an_agent_that_the_action_started_itself_is_at_localhost() -> None:
    assert await reached("localhost:8000", "172.17.0.1:8000") == Reached(URL)


async def test_outside_of_a_container_and_for_other_hosts_nothing_is_changed() -> None:
    assert await reached("172.17.0.1:8000", in_container=False) == Reached(URL)
    assert (await reached(url="http://agent:8000/chat")).url == "http://agent:8000/chat"
    assert (await reached(url="https://api.example.com/v1")).note == ""


@pytest.mark.parametrize("routes", [ROUTES, "", "Iface\n"])
async def test_out_of_reach_names_the_three_ways_out(routes: str) -> None:
    with pytest.raises(OutOfReach) as caught:
        await reached("172.17.0.1:9", routes=routes)
    text = str(caught.value)
    for word in ("localhost:8000", "0.0.0.0", "`services:`", "agent-command", "agent_config.api_config.endpoint"):
        assert word in text


async def test_a_server_that_is_still_starting_is_waited_for() -> None:
    time = FakeTime()

    async def accepts(host: str, port: int) -> bool:
        return host == "172.17.0.1" and len(time.slept) == 4

    found = await reach(
        URL, what="the agent", key="k", in_container=True, routes=ROUTES, accepts=accepts, sleep=time.sleep
    )
    assert found.url.startswith("http://172.17.0.1:8000")
    assert time.slept == [1.0] * 4


def test_the_gateway_is_read_from_the_default_route() -> None:
    assert gateway_of(ROUTES) == "172.17.0.1"
    assert gateway_of(ROUTES.replace("010011AC", "zz")) == ""
    assert gateway_of("") == ""


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "a.localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["agent", "10.0.0.1", "localhost.example.com", "172.17.0.1", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_everything_but_the_host_stays() -> None:
    assert with_host("https://u:p@[::1]:8443/a?b=c#d", "10.0.0.1") == "https://u:p@10.0.0.1:8443/a?b=c#d"
    assert with_host("http://localhost/a", "10.0.0.1") == "http://10.0.0.1/a"
