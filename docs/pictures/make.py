"""Make the pictures of the documentation from a real run: the comment in GitHub's light and dark, and the report.

    python docs/pictures/make.py            # writes the .png files beside this script

Needs chromium (Debian's package) and Playwright, which the tests need, too. The comment's look follows GitHub's own styles closely enough to
judge it; it is not GitHub.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

_STYLE = """
body { margin: 0; padding: 24px; background: var(--canvas); color: var(--text); font: 14px/1.5 "Noto Sans", sans-serif }
:root { --canvas: #fff; --text: #1f2328; --muted: #59636e; --line: #d1d9e0; --soft: #f6f8fa; --link: #0969da }
:root.dark { --canvas: #0d1117; --text: #f0f6fc; --muted: #9198a1; --line: #3d444d; --soft: #151b23; --link: #4493f8 }
.box { max-width: 860px; border: 1px solid var(--line); border-radius: 6px }
.head { background: var(--soft); border-bottom: 1px solid var(--line); padding: 8px 16px; color: var(--muted) }
.head b { color: var(--text) } .head span { border: 1px solid var(--line); border-radius: 2em; padding: 0 7px; font-size: 12px }
.body { padding: 16px } .body > :first-child { margin-top: 0 }
h2, h3, h4 { margin: 24px 0 12px; line-height: 1.25 } h2 { font-size: 1.5em; border-bottom: 1px solid var(--line); padding-bottom: .3em }
h3 { font-size: 1.25em } h4 { font-size: 1em }
table { border-collapse: collapse; display: block; overflow: auto; margin: 0 0 16px } th, td { border: 1px solid var(--line); padding: 6px 13px; text-align: left }
tr:nth-child(2n) td { background: var(--soft) }
blockquote { margin: 0 0 16px; padding: 0 1em; color: var(--muted); border-left: .25em solid var(--line) }
code { background: color-mix(in srgb, var(--muted) 18%, transparent); border-radius: 6px; padding: .2em .4em; font: 85% "Noto Sans Mono", monospace }
pre { background: var(--soft); border-radius: 6px; padding: 16px; overflow: auto } pre code { background: none; padding: 0 }
a { color: var(--link); text-decoration: none } sub { color: var(--muted) } p, ul, ol, details { margin: 0 0 16px }
"""


def main() -> int:
    """Run the sample agent's demo and take the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        printed = subprocess.run(
            [sys.executable, "-m", "arksim_ci", "demo", str(demo)], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        comment = printed.split("The comment on the pull request:\n", 1)[1].split("\nThe HTML report:", 1)[0]
        report = demo / "results" / "evaluation" / "final_report.html"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
            for theme in ("light", "dark"):
                page = Path(folder) / f"{theme}.html"
                page.write_text(_page(comment, theme), encoding="utf-8")
                _picture(browser, page, HERE / f"comment-{theme}.png", width=910, height=1500)
            _picture(browser, report, HERE / "report.png", width=1280, height=1500)
            _picture(browser, report, HERE / "report-dark.png", width=1280, height=900, dark=True)
            _picture(browser, report, HERE / "report-phone.png", width=390, height=1200)
            browser.close()
    return 0


def _chromium() -> str:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is needed to take the pictures")
    return chromium


def _page(comment: str, theme: str) -> str:
    body = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(comment)
    return (
        f'<!doctype html><html class="{theme}"><meta charset="utf-8"><style>{_STYLE}</style>'
        '<div class="box"><div class="head"><b>github-actions</b> <span>bot</span> commented</div>'
        f'<div class="body">{body}</div></div></html>'
    )


def _picture(browser: Browser, page: Path, target: Path, *, width: int, height: int, dark: bool = False) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", device_scale_factor=1
    )
    opened = context.new_page()
    opened.goto(page.as_uri())
    opened.screenshot(path=target)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
