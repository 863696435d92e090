"""`job run` with processes, batches and metrics; `job report`; `sweep`: as users type them."""

from __future__ import annotations

import json
import re
import urllib.request
from collections import Counter
from dataclasses import dataclass

import pytest

from unabridged.cli.app import run
from unabridged.testing import LoopbackProvider
from unabridged.testing.batches import BatchServer

TEXTS = [f"row {n} with words" for n in range(60)]


@dataclass
class Said:
    """What a command said."""

    stdout: str
    stderr: str


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNABRIDGED_JOBS", str(tmp_path / "jobs"))
    monkeypatch.setenv("OPENAI_API_KEY", "key-123456")

    def command(*arguments: str, code: int = 0) -> Said:
        capsys.readouterr()
        found = run(arguments)
        said = Said(*capsys.readouterr())
        assert found == code, said.stderr
        return said

    return command


def test_a_job_in_processes_and_its_report(shell, tmp_path) -> None:
    told = shell("job", "run", "in.jsonl", "-o", "out.parquet", "--model", "hashing", "--processes", "2", "--json")
    report = json.loads(told.stdout)
    assert (report["status"], report["counts"]["done"]) == ("done", 60)
    said = shell("job", "report", report["id"])
    page = tmp_path / "jobs" / report["id"] / "report.html"
    assert said.stderr.strip() == str(page)
    assert "Throughput" in page.read_text()
    shell("job", "report", report["id"], "-o", "mine.html")
    assert (tmp_path / "mine.html").read_text().startswith("<!doctype html>")
    assert "no job 'nothing'" in shell("job", "report", "nothing", code=2).stderr


def test_a_job_by_batches_costs_half(shell, tmp_path) -> None:
    with BatchServer("openai", looks=0) as server:
        told = shell("job", "run", "in.jsonl", "-o", "out.parquet", "--model", "openai/text-embedding-3-small", "--base-url", server.url, "--batch", "--price", "1", "--no-cache", "--json")  # fmt: skip
        report = json.loads(told.stdout)
        assert (report["status"], report["counts"]["done"]) == ("done", 60)
        assert report["cost"] == pytest.approx(report["tokens"] * 0.5 / 1e6)
        assert server.paid == Counter(TEXTS)
        assert len(server.batches) == 1


def test_metrics_are_served_while_a_job_runs(shell, tmp_path) -> None:
    pages, asked = [], []

    def look(seen) -> float:
        asked.append(seen)
        if len(asked) == 2:  # the first is answered, for there is one at a time
            with urllib.request.urlopen("http://127.0.0.1:19431/metrics", timeout=5) as answer:
                pages.append(answer.read().decode())
        return 0.0

    with LoopbackProvider(latency=look) as server:
        told = shell("job", "run", "in.jsonl", "-o", "out.parquet", "--model", "openai/m", "--base-url", server.url, "--no-cache", "--concurrency", "1", "--metrics", "19431", "--spans")  # fmt: skip
    assert "metrics: http://127.0.0.1:19431/metrics" in told.stderr
    job = r'job="out-[0-9a-f]{8}",model="openai/m"'
    assert re.search(rf'unabridged_requests_total{{{job},outcome="ok"}} 1\.0', pages[0])
    assert re.search(rf"unabridged_texts_total{{{job}}} 32\.0", pages[0])


def test_what_cannot_go_together_is_refused(shell) -> None:
    base = ("job", "run", "in.jsonl", "-o", "out.parquet", "--model", "hashing")
    assert "hashing has no batch API here" in shell(*base, "--batch", code=2).stderr
    assert "--rate: needs --ray" in shell(*base, "--rate", "5", code=2).stderr
    assert "cannot be combined" in shell(*base, "--ray", "local", "--processes", "2", code=2).stderr
    assert "cannot be combined" in shell(*base, "--batch", "--processes", "2", code=2).stderr


def test_sweep_says_what_is_stale_and_makes_it_new(shell, tmp_path) -> None:
    text = "\n\n".join(f"Paragraph {n} has a number of words, so that it is worth a chunk." for n in range(60))
    (tmp_path / "book.md").write_text(text)
    shell("memory", "add", "book.md", "--uri", "mem", "--model", "hashing", "--max-tokens", "300")
    sweep = ("sweep", "--uri", "mem", "--model", "hashing", "--size", "100")
    stale = json.loads(shell(*sweep, "--dry-run", "--json").stdout)
    assert (stale["documents"], stale["vectors"]) == (1, 0)
    assert stale["chunks"] > 2
    assert re.match(r"1 document, \d+ chunks", shell(*sweep, "--dry-run").stdout)
    assert re.match(r"1 document, \d+ chunks, \d+ removed, \d+ vectors", shell(*sweep).stdout)
    assert shell(*sweep, "--dry-run").stdout == "nothing is stale\n"
    assert "nothing to compare with" in shell("sweep", "--uri", "mem", code=2).stderr


def test_sweep_makes_an_output_new(shell, tmp_path) -> None:
    shell("job", "run", "in.jsonl", "-o", "out.parquet", "--model", "hashing", "--keep", "*")
    (tmp_path / "other.json").write_text(json.dumps({"embedding": {"provider": "hashing", "dimensions": 24}}))
    assert shell("sweep", "out.parquet", "--model", "hashing", "--dry-run").stdout == "nothing is stale\n"
    assert shell("sweep", "out.parquet", "-c", "other.json", "--dry-run").stdout == "60 rows are stale\n"
    assert shell("sweep", "out.parquet", "-c", "other.json").stdout == "60 rows made new, 60 chunks\n"
    assert shell("sweep", "out.parquet", "-c", "other.json").stdout == "nothing is stale\n"
    shell("job", "run", "in.jsonl", "-o", "bare.npy", "--model", "hashing")
    assert "has no column 'text'" in shell("sweep", "bare.npy", "-c", "other.json", code=2).stderr
    assert (
        shell("sweep", "bare.npy", "-c", "other.json", "--source", "in.jsonl").stdout == "60 rows made new, 60 chunks\n"
    )
    assert "nothing to compare with" in shell("sweep", "out.parquet", code=2).stderr


def test_a_job_file_says_where_and_how(shell, tmp_path) -> None:
    with BatchServer("openai", looks=0) as server:
        embedding = {"provider": "openai", "model": "text-embedding-3-small", "baseURL": server.url, "cache": False}
        job = {"source": "in.jsonl", "sink": "out.parquet", "batch": True, "price": 2}
        (tmp_path / "job.json").write_text(json.dumps({"embedding": embedding, "job": job}))
        report = json.loads(shell("job", "run", "job.json", "--json").stdout)
        assert report["cost"] == pytest.approx(report["tokens"] / 1e6)
        assert server.paid == Counter(TEXTS)
    job = {"source": "in.jsonl", "sink": "two.parquet", "processes": 2}
    (tmp_path / "job.json").write_text(json.dumps({"embedding": {"provider": "hashing"}, "job": job}))
    assert json.loads(shell("job", "run", "job.json", "--json").stdout)["counts"]["done"] == 60
