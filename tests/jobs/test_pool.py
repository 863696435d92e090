"""Shards in processes: the same output, budgets over all of them, and workers that die."""

from __future__ import annotations

import errno
import json
import multiprocessing
import pickle
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unabridged import Embedder
from unabridged.errors import ConfigError, JobError
from unabridged.jobs.embed import HALTED
from unabridged.jobs.job import run_job
from unabridged.jobs.journal import Journal
from unabridged.jobs.meter import Stopped
from unabridged.jobs.pool import processes
from unabridged.jobs.pool_worker import Kind, Serving
from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
from unabridged.jobs.shard import Shard, ShardResult, joined, pieces
from unabridged.testing import LoopbackProvider, Trouble, vector_for

sys.path.insert(0, str(Path(__file__).parent))  # spawned processes import what they unpickle

from pool_openers import Crowded, Deadly, Failing, FullDisk, Remote, Stillborn

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


@pytest.mark.parametrize("meanwhile", [True, False])
def test_requests_of_all_processes_are_counted_and_their_answers_removed_once_noted(
    tmp_path, monkeypatch, meanwhile
) -> None:
    if not meanwhile:  # the job's own process does not send while the others start
        monkeypatch.setattr("unabridged.jobs.pool._Here.takes", lambda *_: False)
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


def test_shards_in_pieces_give_what_whole_ones_give(tmp_path) -> None:
    """Long texts, blank and unreadable rows among them; every process sends, and no more at once than each may."""
    rows: list[object] = [{"text": text, "n": at} for at, text in enumerate(TEXTS)]
    rows[7], rows[60], rows[61] = {"text": " "}, {"text": 5}, {"other": 1}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with LoopbackProvider(latency=0.02) as server:
        settings = settings_of(tmp_path, Crowded(server.url), block_rows=90)
        settings = replace(settings, source=replace(settings.source, keep=("n",)))
        whole = run_job(replace(settings, sink=SinkSettings(str(tmp_path / "whole.parquet")), name="whole"))
        server.in_flight_max = 0
        report = run_job(settings, runner=processes(2))
        assert server.in_flight_max <= 4
    assert (report.counts, report.causes, report.run.texts) == (whole.counts, whole.causes, whole.run.texts)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    with Journal(Path(report.folder), read_only=True) as mine, Journal(Path(whole.folder), read_only=True) as theirs:
        names = ("rows", "done", "tokens", "chunks", "lengths", "pieces")
        found = [
            sorted(str([line[name] for name in names]) for line in journal.history()) for journal in (mine, theirs)
        ]
        assert found[0] == found[1]


def test_pieces_of_a_shard_are_the_shard() -> None:
    table = pa.table(
        {"id": [f"k{at}" for at in range(10)], "text": [None if at == 4 else "x" * 999 for at in range(10)]}
    )
    spread = Shard(3, 20, table, tuple(range(20, 40, 2)), ((4, "null"),), end=41)
    for shard in (spread, replace(spread, rows=None, end=None), replace(spread, table=table[:0], rows=(), errors=())):
        cut = list(pieces(shard, 3))
        assert [piece.row(at) for piece in cut for at in range(len(piece))] == [
            shard.row(at) for at in range(len(shard))
        ]
        assert cut[-1].after == shard.after
        assert [(piece.row(at), why) for piece in cut for at, why in piece.errors] == [
            (shard.row(at), why) for at, why in shard.errors
        ]
    part = next(pieces(spread, 1))
    sent = pickle.dumps(part)
    assert len(sent) < 3000  # its own row, not the table that it is a slice of
    back = pickle.loads(sent)
    assert (back.table, back.rows, back.errors, back.end) == (part.table, part.rows, part.errors, part.end)


def test_what_stops_a_piece_stops_its_shard() -> None:
    done, stop = ShardResult(1, 0, 5, done=5, end=5), ShardResult(1, 5, 5, stop=ValueError("no"), end=10)
    assert joined([done]) is done
    both = joined([done, stop])
    assert (both.rows, both.done, both.end, str(both.stop)) == (10, 0, 10, "no")


def test_workers_that_die_as_they_start_end_the_job_and_say_why(tmp_path) -> None:
    with pytest.raises(JobError, match=r"died 3 times as they started; .*__name__ == '__main__'"):
        run_job(settings_of(tmp_path, Stillborn()), runner=processes(1))


