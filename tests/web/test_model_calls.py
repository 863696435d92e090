"""Model calls in the page: what was spent when, on what, and which failed."""

from __future__ import annotations

import datetime as dt

import pytest
from page_serving import until

from unabridged.memory.records import Inference
from unabridged.memory.values import new_id

NOON = dt.datetime(2025, 3, 4, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def calls(app):
    """130 calls over six hours, by two models; each thirteenth failed, each fifth belongs to a session."""
    memory = app.state.server.memory("crowd")
    models = [memory.models.register(name, "acme") for name in ("small", "large")]
    memory.inferences.append([
        Inference(id=new_id(), stage=("extract_graph", "answer")[n % 2], created_at=NOON + dt.timedelta(minutes=3 * n - n % 3),
                  model_id=models[n % 2].id, tokens_in=100, tokens_out=10, cost=0.01, seconds=0.5,
                  status="ok" if n % 13 else "timeout", session_id="s1" if n % 5 == 0 else None)
        for n in range(130)
    ])  # fmt: skip


def rows(page):
    return page.get_by_role("region", name="Model calls").locator("tbody tr").count()


@pytest.mark.usefixtures("calls")
def test_calls_are_narrowed_by_stage_model_status_and_session(looking):
    page = looking.go("inferences?dataset=crowd")
    page.get_by_role("heading", name="130 calls").wait_for()
    assert rows(page) == 100
    page.get_by_role("button", name="30 more").click()
    assert rows(page) == 130
    page.get_by_role("combobox", name="Status").select_option("timeout")
    page.get_by_role("heading", name="10 calls").wait_for()
    assert rows(page) == 10
    page.get_by_role("combobox", name="Model").select_option(label="acme/small")
    page.get_by_role("heading", name="5 calls").wait_for()
    page.get_by_role("combobox", name="Stage").select_option("extract_graph")
    page.get_by_role("heading", name="5 calls").wait_for()
    page = looking.go("inferences?dataset=crowd&session_id=s1&status=timeout&stage=answer")
    page.get_by_role("heading", name="1 call").wait_for()
    page.get_by_role("link", name="All sessions").click()
    page.get_by_role("heading", name="5 calls").wait_for()
    looking.go("inferences?dataset=crowd&status=nothing").get_by_text("No such calls").wait_for()


@pytest.mark.usefixtures("calls")
def test_what_was_spent_is_a_chart_over_time(looking):
    page = looking.go("inferences?dataset=crowd")
    chart = page.get_by_role("slider", name="Dollars spent each hour, 7 hours with calls.")
    chart.wait_for()
    chart.focus()
    page.keyboard.press("End")
    until(page, "document.querySelector('figcaption').textContent.startsWith('Mar 4, 2025, 06:00')")
    page.keyboard.press("Home")
    assert page.locator("figcaption").inner_text() == "Mar 4, 2025, 12:00 PM: $0.21, 21 calls"
    page = looking.go("sessions/s1?dataset=crowd")
    page.get_by_role("link", name="Its model calls").click()
    page.get_by_role("heading", name="26 calls").wait_for()
