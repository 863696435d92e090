"""The page in headless Chromium, drawn by software: until it can be used, and frames a second of a large graph.

``python -m benchmarks page [ARTIFACTS]`` (100,000 by default): a memory of so many texts and a graph of 5,000
entities and 9,000 facts, served by ``uvicorn`` in a process of its own. ``first_ms`` is from the address to a view
that is drawn and answers, in a new browser profile with the server's caches cold; ``again_ms`` the median of five
further profiles. ``fps`` counts animation frames while every frame draws the whole graph anew; ``frame_ms`` is what
drawing took of each. ``load`` is the machine's load average at both ends.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

_VIEWS = ("preview", "search", "artifacts", "graph", "sessions", "vectors")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_SERVER = """
import sys, uvicorn
from unabridged.config import load_config
from unabridged.server import create_app
app = create_app(load_config({"embedding": {"provider": "hashing", "cache": False}, "dbPath": sys.argv[1]}))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""
_FRAMES = """async ([name, seconds]) => {
  const s = unabridgedScene, slide = document.querySelector("[aria-label=Moment]");
  const steps = {
    move: (i) => { s.view.x = 0.3 * Math.sin(i / 20); s.draw(); },
    zoom: (i) => { s.view.scale = 350 * (1.5 + Math.sin(i / 15)); s.draw(); },
    chosen: (i) => { s.view.y = 0.2 * Math.sin(i / 20); s.draw(); },
    time: (i) => { slide.value = i * 7 % 1000; slide.dispatchEvent(new Event("input")); },
  };
  s.fit();
  if (name === "chosen") s.pick(s.order[0]);
  let frames = 0, spent = 0;
  const begun = performance.now();
  await new Promise((done) => {
    const step = (now) => {
      steps[name](frames); frames += 1; spent += s.spent;
      if (now - begun < 1000 * seconds) requestAnimationFrame(step); else done();
    };
    requestAnimationFrame(step);
  });
  return { fps: frames / ((performance.now() - begun) / 1000), frame_ms: spent / frames };
}"""


def main(arguments: list[str]) -> dict[str, Any]:
    """Seed, serve, look."""
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
    from page_seeding import crowd

    artifacts = int(arguments[0]) if arguments else 100_000
    folder = Path(tempfile.mkdtemp(prefix="unabridged-page-"))
    try:
        with Memory.open(folder / "place") as memory:
            crowd(memory, artifacts=artifacts, entities=5000, edges=9000)
            memory.optimize()
        before = os.getloadavg()[0]
        with _serving(folder) as root, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(_FLAGS))
            views = {view: _times(browser, root, view) for view in _VIEWS}
            frames = _frames(browser, root)
            browser.close()
        found = {
            "artifacts": artifacts,
            "nodes": 5000,
            "edges": 9000,
            "cores": os.cpu_count(),
            "views": views,
            "graph": frames,
        }
        found["load"] = [round(before, 1), round(os.getloadavg()[0], 1)]
        print(json.dumps(found, indent=2))
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
    process = subprocess.Popen([sys.executable, "-c", _SERVER, str(folder / "place"), str(port)], env=environment)
    root = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{root}/").close()
                break
            except OSError:
                time.sleep(0.1)
        yield root
    finally:
        process.terminate()
        process.wait()


def _times(browser: Any, root: str, view: str) -> dict[str, int]:
    took = [_once(browser, root, view) for _ in range(6)]
    return {"first_ms": took[0], "again_ms": round(statistics.median(took[1:]))}


def _once(browser: Any, root: str, view: str) -> int:
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    page.goto(f"{root}/#/{view}")
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    took = page.evaluate("performance.getEntriesByName('interactive')[0].startTime")
    context.close()
    return round(took)


def _frames(browser: Any, root: str) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{root}/#/graph")
    page.wait_for_selector("html[data-ready=graph]", state="attached", timeout=60_000)
    assert page.evaluate("unabridgedScene.count") == 5000
    found = {name: page.evaluate(_FRAMES, [name, 3]) for name in ("move", "zoom", "chosen", "time")}
    return {name: {key: round(value, 1) for key, value in one.items()} for name, one in found.items()}