def test_an_error_that_cannot_travel_says_what_it_was(tmp_path) -> None:
    with pytest.raises(JobError, match="Stubborn: 1 and 2"):
        run_job(settings_of(tmp_path, Failing()), runner=processes(1))


def test_asked_to_end_it_does_not_wait_for_what_was_not_sent(tmp_path) -> None:
    with LoopbackProvider(latency=0.1) as server:
        settings = settings_of(tmp_path, Crowded(server.url), block_rows=200)
        cancel = threading.Event()
        watch = threading.Thread(target=lambda: (_wait(lambda: server.total > 2), cancel.set()))
        watch.start()
        with pytest.raises(JobError, match="asked to end"):
            run_job(settings, runner=processes(2), cancel=cancel)
        watch.join()
        assert server.total < 40
        assert run_job(settings, runner=processes(2)).counts.done == 200
        assert len(server.texts) == 200  # what was paid for lay in the answers


def _wait(until) -> None:
    end = time.monotonic() + 30
    while not until() and time.monotonic() < end:
        time.sleep(0.01)


# A worker, over its line.


@pytest.fixture
def line(tmp_path):
    """The job's end of a line to a worker that runs in a thread, and what it ended with."""
    ours, theirs = multiprocessing.Pipe()
    ended: list[object] = []

    def run(opener, **options) -> list[object]:
        def serve() -> None:
            try:
                ended.append(Serving(theirs, settings_of(tmp_path, opener, **options), 2).run())
            except EOFError as error:
                ended.append(error)
            theirs.close()

        thread = threading.Thread(target=serve)
        thread.start()
        threads.append(thread)
        return ended

    threads: list[threading.Thread] = []
    yield ours, run
    ours.close()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    HALTED.clear()


def shard(first: int = 0) -> Shard:
    return Shard(1, first, pa.table({"id": ["a", "b"], "text": ["one", "two"]}))


def test_a_worker_answers_piece_by_piece_until_it_is_told_to_end(line, tmp_path) -> None:
    ours, run = line
    with LoopbackProvider() as server:
        ended = run(Remote(server.url))
        assert ours.recv() == (Kind.READY, None, None)
        Journal(tmp_path / "jobs" / settings_of(tmp_path, Remote(server.url)).id).close()
        for number, first in ((7, 0), (8, 0), (9, 2)):
            ours.send((Kind.PIECE, (number, first, shard(first))))
        landed = [ours.recv() for _ in range(3)]
        assert {(kind, number) for kind, number, _ in landed} == {(Kind.DONE, 7), (Kind.DONE, 8), (Kind.DONE, 9)}
        assert all(result.done == 2 for *_, result in landed)
        ours.send((Kind.HALT, None))
        ours.send((Kind.PIECE, (10, 4, replace(shard(4), table=pa.table({"id": ["c"], "text": ["another text"]})))))
        _, number, result = ours.recv()
        assert number == 10
        assert isinstance(result.stop, Stopped)
        ours.send((Kind.END, None))
        _wait(lambda: ended)
        assert ended == [None]
        assert len(server.texts) <= 4


def test_a_worker_whose_job_is_gone_sends_nothing_more(line) -> None:
    ours, run = line
    with LoopbackProvider() as server:
        ended = run(Remote(server.url))
        assert ours.recv()[0] is Kind.READY
        ours.close()
        _wait(lambda: ended)
        assert isinstance(ended[0], EOFError)
        assert HALTED.is_set()


def test_a_worker_that_cannot_open_its_embedder_says_so(line) -> None:
    ours, run = line

    def refuse(**_):
        raise OSError(errno.ENOSPC, "No space left on device")

    ended = run(refuse)
    kind, _, error = ours.recv()
    assert (kind, error.errno) == (Kind.REFUSED, errno.ENOSPC)
    _wait(lambda: ended)
    assert ended == [None]


def test_a_worker_keeps_answers_until_the_journal_has_their_shard(line, tmp_path) -> None:
    ours, run = line
    with LoopbackProvider() as server:
        settings = settings_of(tmp_path, Remote(server.url))
        run(Remote(server.url))
        ours.recv()
        with Journal(settings.place) as journal:
            for number, first in enumerate((0, 2, 4)):
                ours.send((Kind.PIECE, (number, first, shard(first))))
                _, _, result = ours.recv()
                journal.part("in.jsonl", "same")
                journal.add_block(replace(result, table=None), 0, file=None)
        ours.send((Kind.END, None))
    assert len(list((settings.place / "answers").glob("*.answers"))) <= 2
