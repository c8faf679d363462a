"""Chromium opens a page and tells what happened in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.tools import missing

_DRIVER = """
import json, sys
from playwright.sync_api import sync_playwright

seen = {"dialogs": [], "requests": [], "errors": [], "navigations": []}
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    page = browser.new_page()
    page.on("dialog", lambda dialog: (seen["dialogs"].append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: seen["requests"].append(request.url[:200]))
    page.on("pageerror", lambda error: seen["errors"].append(str(error)[:500]))
    page.on("framenavigated", lambda frame: seen["navigations"].append(frame.url[:200]))
    page.goto(sys.argv[2], wait_until="load")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    page.wait_for_timeout(200)
    seen["text"] = page.evaluate("document.body.innerText")
    seen["tags"] = page.evaluate(
        "Object.entries([...document.querySelectorAll('*')].reduce((all, each) => "
        "({...all, [each.localName]: (all[each.localName] || 0) + 1}), {}))"
    )
    seen["attributes"] = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].flatMap(each => each.getAttributeNames()))]"
    )
    seen["links"] = page.evaluate("[...document.querySelectorAll('a[href]')].map(each => each.getAttribute('href'))")
    browser.close()
json.dump(seen, sys.stdout)
"""


@dataclass(frozen=True)
class Seen:
    """What a page did and shows once every fold is open.

    `requests` and `navigations` include the page's own; `tags` counts elements by name, `attributes` lists the names of all.
    """

    dialogs: list[str]
    requests: list[str]
    errors: list[str]
    navigations: list[str]
    text: str
    tags: dict[str, int]
    attributes: set[str]
    links: list[str]


def look_at(page: Path) -> Seen:
    """Open a local page in the machine's Chromium; skips the test where there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium is not installed; it shows whether the HTML report runs what it should only show")
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, chromium, page.resolve().as_uri()],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    return Seen(**{**seen, "tags": dict(seen["tags"]), "attributes": set(seen["attributes"])})
