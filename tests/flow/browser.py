"""A real browser on a page: what it asks for, how wide it is, and how it looks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")

PHONE, DESK = 390, 1200
"""Widths in pixels."""


def chromium() -> str:
    """Where the browser is; a test without one is skipped by name, and fails where every test must run."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        reason = "no Chromium on this machine"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{reason}; .ci/run installs it")
        pytest.skip(reason)
    return found


@dataclass(frozen=True)
class Look:
    """What a browser made of a page.

    Args:
        requests: addresses it wanted beside the page itself; every one was refused.
        overflow: by width, how many pixels the page is wider than the window.
        faults: messages of its console.
        headings: levels of the headings in order.
        pictures: files with what was seen.
    """

    requests: list[str]
    overflow: dict[int, int]
    faults: list[str]
    headings: list[int]
    pictures: list[Path]


@contextmanager
def browser() -> Iterator[Any]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    # the system's sandbox does not run under root, which is who runs tests in a container
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=options)
        try:
            yield opened
        finally:
            opened.close()


def look_at(opened: Any, page: Path, pictures: Path) -> Look:
    """Open a page from its file at two widths and on paper.

    Args:
        opened: from :func:`browser`.
        page: an HTML file.
        pictures: folder for what was seen.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    own, asked, faults, overflow, taken = page.as_uri(), [], [], {}, []
    tab = opened.new_page()
    tab.on("console", lambda message: faults.append(message.text))

    def judge(route: Any) -> None:
        if route.request.url == own:
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    tab.route("**/*", judge)
    for width in (PHONE, DESK):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(own)
        # folded tables are opened, since they are part of what must fit
        tab.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        root = "document.documentElement"
        overflow[width] = tab.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        taken.append(pictures / f"{page.stem}-{width}.png")
        tab.screenshot(path=taken[-1], full_page=True)
    headings = tab.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(one => Number(one.tagName[1]))")
    taken.append(pictures / f"{page.stem}.pdf")
    tab.pdf(path=taken[-1], prefer_css_page_size=True)
    tab.close()
    return Look(asked, overflow, faults, headings, taken)
