"""Shards in processes: the same output, budgets over all of them, and workers that die."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from unabridged import Embedder
from unabridged.errors import ConfigError, JobError
from unabridged.jobs.job import run_job
from unabridged.jobs.pool import processes
from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
from unabridged.testing import LoopbackProvider, Trouble, vector_for

sys.path.insert(0, str(Path(__file__).parent))  # spawned processes import what they unpickle

from pool_openers import Deadly, FullDisk, Remote

TEXTS = [f"row {n} with a few words" for n in range(200)]


def settings_of(tmp_path, opener, **options) -> JobSettings:
    source = tmp_path / "in.jsonl"
    if not source.exists():
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    given = {"folder": str(tmp_path / "jobs"), "block_rows": 20, "cache": False, **options}
    return JobSettings(SourceSettings((str(source),)), SinkSettings(str(tmp_path / "out.parquet")), opener, **given)


def test_processes_give_what_threads_give(tmp_path) -> None:
    report = run_job(settings_of(tmp_path, EmbedderSpec("hashing")), runner=processes(2))
    assert (report.status, report.counts.done) == ("done", 200)
    rows = pq.read_table(tmp_path / "out.parquet")
    expected = Embedder("hashing", cache=False).embed(TEXTS)
    assert np.array_equal(np.stack(rows["vector"].to_numpy()), expected)


def test_requests_of_all_processes_are_counted_and_their_answers_removed_once_noted(tmp_path) -> None:
    with LoopbackProvider() as server:
        settings = settings_of(tmp_path, Remote(server.url))
        report = run_job(settings, runner=processes(2))
        rows = pq.read_table(tmp_path / "out.parquet")
        assert np.allclose(np.stack(rows["vector"].to_numpy()), np.stack([vector_for(t) for t in TEXTS]), atol=1e-6)
        assert report.requests == server.total
        assert sorted(server.texts) == sorted(TEXTS)
    assert list((settings.place / "answers").glob("*.answers")) == []


def test_a_budget_holds_over_all_processes(tmp_path) -> None:
    with LoopbackProvider(latency=0.01) as server:
        settings = settings_of(tmp_path, Remote(server.url), max_requests=5)
        report = run_job(settings, runner=processes(2))
        assert report.status == "stopped"
        assert report.reason.startswith("max_requests")
        assert server.total == 5


def test_a_worker_that_dies_is_replaced_and_its_shards_are_sent_again(tmp_path) -> None:
    report = run_job(settings_of(tmp_path, Deadly(tmp_path / "died")), runner=processes(2))
    assert (tmp_path / "died").exists()
    assert (report.status, report.counts.done) == ("done", 200)


def test_a_shard_that_kills_every_worker_stops_the_job_and_is_named(tmp_path) -> None:
    settings = settings_of(tmp_path, Deadly(tmp_path / "died", "row 150"), block_rows=50)
    with pytest.raises(JobError, match=r"a worker process died 3 times over rows \d+ to \d+ of part"):
        run_job(settings, runner=processes(1))


def test_what_a_worker_raises_is_raised_here(tmp_path) -> None:
    with LoopbackProvider(
        troubles=[Trouble(status=401, body='{"error": {"message": "bad key"}}', times=None)]
    ) as server:
        from unabridged.errors import AuthFailed

        with pytest.raises(AuthFailed):
            run_job(settings_of(tmp_path, Remote(server.url)), runner=processes(1))


def test_a_full_disk_of_a_worker_stops_the_job(tmp_path) -> None:
    with pytest.raises(OSError, match="No space left"):
        run_job(settings_of(tmp_path, FullDisk()), runner=processes(1))


def test_a_job_in_processes_can_be_cancelled_and_goes_on(tmp_path) -> None:
    with LoopbackProvider(latency=0.05) as server:
        settings = settings_of(tmp_path, Remote(server.url))
        cancel = threading.Event()

        def progress(state) -> None:
            if state.rows:
                cancel.set()

        with pytest.raises(JobError, match="asked to end"):
            run_job(settings, runner=processes(2), cancel=cancel, progress=progress)
        before = len(server.texts)
        report = run_job(settings, runner=processes(2))
        assert report.status == "done"
        assert len(server.texts) == 200 + (len(server.texts) - len(set(server.texts)))
        assert len(set(server.texts)) == 200
        assert before < 200 or len(server.texts) == 200


def test_how_many_processes_is_checked() -> None:
    with pytest.raises(ConfigError, match="processes: found 0"):
        processes(0)
    assert processes()


def test_no_process_is_left(tmp_path) -> None:
    import multiprocessing

    run_job(settings_of(tmp_path, EmbedderSpec("hashing")), runner=processes(1))
    end = time.monotonic() + 5
    while multiprocessing.active_children() and time.monotonic() < end:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []
