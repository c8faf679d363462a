"""The report page's look in a browser: phone and desktop, light and dark, on paper, and for readers who don't see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arksim_ci.reports.results import Results
from tests.support import samples
from tests.support.report_page import DESKTOP, PHONE, REPORT, opened
from tests.support.tools import npm_tools

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("report page")]  # the first run installs axe-core

SAMPLES = (samples.gate_failed, samples.not_measured, samples.agent_never_spoke, samples.non_latin, samples.no_gate)


def test_on_paper_every_conversation_is_there_and_no_control(browser: Browser, demo: Path) -> None:
    with opened(browser, demo / REPORT) as watched:
        page = watched.page
        page.emulate_media(media="print")
        assert page.locator("nav").is_hidden()
        assert page.locator("#filter").is_hidden()
        heights = page.eval_on_selector_all("#list .msg", "all => all.map(m => m.getBoundingClientRect().height)")
        assert heights
        assert min(heights) > 15
        assert page.pdf().count(b"/Type /Page\n") >= 5


@pytest.mark.parametrize("run", SAMPLES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_overflows_sideways(
    browser: Browser, page_of: Callable[[Results], Path], run: Callable[[], Results], size: tuple[int, int]
) -> None:
    assert_fits(browser, page_of(run()), size)


@pytest.mark.parametrize(
    "text", ["x" * 2500, "| a | b |\n| - | - |\n" + "| long | cell |\n" * 20, "`" + "y" * 900 + "`"]
)
def test_long_text_does_not_widen_a_phone(browser: Browser, page_of: Callable[[Results], Path], text: str) -> None:
    assert_fits(browser, page_of(samples.hostile(text)), PHONE)


def test_a_real_run_fits_a_phone(browser: Browser, demo: Path) -> None:
    assert_fits(browser, demo / REPORT, PHONE)


def assert_fits(browser: Browser, path: Path, size: tuple[int, int]) -> None:
    with opened(browser, path, size=size) as watched:
        watched.open_everything()
        watched.settle()
        wide = watched.page.evaluate(
            """() => {
              const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
              return [...document.body.querySelectorAll('*')]
                .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e))
                .map(e => e.outerHTML.slice(0, 150));
            }"""
        )
        assert wide == []
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_dark_is_dark(browser: Browser, demo: Path) -> None:
    light, dark = (background(browser, demo / REPORT, dark=dark) for dark in (False, True))
    assert min(light) > 220
    assert max(dark) < 40


def background(browser: Browser, path: Path, *, dark: bool) -> list[int]:
    with opened(browser, path, dark=dark) as watched:
        colour = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(each) for each in re.findall(r"\d+", colour)[:3]]


@pytest.mark.parametrize(("size", "dark"), [(DESKTOP, False), (PHONE, True)], ids=["desktop-light", "phone-dark"])
@pytest.mark.parametrize("name", ["demo", *(run.__name__ for run in SAMPLES)])
def test_axe_finds_nothing_serious(
    browser: Browser, demo: Path, page_of: Callable[[Results], Path], name: str, size: tuple[int, int], dark: bool
) -> None:
    axe = (npm_tools() / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    path = demo / REPORT if name == "demo" else page_of(getattr(samples, name)())
    with opened(browser, path, size=size, dark=dark) as watched:
        watched.open_everything()
        watched.page.evaluate(axe)
        found = watched.page.evaluate("axe.run(document, {resultTypes: ['violations', 'passes']})")
    assert len(found["passes"]) > 15
    told = [
        f"{each['impact']} {each['id']}: {node['html'][:160]} ({node['failureSummary'][:300]})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
    assert told == []
