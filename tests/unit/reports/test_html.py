from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from arksim_ci.reports.agent_markdown import agent_html
from arksim_ci.reports.html import render_html_report
from arksim_ci.reports.safe_text import one_line
from tests.support import samples
from tests.support.hostile import HOSTILE

PAGES = {
    "all green": samples.all_green,
    "gate failed": samples.gate_failed,
    "not measured": samples.not_measured,
    "agent never spoke": samples.agent_never_spoke,
    "no gate": samples.no_gate,
    "non-Latin": samples.non_latin,
}
VOID = {"meta", "input", "rect", "line", "br", "hr"}


class Page(HTMLParser):
    """What is in a page: tags with attributes, ids, links, and the text that is shown."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.raw: dict[str, str] = {}
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.raw[self.open[-1]] = data
        else:
            self.text += data

    @property
    def ids(self) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get("id"))]

    @property
    def links(self) -> list[str]:
        return [value for tag, attributes in self.tags if tag == "a" and (value := attributes.get("href"))]


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_whole_and_their_links_lead_somewhere(name: str) -> None:
    page = Page(render_html_report(PAGES[name]()))
    assert not page.unbalanced
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith("#"), link
        assert link[1:] in page.ids, link


def test_only_our_style_and_script_may_run_and_nothing_is_fetched() -> None:
    html = render_html_report(samples.gate_failed())
    page = Page(html)
    policy = next(
        attributes["content"]
        for tag, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert '<meta charset="utf-8">' in html[:200]
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "video", "audio")
        assert "src" not in attributes
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_text_in_the_page(text: str) -> None:
    page = Page(render_html_report(samples.hostile(text)))
    markdown = {
        "em",
        "strong",
        "s",
        "ol",
        "ul",
        "li",
        "blockquote",
        "pre",
        "code",
        "hr",
        "br",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    tame = Page(render_html_report(samples.hostile("word")))
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in tame.tags} | markdown
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not page.unbalanced
    for _, attributes in page.tags:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset", "formaction")
        ]
    for link in page.links:
        assert link.startswith(("#", "http://", "https://", "mailto:")), link
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", page.text)
    if len(text) < 100:
        assert one_line(text) in one_line(page.text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain answer", "<p>plain answer</p>"),
        ("**bold** and `code`", "<p><strong>bold</strong> and <code>code</code></p>\n"),
        ("- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n"),
        ("# Title", '<p class="h">Title</p>\n'),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](data:text/html,y)", "<p>[x](data:text/html,y)</p>\n"),
        ("[x](//evil.example)", "<p>[x](//evil.example)</p>\n"),
        ("![alt](https://x.example/p.png)", "<p><em>[image: alt]</em> <code>https://x.example/p.png</code></p>\n"),
        (
            "[x](https://x.example)",
            '<p><a href="https://x.example" rel="noopener noreferrer nofollow" title="https://x.example">x</a></p>\n',
        ),
    ],
)
def test_the_agents_markdown_is_rendered_safely(text: str, expected: str) -> None:
    assert agent_html(text) == expected


def test_the_page_says_verdict_reasons_checks_errors_and_fixes() -> None:
    text = one_line(Page(render_html_report(samples.gate_failed())).text)
    for part in (
        "Gate failed",
        "3 of 4 checks failed, 4 unique errors.",
        "faithfulness is below 3.5 in 3 of 6 conversations",
        "Quotes an overdraft rate of 9.9%",
        "Recommended fix in Memory. Look the rate up",
        "return tariff_on(day).overdraft_rate",
        "overdraft-rate #1, turn 1",
        "The tariff says 14.9% a year, the agent says 9.9%.",
        "Judged by openai gpt-5.1-2026-05-12",
    ):
        assert part in text, part


def test_rules_are_not_sold_as_judgement() -> None:
    text = Page(render_html_report(samples.no_gate())).text
    assert "not the judgement of an LLM" in text
    assert "Judged by" not in text


def test_conversations_carry_what_the_filters_read() -> None:
    page = Page(render_html_report(samples.gate_failed()))
    found = {
        attributes["id"]: attributes
        for tag, attributes in page.tags
        if tag == "details" and attributes.get("class") == "c"
    }
    assert len(found) == 6
    branch = found["c5"]
    assert (branch["data-s"], branch["data-n"], branch["data-e"], branch["data-m"]) == (
        "Failed",
        "branch-visit",
        "2 4",
        "0 3",
    )


def test_a_thousand_conversations_stay_under_ten_megabytes() -> None:
    assert len(render_html_report(samples.many(1000)).encode()) < 10_000_000


@pytest.mark.parametrize(("minimum", "mark"), [(1.0, "98"), (0.9, "90.0"), (0.0, "0.0")])
def test_the_bar_of_a_check_marks_the_needed_rate(minimum: float, mark: str) -> None:
    results = samples.all_green()
    checks = [samples.numeric("overall_score", 0.7, 2, 3, minimum=minimum)]
    verdict = results.verdict.model_copy(update={"checks": checks})
    page = Page(render_html_report(replace(results, verdict=verdict)))
    (need,) = [attributes for tag, attributes in page.tags if tag == "rect" and attributes.get("class") == "need"]
    assert need["x"] == mark
