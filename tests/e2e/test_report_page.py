"""The report page in a browser: what a reader does with it, and what it does not let others do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arksim_ci.reports.conversation_views import ConversationViews
from arksim_ci.reports.results import Results
from tests.support import samples
from tests.support.hostile import HOSTILE
from tests.support.report_page import DESKTOP, REPORT, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.xdist_group("report page")


def test_filters_show_what_the_files_say(browser: Browser, demo: Path, results: Results) -> None:
    views = list(ConversationViews(results))
    total = len(views)
    with opened(browser, demo / REPORT) as page:
        assert page.count == f"{total} of {total} shown"
        for status in {view.status for view in views}:
            page.choose("s", status)
            assert page.shown == [view.anchor for view in views if view.status == status]
        page.choose("s", "")
        for scenario in {view.scenario for view in views}:
            page.choose("n", scenario)
            assert page.shown == [view.anchor for view in views if view.scenario == scenario]
        page.choose("n", "")
        for numbered in results.errors:
            page.choose("e", str(numbered.number))
            assert page.shown == [view.anchor for view in views if numbered.number in view.errors]
        page.choose("e", "")
        for index, check in enumerate(results.verdict.checks):
            page.choose("m", str(index))
            failing = {each.conversation_id for each in check.failing}
            assert page.shown == [view.anchor for view in views if view.id in failing]
            assert page.count == f"{len(failing)} of {total} shown"
        assert not page.complaints


def test_filters_narrow_one_another_and_are_taken_back(browser: Browser, demo: Path, results: Results) -> None:
    views = list(ConversationViews(results))
    with opened(browser, demo / REPORT) as page:
        page.choose("s", "Failed")
        page.choose("n", "refund_time")
        page.search("15 BUSINESS days")
        assert page.shown == [view.anchor for view in views if view.name.startswith("refund_time #")]
        page.choose("n", "jacket_care")
        assert page.shown == []
        assert page.count == f"0 of {len(views)} shown"
        page.page.click("text=Show all")
        page.settle()
        assert len(page.shown) == len(views)


def test_search_finds_words_in_folded_conversations_and_ids(browser: Browser, demo: Path, results: Results) -> None:
    last = list(results.conversations)[-1]
    anchor = ConversationViews(results).anchors[last]
    with opened(browser, demo / REPORT) as page:
        page.search(f"  {last.upper()} ")
        assert page.shown == [anchor]
        word = results.conversations[last].turns()[0].agent.content.split()[-1]
        page.search(word)
        assert anchor in page.shown
        page.search("no such words anywhere")
        assert page.shown == []


def test_a_link_to_a_turn_opens_its_conversation(browser: Browser, demo: Path, results: Results) -> None:
    with opened(browser, demo / REPORT, "#c3t2") as page:
        assert page.page.locator("#c3").evaluate("c => c.open")
        assert page.page.locator("#c3t2").is_visible()
        assert in_view(page.page.locator("#c3t2").bounding_box())
    with opened(browser, demo / REPORT, "#error-2") as page:
        assert in_view(page.page.locator("#error-2").bounding_box())
        page.choose("s", "Done")
        link = page.page.locator("#error-2 .links a").first
        target = link.get_attribute("href")
        assert target is not None
        first = results.errors[1].error.occurrences[0]
        assert link.get_attribute("title") == f"conversation {first.conversation_id}"
        link.click()
        assert page.page.locator(target).is_visible()
        assert page.page.url.endswith(target)
    for nowhere in ("#nowhere", "#%", '#"><script>alert(1)</script>'):
        with opened(browser, demo / REPORT, nowhere) as page:
            assert not page.complaints
            assert page.page.locator("h1").is_visible()


def in_view(box: object) -> bool:
    return isinstance(box, dict) and 0 <= box["y"] < DESKTOP[1]


def test_more_places_than_links_are_one_click_away(browser: Browser, page_of: Callable[[Results], Path]) -> None:
    found = samples.many(200)
    numbered = found.errors[0]
    with opened(browser, page_of(found)) as page:
        page.page.click(f"#error-{numbered.number} .links a[data-error]")
        page.settle()
        assert len(page.shown) == len({each.conversation_id for each in numbered.error.occurrences}) > 12


def test_everything_can_be_done_with_the_keyboard(browser: Browser, demo: Path) -> None:
    with opened(browser, demo / REPORT) as watched:
        page = watched.page
        page.keyboard.press("Tab")
        skip = page.locator(".skip")
        assert skip.evaluate("link => link === document.activeElement")
        box = skip.bounding_box()
        assert box is not None and box["x"] >= 0
        seen: list[int] = []
        for _ in range(60):
            page.keyboard.press("Tab")
            place, outline = page.evaluate(
                "[[...document.querySelectorAll('*')].indexOf(document.activeElement),"
                " parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
                " * (getComputedStyle(document.activeElement).outlineStyle !== 'none')]"
            )
            assert outline >= 2, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
            seen.append(place)
        assert seen == sorted(set(seen)), "the tab order is the reading order, and no place holds the focus"
        summary = page.locator("#list > details > summary").first
        summary.focus()
        for key, state in (("Enter", True), ("Space", False), ("Space", True)):
            page.keyboard.press(key)
            assert page.locator("#list > details").first.evaluate("c => c.open") is state
        page.locator("#filter [name=s]").focus()
        page.keyboard.type("Done")
        watched.settle()
        assert watched.count != "20 of 20 shown"
        page.locator("#filter button").focus()
        page.keyboard.press("Enter")
        watched.settle()
        assert watched.count == "20 of 20 shown"


def test_without_javascript_everything_is_readable(browser: Browser, demo: Path, results: Results) -> None:
    with opened(browser, demo / REPORT, scripts=False) as watched:
        page = watched.page
        assert page.locator("#filter").is_hidden()
        for view in ConversationViews(results):
            page.locator(f"#{view.anchor} > summary").click()
            text = in_one_line(page.locator(f"#{view.anchor}").inner_text())
            for turn in results.conversations[view.id].turns():
                assert turn.user is not None
                assert in_one_line(turn.user.content) in text
        text = page.locator("#main").inner_text()
        for numbered in results.errors:
            assert numbered.error.unique_error_description in text


def in_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


HTML_LIKE = [text for text in HOSTILE if len(text) < 3000 and re.search("""[<>"'{]""", text)]
TOGETHER = "\n".join(text for text in HOSTILE if len(text) < 3000)


