"""Images and series in a real browser: what each shows, what it belongs to, and that no picture runs anything."""

from __future__ import annotations

import datetime as dt
import math
import struct
import zlib

import httpx
import pytest
from page_seeding import HOSTILE
from page_serving import until

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="window.hacked=1">'
    b'<script>window.hacked=1</script><rect width="40" height="30" fill="#c33"/></svg>'
)
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def png(width: int, height: int) -> bytes:
    """A picture of one colour."""
    rows = zlib.compress(b"".join(b"\0" + b"\x30\x60\x90" * width for _ in range(height)))

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


@pytest.fixture(scope="module")
def told(app):
    """Images and series beside the report; their ids by a short name."""
    memory = app.state.server.memory("default")
    acme = memory.entities.find("Acme", "organization")
    made = {
        "quay": memory.images.add(png(640, 400), caption="The east quay", artifact=app.state.document, shows=[acme],
                                  session_id="desk/1", metadata={"camera": "X100"}),
        "svg": memory.images.add(SVG, caption=HOSTILE),
        "tiff": memory.images.add(b"II*\x00" + bytes(64), caption="A scan"),
        "broken": memory.images.add(png(8, 8)[:20]),
    }  # fmt: skip
    weight = memory.series.create("body weight", unit="kg", artifact=app.state.document, session_id="desk/1")
    memory.series.append(weight, [(START + dt.timedelta(days=n), 80 - n / 10) for n in range(100)])
    tide = memory.series.create("tide", unit="cm")
    memory.series.append(
        tide, [(START + dt.timedelta(minutes=10 * n), 200 + 180 * math.sin(n / 11.9)) for n in range(2000)]
    )
    one = memory.series.create(HOSTILE)
    memory.series.append(one, [("2025-03-04", 7)])
    made |= {"weight": weight, "tide": tide, "one": one, "empty": memory.series.create("nothing yet")}
    return {name: each.id for name, each in made.items()} | {"acme": acme.id}


# -- images -----------------------------------------------------------------------------------------------------------


def test_an_image_is_shown_with_its_text_and_the_entities_on_it(looking, told):
    page = looking.go("images")
    until(page, "document.querySelectorAll('.thumb canvas').length === 1")
    until(page, "document.querySelectorAll('.thumb img').length === 1")  # the drawing
    small = page.evaluate("(({ width, height }) => [width, height])(document.querySelector('.thumb canvas'))")
    assert small == [512, 320]
    page.get_by_role("link", name="The east quay").first.click()
    page.get_by_role("heading", name="The east quay").wait_for()
    picture = page.locator(".pane img.picture")
    assert picture.get_attribute("alt") == "The east quay"
    assert "PNG" in page.locator(".pane figure").inner_text()
    assert "640 × 400" in page.locator(".pane figure").inner_text()
    assert page.get_by_role("region", name="Entities on it").get_by_role("link", name="Acme").is_visible()
    assert "Acme, a history" in page.get_by_role("region", name="Its text").inner_text()
    assert page.locator(".thumb-link[aria-current=true]").count() == 1
    page.get_by_text("What is known of it").click()
    assert "X100" in page.locator(".known").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the file").click()
    assert saved.value.suggested_filename.endswith(".png")


def test_a_drawing_runs_nothing_and_its_caption_is_text(looking, told, root):
    page = looking.go(f"images/{told['svg']}")
    page.wait_for_selector(".pane img.picture")
    assert "SVG" in page.locator(".pane figure").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img[onerror], main script, main svg[onload]").count() == 0
    got = httpx.get(f"{root}/v1/gb/images/{told['svg']}/content")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-disposition"].startswith("attachment")
    assert got.headers["content-security-policy"] == "default-src 'none'; sandbox"


@pytest.mark.parametrize(("name", "kind"), [("tiff", "TIFF"), ("broken", "PNG")])
def test_what_a_browser_cannot_show_can_be_saved(looking, told, name, kind):
    page = looking.go(f"images/{told[name]}")
    page.get_by_text(f"Browsers do not show {kind} files, or this one is damaged.").wait_for()
    assert page.get_by_role("button", name="Save the file").is_visible()
    until(page, "document.querySelectorAll('.thumb > span').length === 2")  # their kind, in the place of a picture


def test_images_are_found_from_their_text_their_entity_and_their_session(looking, told, app):
    for view in (f"artifacts/{app.state.document}", f"entity/{told['acme']}", "sessions/desk%2F1"):
        page = looking.go(view)
        page.locator(".thumbs").get_by_role("link", name="The east quay").wait_for()
    assert page.get_by_role("link", name="body weight").get_attribute("href") == f"#/series/{told['weight']}"
    page = looking.go("images?session=desk%2F1")
    page.get_by_role("link", name="The east quay").wait_for()
    assert page.locator(".thumb-link").count() == 1
    page.get_by_role("link", name="All images").click()
    until(page, "document.querySelectorAll('.thumb-link').length === 4")


