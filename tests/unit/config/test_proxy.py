"""Which proxy is used for an address."""

from __future__ import annotations

import pytest

from arksim_ci.config.proxy import ProxyFault, proxy_for

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "http://a.example/v1", None),
        ({"HTTP_PROXY": "http://p:3128"}, "http://a.example/v1", "http://p:3128"),
        ({"HTTP_PROXY": "http://p:3128"}, "https://a.example/v1", None),
        ({"HTTPS_PROXY": "http://u:w@p:3128/"}, "HTTPS://a.example/v1", "http://u:w@p:3128/"),
        ({"HTTP_PROXY": "p:3128"}, "http://a.example/v1", "http://p:3128"),
        ({"HTTP_PROXY": "u:w@p:3128"}, "http://a.example/v1", "http://u:w@p:3128"),
        ({"HTTP_PROXY": " http://p:3128\n"}, "http://a.example/v1", "http://p:3128"),
        ({"ALL_PROXY": "http://p:3128"}, "https://a.example/v1", "http://p:3128"),
        ({"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2"}, "https://a.example/v1", "http://p:2"),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "b.example,.a.example"}, "http://x.a.example:80/v1", None),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.example"}, "http://user:pw@a.example/v1", None),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, "http://a.example/v1", None),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "::1"}, "http://[::1]:8080/v1", None),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "::1"}, "http://[::1]/v1", None),
        ({"ALL_PROXY": "socks5://p:1", "NO_PROXY": "a.example"}, "http://a.example/v1", None),
    ],
)
def test_the_proxy_is_found_as_curl_and_pip_find_it(
    variables: dict[str, str], url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == proxy


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize(
    "value",
    [
        "socks5://user:pass-word@p:1080",
        "http://user:pass-word@p:99999",
        "http://user:pass/word@p:1",
        "http://user:pass-word@[::1",
        "http://",
    ],
)
def test_what_is_no_http_proxy_is_named_without_its_credentials(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ProxyFault, match=rf"\({variable}\) can't be used: it must begin with http://") as caught:
        proxy_for("https://a.example/v1")
    assert "word" not in str(caught.value)
    assert not caught.value.passing
