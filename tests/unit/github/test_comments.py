"""The hidden marker: escaped, found again, ordered by run and attempt."""

from __future__ import annotations

import pytest

from arksim_ci.github.comments import Marker, find_marker


@pytest.mark.parametrize("key", ["Gate/test/0", "a --> b", "-->", "<!-- x", "ключ 🔑 & % =", "a\nb", "a\"b'c"])
def test_any_key_is_found_again_and_can_not_end_the_marker(key: str) -> None:
    text = str(Marker(key, 12, 3))
    assert text.startswith("<!-- ")
    assert text.count("--") == 2
    assert text.index("-->") == len(text) - 3
    assert find_marker(f"Gate passed\n\n{text}\n") == Marker(key, 12, 3)


def test_the_last_marker_is_ours() -> None:
    assert find_marker(f"{Marker('forged', 9, 9)}\n{Marker('real', 1, 1)}") == Marker("real", 1, 1)


@pytest.mark.parametrize("body", ["", "<!-- arksim-action -->", "<!-- arksim-action key=a run=x attempt=1 -->"])
def test_other_texts_hold_none(body: str) -> None:
    assert find_marker(body) is None


def test_a_later_attempt_and_a_later_run_are_newer() -> None:
    assert Marker("a", 2, 1).is_newer_than(Marker("a", 1, 9))
    assert Marker("a", 1, 2).is_newer_than(Marker("a", 1, 1))
    assert not Marker("a", 1, 1).is_newer_than(Marker("a", 1, 1))
    assert Marker("a", 10, 1).is_newer_than(Marker("a", 9, 1))
