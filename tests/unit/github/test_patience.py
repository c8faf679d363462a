"""How long GitHub is waited for."""

from __future__ import annotations

import pytest

from arksim_ci.github.patience import limit_seconds

NOW = 1_800_000_000.0
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
FORBIDDEN = "Resource not accessible by integration"


@pytest.mark.parametrize(
    ("status", "headers", "message", "before", "wanted"),
    [
        (403, {"retry-after": "7"}, SECONDARY, 0, 7),
        (429, {"retry-after": "7", "x-ratelimit-reset": "1800000900"}, "", 0, 7),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000030"}, "API rate limit exceeded", 0, 31),
        (429, {"x-ratelimit-reset": "1800000030"}, "", 0, 31),
        (403, {"x-ratelimit-remaining": "900", "x-ratelimit-reset": "1800000030"}, SECONDARY, 0, 60),
        (403, {"x-ratelimit-remaining": "900"}, SECONDARY, 1, 120),
        (429, {}, "", 2, 240),
        (403, {"x-ratelimit-remaining": "900"}, FORBIDDEN, 0, None),
        (403, {}, FORBIDDEN, 0, None),
        (404, {"retry-after": "7"}, "Not Found", 0, None),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}, "API rate limit exceeded", 0, 1),
    ],
)
def test_limits(status: int, headers: dict[str, str], message: str, before: int, wanted: float | None) -> None:
    assert limit_seconds(status, headers, message, before, NOW) == wanted
