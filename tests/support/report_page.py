"""The report page in Debian's Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.tools import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

REPORT = "final_report.html"
DESKTOP = (1280, 900)
PHONE = (390, 844)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; without it the test is skipped."""
    program = shutil.which("chromium")
    if program is None:
        missing("chromium is not installed (Debian's package); it opens the report page")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, and everything that it tried to do."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Script errors and what the console says as an error: a refused script, style or request among it."""

    def heard(self, dialog: Dialog) -> None:
        """A dialog opens."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def told(self, message: ConsoleMessage) -> None:
        """The console says something."""
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    @property
    def shown(self) -> list[str]:
        """The anchors of the conversations that the filters show."""
        found: list[str] = self.page.eval_on_selector_all("#list > details:not([hidden])", "all => all.map(c => c.id)")
        return found

    @property
    def count(self) -> str:
        """What the filters say about it."""
        return self.page.locator("#filter output").inner_text()

    def choose(self, name: str, value: str) -> None:
        """Choose a value of a filter and wait for it to be applied."""
        self.page.select_option(f"#filter [name={name}]", value)
        self.settle()

    def search(self, text: str) -> None:
        """Type into the search field and wait for it to be applied."""
        self.page.fill("#filter [name=q]", text)
        self.settle()

    def settle(self) -> None:
        """Wait until typing has been quiet for long enough to be applied."""
        self.page.wait_for_timeout(150)

    def open_everything(self) -> None:
        """Open every fold of the page."""
        self.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    fragment: str = "",
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    scripts: bool = True,
) -> Iterator[Watched]:
    """Open a page from its file."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
    )
    page = context.new_page()
    watched = Watched(page)
    page.on("dialog", watched.heard)
    page.on("request", lambda request: watched.requests.append(request.url))
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("console", watched.told)
    page.goto(f"{path.resolve().as_uri()}{fragment}")
    yield watched
    context.close()
