"""`job report`: one page, well-formed, with nothing to load and no text in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from unabridged import Embedder
from unabridged.errors import ConfigError, JobError
from unabridged.jobs.job import run_job
from unabridged.jobs.report import job_report, write_report
from unabridged.jobs.report_plots import bars, columns, lines, nice_ticks
from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
from unabridged.providers.openai import OpenAIProvider
from unabridged.testing import LoopbackProvider, Trouble
from unabridged.types import Limit


def settings_of(tmp_path, opener, rows, **options) -> JobSettings:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source, sink = SourceSettings((str(tmp_path / "in.jsonl"),), id="id"), SinkSettings(str(tmp_path / "out.parquet"))
    given = {"folder": str(tmp_path / "jobs"), "name": "books", "cache": False, "block_rows": 20, **options}
    return JobSettings(source, sink, opener, **given)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A job in two runs, with long, blank and refused rows: its folder, and its report."""
    tmp_path = tmp_path_factory.mktemp("report")
    rows = [{"id": f"doc/{n}.md", "text": f"secret words {n} " * (1 + n % 90)} for n in range(200)]
    rows[7]["text"] = "poison"
    rows[8] = {"id": "<script>alert(1)</script>", "text": "poison"}
    rows[9]["text"] = "  "
    trouble = Trouble(
        status=400, body='{"error": {"message": "a <b>filter</b> refused it"}}', times=None, when=poisoned
    )
    limit = Limit(input_tokens=200, request_inputs=16)
    with LoopbackProvider(limit=limit, troubles=[trouble], latency=0.005) as server:

        def opener(**overrides):
            return Embedder(OpenAIProvider("m", base_url=server.url, api_key="key-123456", limit=limit), **overrides)

        settings = settings_of(tmp_path, opener, rows, price=0.02)
        cancel = threading.Event()
        with pytest.raises(JobError):
            run_job(settings, cancel=cancel, progress=lambda state: state.rows and cancel.set())
        return tmp_path / "jobs", run_job(settings)


def poisoned(seen) -> bool:
    return "poison" in seen.texts


def parsed(page: str) -> ET.Element:
    body = page.partition("<body>")[2].partition("</body>")[0]
    return ET.fromstring(body)


def test_the_page_is_whole_and_says_what_the_journal_says(done) -> None:
    jobs, ended = done
    page = job_report(jobs, "books")
    body = parsed(page)
    facts = {div[1].text: div[0].text for div in body.find("div[@class='facts']")}
    assert facts["rows done"] == f"{ended.counts.done:,}"
    assert facts["failed"] == "2"
    assert facts["blank"] == "1"
    assert facts["tokens billed"] == f"{ended.tokens:,}"
    assert facts["requests"] == f"{ended.requests:,}"
    assert float(facts["cost"]) == pytest.approx(ended.cost, rel=1e-3)
    titles = [head.text for head in body.iter("h2")]
    assert titles == ["Throughput", "Cost", "Lengths", "Chunks a text", "Failures by cause", "Failed rows", "Runs"]
    assert len(body.findall(".//svg")) == 5
    assert all(svg.get("aria-label") and svg.get("role") == "img" for svg in body.iter("svg"))
    assert sum("interrupted" in (cell.text or "") for cell in body.iter("td")) == 1


def test_the_columns_add_up_to_the_rows(done) -> None:
    jobs, ended = done
    body = parsed(job_report(jobs, "books"))
    by_label = {svg.get("aria-label"): svg for svg in body.iter("svg")}
    for label, svg in by_label.items():
        counts = [
            int(title.text.split(": ")[1].split(" ")[0].replace(",", ""))
            for title in svg.iter("title")
            if ": " in title.text and svg.find("rect") is not None
        ]
        if label.startswith("Texts by"):
            assert sum(counts) == ended.counts.done, label
        if label.startswith("Failed"):
            assert sum(counts) == ended.counts.failed


def test_promise_12_it_loads_nothing_and_holds_no_text_and_no_key(done) -> None:
    page = job_report(done[0], "books")
    assert "secret words" not in page
    assert "poison" not in page
    assert "key-123456" not in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "a &lt;b&gt;filter&lt;/b&gt;" in page
    for outside in ("http:", "https:", "src=", "url(", "@import", "<link"):
        assert outside not in page, outside


def test_a_job_without_price_or_failures_shows_tokens(tmp_path) -> None:
    rows = [{"id": str(n), "text": f"text {n}"} for n in range(50)]
    run_job(settings_of(tmp_path, EmbedderSpec("hashing"), rows))
    titles = [head.text for head in parsed(job_report(tmp_path / "jobs", "books")).iter("h2")]
    assert titles == ["Throughput", "Tokens", "Lengths", "Chunks a text", "Runs"]


def test_a_job_that_did_nothing_yet_has_a_page(tmp_path) -> None:
    with LoopbackProvider(keys=["other"]) as server:

        def opener(**overrides):
            return Embedder(OpenAIProvider("m", base_url=server.url, api_key="key-123456"), **overrides)

        with pytest.raises(Exception, match="refused"):
            run_job(settings_of(tmp_path, opener, [{"id": "1", "text": "a"}]))
    body = parsed(job_report(tmp_path / "jobs", "books"))
    assert [head.text for head in body.iter("h2")] == ["Runs"]
    assert body.find("p/span").text == "stopped"


def test_a_job_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match="no job 'nothing'"):
        job_report(tmp_path, "nothing")


def test_plots_of_awkward_numbers() -> None:
    for svg in (
        lines([(0.0, 0.0)], label="a", x_text=str, y_text=str),
        lines([(0.0, 0.0), (1e7, 1e12)], label='a "quoted" label', x_text=str, y_text=str, breaks=[5.0]),
        columns([("1", 1)], label="a", unit="rows"),
        columns([(f"{n} to {n + 1}", n) for n in range(1, 40)], label="a", unit="rows"),
        bars({"<b>": 1, "other": 10**9}, label="a", unit="rows"),
    ):
        ET.fromstring(svg)
        assert "nan" not in svg
    for most in (0, 0.003, 1, 4, 5, 7, 99, 100, 101, 12345, 1e9):
        ticks = nice_ticks(most)
        assert ticks[0] == 0
        assert ticks[-1] >= most
        assert 2 <= len(ticks) <= 6, most


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_chromium_draws_it(done, tmp_path) -> None:
    page = write_report(done[0], "books", tmp_path / "report.html")
    assert [path.name for path in tmp_path.glob(".report*")] == []
    picture = tmp_path / "report.png"
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    shot = [*command, f"--screenshot={picture}", "--window-size=1000,1600", page.as_uri()]
    subprocess.run(shot, capture_output=True, timeout=100, check=True)
    colours = pixels(picture)
    assert (42, 111, 219) in colours  # the line and the columns
    assert (200, 64, 58) in colours  # the failures
    dom = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=100, check=True
    )
    assert dom.stdout.count("<svg") == 5


def pixels(picture: Path) -> set[tuple[int, ...]]:
    image = pytest.importorskip("PIL.Image")
    with image.open(picture) as opened:
        return {colour for _, colour in opened.convert("RGB").getcolors(1 << 24)}