def test_a_large_file_is_not_fetched_to_be_shown_small(looking, told, app):
    """Only where somebody opens it; what is small is fetched as it comes into sight."""
    memory = app.state.server.memory("default")
    large = memory.images.add(png(4, 4) + bytes(2_200_000), caption="A large one")
    try:
        fetched = []
        looking.page.on("request", lambda asked: fetched.append(asked.url) if "/content" in asked.url else None)
        page = looking.go("images")
        thumb = page.locator(f".thumb-link[data-id='{large.id}']")
        assert " ".join(thumb.inner_text().split()) == "PNG, 2.2 MB A large one"
        page.locator(".thumb canvas").first.wait_for()
        assert fetched
        assert not [url for url in fetched if large.id in url]
        thumb.click()
        page.locator(".picture").wait_for()
        assert [url for url in fetched if large.id in url]
    finally:
        memory.images.delete([large.id])


def test_no_images_and_a_missing_one_are_told_of(looking, told):
    looking.go("images?dataset=crowd").get_by_text("No images").wait_for()
    looking.go("images/nothing").get_by_role("alert").wait_for()
    looking.faults = [fault for fault in looking.faults if "404" not in fault]


# -- series -----------------------------------------------------------------------------------------------------------


def test_a_series_is_a_chart_that_is_read_by_keyboard_and_windows_in_a_table(looking, told):
    page = looking.go(f"series/{told['weight']}")
    chart = page.get_by_role("slider", name="body weight: 100 points from Jan 1, 2024 to Apr 9, 2024")
    chart.wait_for()
    assert page.evaluate("document.querySelector('.chart .curve').getAttribute('points').split(' ').length") == 100
    chart.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert chart.get_attribute("aria-valuetext") == "Jan 2, 2024: 79.9 kg"
    assert page.locator("figcaption").inner_text() == "Jan 2, 2024: 79.9 kg"
    page.keyboard.press("End")
    assert chart.get_attribute("aria-valuenow") == "100"
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 80)
    assert "2024:" in page.locator("figcaption").inner_text()
    table = page.get_by_role("region", name="Statistics of each window of body weight")
    page.get_by_label("Windows of").select_option("30 days")
    until(page, "document.querySelectorAll('tbody tr').length === 4")
    assert [" ".join(text.split()) for text in table.locator("tbody tr").all_inner_texts()][1].startswith(
        "Jan 18, 2024 30 "
    )
    page.get_by_label("From", exact=True).fill("2024-03-01")
    page.get_by_text("40", exact=True).first.wait_for()  # points left
    assert "since=2024-03-01" in page.url


def test_a_long_series_is_drawn_in_windows_with_their_range(looking, told):
    page = looking.go(f"series/{told['tide']}")
    page.wait_for_selector(".chart .band")
    assert page.evaluate("document.querySelector('.chart .curve').getAttribute('points').split(' ').length") <= 302
    assert "the band from least to greatest" in page.locator("figcaption").inner_text()


def test_a_series_of_one_point_of_none_and_of_a_hostile_name(looking, told):
    page = looking.go(f"series/{told['one']}")
    page.wait_for_selector(".chart .spot")
    assert page.evaluate("window.hacked") is None
    assert HOSTILE in page.locator("main").inner_text()
    looking.go(f"series/{told['empty']}").get_by_text("No points").wait_for()
    page = looking.go(f"series/{told['weight']}?since=2030-01-01")
    page.get_by_text("None between these days.").wait_for()
    page.get_by_role("link", name="tide").click()
    page.wait_for_selector(".chart .band")
    looking.go("series?dataset=crowd").get_by_text("No series").wait_for()


ROUND = """async (base) => {
  const { figure, ticksOf } = await import(`${base}format.js`);
  const { steps } = await import(`${base}chart.js`);
  const day = 86400000, at = Date.UTC(2024, 0, 1);
  return {
    figures: [null, 0, 79.94, 1234.56, 2.9e7, 0.00000123, -12].map(figure),
    steps: [[0, 9], [13, 425], [5, 5], [0, 0], [-0.002, 0.003]].map(([low, high]) => steps(low, high)),
    ticks: [[at, at + day / 4, 4], [at, at + 5 * day, 6], [at, at + 400 * day, 5], [Date.parse("0001-01-01"), Date.UTC(2024, 0), 6], [at, at, 3]]
      .map(([from, to, most]) => ticksOf(from, to, most).map((one) => one.text)),
  };
}"""


def test_axes_have_round_figures_and_round_moments(looking):
    page = looking.go("preview")
    base = page.evaluate("document.querySelector('script[type=module]').src.replace('app.js', '')")
    found = page.evaluate(ROUND, base)
    assert found["figures"] == ["–", "0", "79.94", "1,234.6", "29M", "1.23E-6", "-12"]
    assert found["steps"][0] == [0, 2, 4, 6, 8, 10]
    assert found["steps"][1] == [0, 100, 200, 300, 400, 500]
    assert found["steps"][2] == [4.5, 5, 5.5]
    assert found["steps"][3] == [-1, 0, 1]
    assert found["steps"][4] == [-0.002, -0.001, 0, 0.001, 0.002, 0.003]
    hours, days, months, centuries, none = found["ticks"]
    assert hours == ["Jan 1", "03:00 AM", "06:00 AM"]
    assert days == ["Jan 1", "Jan 2", "Jan 3", "Jan 4", "Jan 5", "Jan 6"]
    assert months == ["Jan 2024", "Apr 2024", "Jul 2024", "Oct 2024", "Jan 2025"]
    assert centuries == ["500", "1000", "1500", "2000"]
    assert none == ["Jan 1"]
