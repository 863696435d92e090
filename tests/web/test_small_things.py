"""What a newcomer met in the page: a row of views that goes on, a small graph, no chat model, no such page, no price."""

from __future__ import annotations

import json

import pytest
from on_a_port import on_a_port
from page_serving import Looking, application, until

PHONE = {"viewport": {"width": 375, "height": 740}}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A server without a chat model, over a memory of two entities and one fact."""
    made = application(tmp_path_factory.mktemp("bare"))
    with made.state.server.memory("default", create=True).write() as tx:
        note = tx.artifact("Alice works at Acme.")
        tx.edge(
            tx.entity("Alice", "person", artifact=note),
            "works at",
            tx.entity("Acme", "firm", artifact=note),
            artifact=note,
        )
    with on_a_port(made) as address:
        yield address


@pytest.fixture
def phone(browser, bare):
    made = Looking(browser, bare, **PHONE)
    yield made
    made.close()


def test_the_row_of_views_shows_where_it_goes_on(phone):
    page = phone.go("preview")
    until(page, "document.querySelector('.side nav').className === 'after'")
    assert page.evaluate("getComputedStyle(document.querySelector('.side'), '::after').content").startswith('"›"')
    page.evaluate("document.querySelector('.side nav').scrollLeft = 120")
    until(page, "document.querySelector('.side nav').className.split(' ').sort().join() === 'after,before'")
    page.evaluate("document.querySelector('.side nav').scrollLeft = 9999")
    until(page, "document.querySelector('.side nav').className === 'before'")
    page.set_viewport_size({"width": 1280, "height": 860})
    until(page, "document.querySelector('.side nav').className === ''")


def test_the_button_of_the_preview_covers_nothing_on_a_small_window(phone):
    page = phone.go("preview")
    page.wait_for_selector(".chunk")
    covered = "getComputedStyle(document.querySelector('.controls .run')).position"
    assert page.evaluate(covered) == "static"


def test_without_a_chat_model_nobody_is_offered_an_answer(phone):
    page = phone.go("search?q=Where%20does%20Alice%20work%3F")
    page.get_by_text("No chat model is configured").wait_for()
    assert page.get_by_role("button", name="Answer this with a model").count() == 0


def test_a_graph_of_two_stands_in_the_middle(phone):
    page = phone.go("graph")
    until(page, "window.unabridgedScene?.frames > 0")
    spots = page.evaluate(
        "(({sx, sy, width, height}) => [...sx].map((x, at) => [x / width, sy[at] / height]))(unabridgedScene)"
    )
    assert len(spots) == 2
    assert all(0.2 < place < 0.8 for spot in spots for place in spot), spots
    assert spots[0] != spots[1]


def test_an_address_of_nothing_says_so(phone):
    page = phone.go("nowhere")
    assert page.get_by_role("heading", level=1).inner_text() == "No such page"
    assert page.locator("nav [aria-current]").count() == 0
    page.get_by_role("main").get_by_role("link", name="Preview chunks").click()
    page.wait_for_selector(".chunk")


def test_a_job_of_a_model_in_this_process_has_no_price(phone, tmp_path, monkeypatch):
    from unabridged.jobs.job import run_job
    from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings

    monkeypatch.setenv("UNABRIDGED_JOBS", str(tmp_path / "jobs"))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "A ship."}) + "\n", "utf-8")
    source, sink = SourceSettings((str(tmp_path / "rows.jsonl"),)), SinkSettings(str(tmp_path / "out.parquet"))
    assert run_job(JobSettings(source, sink, EmbedderSpec("hashing", {"dimensions": 8}), name="one")).status == "done"
    page = phone.go("jobs")
    page.get_by_role("article", name="Job one").wait_for()
    assert "no price: runs here" in page.inner_text("main")
    assert "price unknown" not in page.inner_text("main")
