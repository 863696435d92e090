"""Issue 9, part 2: how far a job is, told while its first shard is under way, and to other processes too."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from jobkit import Bench, Remote

from unabridged.errors import JobError
from unabridged.jobs.job import run_job
from unabridged.jobs.journal import DIED, Journal
from unabridged.jobs.pool import processes
from unabridged.jobs.progress import JobProgress, Sign, Watch, last_sign
from unabridged.jobs.report import job_report
from unabridged.jobs.settings import SourceSettings
from unabridged.jobs.state import Lock, list_jobs, read_job
from unabridged.testing import LoopbackProvider


@pytest.mark.parametrize("runner", [None, processes(1)], ids=["threads", "processes"])
def test_rows_are_told_as_they_have_their_vectors_though_the_shard_is_not_done(bench: Bench, runner) -> None:
    seen: list[JobProgress] = []
    around: list[tuple[int, int]] = []
    pages: list[str] = []
    with LoopbackProvider(latency=0.25) as server:
        settings = bench.settings(
            bench.parquet(120), bench.out("out.parquet"), Remote(server.url, concurrency=2), block_rows=4096
        )

        def told(progress: JobProgress) -> None:
            seen.append(progress)
            info = read_job(settings.folder, settings.id)
            around.append((info.counts.rows, info.rows))
            if info.under_way and not pages:
                pages.append(job_report(settings.folder, settings.id))

        report = run_job(settings, progress=told, **({} if runner is None else {"runner": runner}))
    rows = [each.rows for each in seen]
    assert rows == sorted(rows)
    assert len({row for row in rows if 0 < row < 120}) >= 3
    assert rows[-1] == 120
    assert any(noted == 0 < row for noted, row in around)  # another process sees it too
    assert "<b>0</b><span>rows done" not in pages[0]
    assert "<b>–</b><span>rows a second" not in pages[0]
    assert report.counts.done == 120
    assert last_sign(settings.place) is None
    info = read_job(settings.folder, settings.id)
    assert (info.rows, info.rate, info.left, info.resumable, info.pid) == (120, None, None, False, None)


def test_what_is_asked_again_does_not_set_progress_back_and_a_full_disk_does_not_end_it(tmp_path: Path) -> None:
    seen: list[JobProgress] = []
    watch = Watch(tmp_path / "gone", seen.append)
    state = JobProgress(10, 100, 0, 0, 0, 0, None, 0.0)
    assert watch.due
    watch.tell(state)
    assert watch.due  # what has just begun has something to tell soon
    watch.tell(replace(state, rows=4))
    assert not watch.due
    assert [each.rows for each in seen] == [10, 10]
    assert last_sign(tmp_path / "gone") is None
    for junk in ("{", "[1]", '{"at": 1}'):
        (tmp_path / "progress.json").write_text(junk)
        assert last_sign(tmp_path) is None


def test_the_rows_of_lines_and_files_are_guessed_before_they_are_read(bench: Bench) -> None:
    rows = [{"key": f"k{i}", "text": f"row {i} " + "words " * (i % 7)} for i in range(5000)]
    paths = (bench.jsonl(rows, "a.jsonl"), bench.jsonl(rows[:200], "b.jsonl"))
    seen: list[JobProgress] = []
    settings = bench.settings(SourceSettings(paths, id="key"), bench.out("out.parquet"), block_rows=4096)
    run_job(settings, progress=seen.append)
    assert seen[0].total is None
    assert 5200 * 0.9 < seen[0].about < 5200 * 1.1
    assert (seen[-1].rows, seen[-1].expected) == (5200, max(seen[0].about, 5200))
    run_job(settings, progress=seen.append)
    assert (seen[-1].total, seen[-1].expected) == (5200, 5200)  # it is known now
    for name, data, about in (("c.csv", "text\nx\ny\n", 3), ("d.jsonl.gz", None, None), ("e.jsonl", "", None)):
        path = bench.folder / name
        if data is None:
            import gzip

            path.write_bytes(gzip.compress(b'{"text": "x"}\n'))
        else:
            path.write_text(data)
        seen.clear()
        run_job(bench.settings(SourceSettings((str(path),)), bench.out(f"{name}.out.jsonl")), progress=seen.append)
        assert seen[0].about == about


def test_a_run_that_died_is_interrupted_when_it_was_seen_last(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(10), bench.out("out.parquet"), name="mine")
    run_job(settings)
    with Journal(settings.place) as journal:  # as a killed process leaves it
        journal.begin_run(1)
    began = read_job(settings.folder, "mine").began
    (settings.place / "progress.json").write_text(json.dumps(asdict(Sign(began + 60, 7, 0, 60.0, "embedding"))))
    found = read_job(settings.folder, "mine")
    assert (found.status, found.running, found.reason, found.ended) == ("interrupted", False, DIED, began + 60)
    assert (found.rows, found.rate, found.resumable) == (10, None, True)
    page = job_report(settings.folder, "mine")
    assert "run the same command to resume it" in page
    assert ">running<" not in page
    run_job(settings)
    found = read_job(settings.folder, "mine")
    assert [(run.status, run.reason) for run in found.runs] == [("done", None), ("interrupted", DIED), ("done", None)]
    assert found.runs[1].ended == began + 60


@pytest.mark.parametrize("ending", ["asked", "died"])
def test_rows_that_were_answered_are_told_after_the_run_and_not_sent_again(bench: Bench, ending) -> None:
    """Of one large block nothing is noted when the run ends, but its answers are kept."""
    cancel = threading.Event()
    with LoopbackProvider(latency=0.1) as server:
        remote = Remote(server.url, concurrency=1)
        settings = bench.settings(bench.parquet(120), bench.out("out.parquet"), remote, block_rows=4096)

        def told(progress: JobProgress) -> None:
            if progress.rows >= 24:
                cancel.set()

        with pytest.raises(JobError, match="asked to end"):
            run_job(settings, progress=told, cancel=cancel)
        sent = server.total
        if ending == "died":  # the journal was told nothing, and the last sign is what is left
            with Journal(settings.place) as journal:
                journal._do("UPDATE runs SET status = 'running', ended = NULL")
        found = read_job(settings.folder, settings.id)
        assert (found.status, found.running, found.counts.rows) == ("interrupted", False, 0)
        assert (found.rows, found.under_way) == (sent * 8, sent * 8)
        assert 24 <= found.rows < 120
        report = run_job(settings)
        assert (report.counts.done, server.total) == (120, 15)
    assert (last_sign(settings.place), read_job(settings.folder, settings.id).under_way) == (None, 0)


def test_a_run_that_died_long_ago_ended_with_its_last_block(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(10), bench.out("out.parquet"), name="mine")
    run_job(settings)
    with Journal(settings.place) as journal:
        first, last = journal.runs()[0], journal.last_block
        journal._do("UPDATE runs SET status = 'running', ended = NULL")
    assert first.began <= last
    found = read_job(settings.folder, "mine")
    assert (found.status, found.ended) == ("interrupted", last)
    with Journal(settings.place) as journal:
        journal.begin_run(2)
        assert journal.runs()[0].ended == last


def test_whoever_looks_at_jobs_does_not_keep_one_from_beginning(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(3), bench.out("out.parquet"), name="mine")
    run_job(settings)
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            list_jobs(settings.folder)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for each in lookers:
        each.start()
    try:
        for _ in range(8):
            lock = Lock(settings.place)
            assert read_job(settings.folder, "mine").running
            with pytest.raises(JobError, match=r"is running in another process \(\d+\)"):
                Lock(settings.place)
            lock.release()
    finally:
        done.set()
        for each in lookers:
            each.join()
    assert not read_job(settings.folder, "mine").running