@pytest.mark.parametrize("text", [*HTML_LIKE, TOGETHER], ids=[*map(str, range(len(HTML_LIKE))), "together"])
def test_hostile_text_does_nothing(browser: Browser, page_of: Callable[[Results], Path], text: str) -> None:
    with opened(browser, page_of(samples.hostile(text))) as watched:
        watched.open_everything()
        page = watched.page
        page.mouse.move(300, 300)
        assert not watched.dialogs
        assert not watched.complaints
        assert [url for url in watched.requests if not url.startswith("file://")] == []
        assert len(watched.requests) == 1
        assert page.evaluate("document.scripts.length") == 1
        assert page.evaluate(
            "[...document.querySelectorAll('*')].every(e => ![...e.attributes].some(a => /^on|^style$|^src/.test(a.name)))"
        )
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\n]", page.title())
        titles = page.evaluate("[...document.querySelectorAll('[title]')].map(e => e.title)")
        assert titles
        assert not [each for each in titles if re.search("[\x00-\x08\u202a-\u202e\u2066-\u2069]", each)]
        assert page.evaluate("document.querySelector('#c1').dataset.s") == "Failed"


def test_the_policy_blocks_what_would_run_all_the_same(browser: Browser, demo: Path) -> None:
    with opened(browser, demo / REPORT) as watched:
        blocked = watched.page.evaluate(
            """async () => {
              const blocked = [];
              document.addEventListener('securitypolicyviolation', event => blocked.push(event.effectiveDirective));
              const add = html => document.body.append(document.createRange().createContextualFragment(html));
              add('<script>window.ran = 1</script>');
              add('<img src="https://evil.example/pixel.png" onerror="window.ran = 2">');
              add('<style>body { display: none }</style>');
              add('<iframe src="https://evil.example/"></iframe>');
              await fetch('https://evil.example/').catch(() => 0);
              await new Promise(done => setTimeout(done, 300));
              return [blocked, window.ran, getComputedStyle(document.body).display];
            }"""
        )
        directives, ran, display = blocked
        assert {"script-src-elem", "img-src", "style-src-elem", "frame-src", "connect-src"} <= set(directives)
        assert ran is None
        assert display == "block"


def test_a_thousand_conversations(
    browser: Browser, page_of: Callable[[Results], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = page_of(samples.many(1000))
    size = path.stat().st_size
    assert size < 10_000_000
    tries: list[float] = []
    for _ in range(5):  # other tests may be busy on the same machine: the quickest try is the page's own time
        with opened(browser, path) as watched:
            tries.append(watched.page.evaluate(SECONDS_TO_OPEN))
        if tries[-1] < 2:
            break
    with opened(browser, path) as watched:
        times = {
            what: watched.page.evaluate(FILTER, [name, value])
            for what, name, value in (
                ("status", "s", "Done"),
                ("error", "e", "1"),
                ("scenario", "n", "mortgage"),
                ("first search", "q", "appointment"),
                ("next search", "q", "overdraft"),
                ("all again", "q", ""),
            )
        }
    shown = ", ".join(f"{what} {value:.0f} ms" for what, value in times.items())
    with capsys.disabled():
        print(f"\n1,000 conversations: {size / 1e6:.1f} MB, opens in {min(tries):.2f} s; filtering: {shown}")
    assert min(tries) < 2
    assert all(value < 400 for value in times.values()), times


SECONDS_TO_OPEN = """async () => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() / 1000;  // since the page was asked for: read, laid out, scripts run, drawn
}"""
FILTER = """async ([name, value]) => {
  const form = document.getElementById('filter'), output = form.querySelector('output');
  form.reset();
  await new Promise(done => setTimeout(done, 300));
  const started = performance.now();
  const applied = new Promise(done => new MutationObserver(done).observe(output, {childList: true, characterData: true, subtree: true}));
  form.elements[name].value = value;
  form.elements[name].dispatchEvent(new Event('input', {bubbles: true}));
  await applied;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - started;
}"""
