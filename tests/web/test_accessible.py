"""What axe-core finds in every view: roles, names, structure, contrast; in light and wide, in dark and narrow."""

from __future__ import annotations

from importlib.resources import files

import pytest
from page_serving import Looking, until

pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install axe-playwright-python")
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
VIEWS = (
    "preview", "search?q=Who%20leads%20Acme%3F", "graph", "entity/ACME", "artifacts/DOCUMENT", "images", "series/SERIES",
    "sessions/desk%2F1", "vectors", "inferences", "jobs", "settings",
)  # fmt: skip
RUN = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200)])"""


@pytest.fixture(scope="module")
def places(app):
    """What stands in the place of ids."""
    memory = app.state.server.memory("default")
    series = memory.series.create("body weight", unit="kg")
    memory.series.append(series, [(f"2024-01-{day:02}", 80 - day / 10) for day in range(1, 30)])
    acme = memory.entities.find("Acme", "organization")
    return {"ACME": acme.id, "DOCUMENT": app.state.document, "SERIES": series.id}


@pytest.mark.parametrize(("scheme", "size"), [("light", (1280, 860)), ("dark", (360, 740))])
def test_axe_finds_nothing_in_any_view(browser, root, places, scheme, size):
    made = Looking(
        browser, root, color_scheme=scheme, reduced_motion="reduce", viewport={"width": size[0], "height": size[1]}
    )
    found = {}
    for view in VIEWS:
        for name, value in places.items():
            view = view.replace(name, value)
        page = made.go(view)
        until(page, "!document.querySelector('.busy')")
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        page.wait_for_timeout(150)
        page.evaluate(AXE)
        found[view] = page.evaluate(RUN)
    assert {view: faults for view, faults in found.items() if faults} == {}
    made.close()


def test_axe_finds_nothing_in_a_dialog(looking):
    page = looking.go("preview")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard").wait_for()
    page.evaluate(AXE)
    assert page.evaluate(RUN) == []
