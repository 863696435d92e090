"""A whole server on a port of loopback, and a real browser that looks at it."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from unabridged.config import load_config
from unabridged.server import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


def application(folder: Path, **more: Any) -> Any:
    """An application over a place of its own, with vectors that need no model."""
    server = {"keysFile": str(folder / "keys.json"), **more.pop("server", {})}
    embedding = {"provider": "hashing", "dimensions": 32, "cache": False}
    return create_app(load_config({"embedding": embedding, "dbPath": str(folder / "place"), "server": server, **more}))


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium, or a skipped test where it, or Playwright, is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if shutil.which(CHROMIUM) is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def until(page: Any, expression: str, seconds: float = 15.0) -> None:
    """Wait until an expression holds in the page; Playwright's own way needs eval, which the policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        if time.monotonic() > end:
            raise AssertionError(f"never true: {expression}")
        page.wait_for_timeout(25)


class Looking:
    """A page, and everything that it said went wrong."""

    def __init__(self, browser: Any, root: str, **options: Any) -> None:
        self.root = root
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)

    def go(self, route: str) -> Any:
        """Open a view and wait until it is drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.root}/#/{route}")
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def close(self) -> None:
        """Give the page back; nothing may have gone wrong in it."""
        self.context.close()
        assert not self.faults
