"""Issue 9, parts 1 to 3: a job from beginning to end, resumed, retried, grown, forked; counts that add up."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jobkit import Bench, Remote, read_rows, right, texts, vectors_of

from unabridged import Embedder, Limit
from unabridged.errors import AuthFailed, ConfigError, JobError, ModelNotFound, RateLimited
from unabridged.jobs.dryrun import dry_run
from unabridged.jobs.job import retry_job, run_job
from unabridged.jobs.journal import Journal
from unabridged.jobs.meter import Spent
from unabridged.jobs.settings import EmbedderSpec, SinkSettings, SourceSettings
from unabridged.jobs.state import list_jobs, read_job
from unabridged.providers.hashing import HashingProvider
from unabridged.testing import LoopbackProvider, RateLimit, Trouble


def given(rows: int, start: int = 0) -> dict[str, str]:
    return dict(zip([f"k{i}" for i in range(start, start + rows)], texts(rows, start), strict=True))


@pytest.mark.parametrize("ending", ["parquet", "lance", "npy", "jsonl"])
def test_every_row_has_its_own_vector_in_every_format(bench: Bench, ending) -> None:
    out = bench.out(f"out.{ending}")
    with LoopbackProvider() as server:
        report = run_job(bench.settings(bench.parquet(100), out, Remote(server.url)))
    assert (report.status, report.counts.rows, report.counts.done, report.counts.adds_up) == ("done", 100, 100, True)
    assert report.target == out
    found = read_rows(out)
    assert right(found, given(100))
    assert found["id"] == [f"k{i}" for i in range(100)]
    assert report.requests == server.total


def test_the_output_says_what_its_vectors_may_be_compared_with(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(20), bench.out("out.lance"))
    run_job(settings)
    run_job(bench.settings(bench.parquet(20), bench.out("out.parquet")))
    import lance

    mine = settings.embedder().fingerprint().encode()
    assert lance.dataset(bench.out("out.lance")).schema.metadata[b"unabridged.fingerprint"] == mine
    assert pq.read_schema(bench.out("out.parquet")).metadata[b"unabridged.fingerprint"] == mine


def test_a_finished_job_has_nothing_to_do(bench: Bench) -> None:
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(50), bench.out("out.parquet"), Remote(server.url))
        run_job(settings)
        before, written = server.total, Path(bench.out("out.parquet")).stat()
        again = run_job(settings)
        assert (again.status, again.counts.done, server.total) == ("done", 50, before)
        assert (again.requests, again.run, again.tried, again.wrote, again.idle) == (before, Spent(), 0, False, True)
        assert Path(bench.out("out.parquet")).stat() == written


def test_kept_columns_and_the_text_itself_travel_along(bench: Bench) -> None:
    source = bench.parquet(5, n=[1, 2, 3, 4, 5], tags=[["a"], [], None, ["b"], ["c", "d"]])
    run_job(bench.settings(SourceSettings((source,), id="key", keep=("n", "tags", "text")), bench.out("some.parquet")))
    found = read_rows(bench.out("some.parquet"))
    assert found["n"] == [1, 2, 3, 4, 5]
    assert found["tags"] == [["a"], [], None, ["b"], ["c", "d"]]
    assert found["text"] == texts(5)
    run_job(bench.settings(SourceSettings((source,), id="key", keep=("*",)), bench.out("all.parquet")))
    assert set(read_rows(bench.out("all.parquet"))) == {
        "id",
        "text",
        "n",
        "tags",
        "status",
        "tokens",
        "chunks",
        "vector",
    }
    run_job(bench.settings(source, bench.out("none.parquet")))
    assert "text" not in read_rows(bench.out("none.parquet"))


def test_without_an_id_column_a_row_is_named_by_its_place(bench: Bench) -> None:
    source = bench.parquet(3)
    run_job(bench.settings(SourceSettings((source,)), bench.out("out.parquet")))
    assert read_rows(bench.out("out.parquet"))["id"] == [f"{source}:{row}" for row in range(3)]


def test_blank_and_unreadable_rows_are_counted_and_the_counts_add_up(bench: Bench) -> None:
    rows = [
        {"key": "a", "text": "one"},
        {"key": "b", "text": "  "},
        "not json\n",
        {"key": "d"},
        {"key": "e", "text": 5},
    ]
    report = run_job(bench.settings(bench.jsonl([*rows, {"key": "f", "text": "two"}]), bench.out("out.jsonl")))
    counts = report.counts
    assert (counts.rows, counts.done, counts.skipped, counts.failed, counts.adds_up) == (6, 2, 2, 2, True)
    assert (report.status, report.causes, report.hopeless) == ("failed", {"unreadable": 2}, 2)
    assert read_rows(bench.out("out.jsonl"))["id"] == ["a", "f"]
    with Journal(Path(report.folder), read_only=True) as journal:
        reasons = {one.row: one.reason for one in journal.failures()}
    assert reasons == {2: "not JSON", 4: "'text' is a int, expected a string"}


def test_long_and_short_texts_share_requests_and_long_ones_are_cut(bench: Bench) -> None:
    rows = [{"key": str(i), "text": "a short text" if i % 5 else f"long {i}. " * 200} for i in range(40)]
    with LoopbackProvider(limit=Limit(input_tokens=64)) as server:
        report = run_job(bench.settings(bench.jsonl(rows), bench.out("out.parquet"), Remote(server.url), block_rows=40))
        assert any(len({len(text) > 50 for text in seen.texts}) == 2 for seen in server.requests)
    found = read_rows(bench.out("out.parquet"))
    assert report.counts.done == 40
    assert {status for at, status in enumerate(found["status"]) if at % 5} == {"ok"}
    assert all(chunks > 1 for at, chunks in enumerate(found["chunks"]) if not at % 5)
    assert report.counts.chunks == sum(found["chunks"])


def test_chunk_vectors_are_rows_below_their_document(bench: Bench) -> None:
    """SPEC L16: max-similarity over chunk vectors needs them in the sink."""
    rows = [{"key": "short", "text": "a short text"}, {"key": "long", "text": "Sentence about ships. " * 60}]
    with LoopbackProvider(limit=Limit(input_tokens=64)) as server:
        sink = SinkSettings(bench.out("out.parquet"), chunk_vectors=True)
        run_job(bench.settings(bench.jsonl(rows), sink, Remote(server.url)))
    found = pq.read_table(bench.out("out.parquet")).to_pylist()
    documents = [row for row in found if row["role"] == "document"]
    assert [row["id"] for row in documents] == ["short", "long"]
    chunks = [row for row in found if row["role"] == "chunk" and row["id"] == "long"]
    assert [row["chunk"] for row in chunks] == list(range(documents[1]["chunks"]))
    text = rows[1]["text"]
    from unabridged.testing import vector_for

    for row in chunks:
        assert np.array_equal(np.array(row["vector"], np.float32), vector_for(text[row["start"] : row["end"]], 32))
    assert chunks[-1]["end"] == len(text)


def test_case_26_a_wrong_model_stops_the_job_at_once_and_marks_nothing(bench: Bench) -> None:
    with LoopbackProvider(models={"bench"}) as server:
        settings = bench.settings(
            bench.parquet(7077), bench.out("out.parquet"), Remote(server.url, model="bnech"), block_rows=512
        )
        with pytest.raises(ModelNotFound) as caught:
            run_job(settings)
        assert any("run the job again" in line for line in caught.value.__notes__)
        assert server.total <= 8  # one a request in flight
        found = read_job(settings.folder, settings.id)
        assert (found.status, found.counts.rows, found.counts.failed) == ("stopped", 0, 0)
        assert not Path(bench.out("out.parquet")).exists()


def test_a_revoked_key_stops_the_job_and_a_new_one_goes_on_without_paying_twice(bench: Bench) -> None:
    with LoopbackProvider(keys={"old", "new"}, latency=0.05, limit=Limit(request_inputs=10)) as server:
        source, out = bench.parquet(300), bench.out("out.parquet")
        settings = bench.settings(source, out, Remote(server.url, keys=("old",)))

        def revoke() -> None:
            while server.total < 3:
                time.sleep(0.001)
            server.revoke("old")

        watch = threading.Thread(target=revoke)
        watch.start()
        with pytest.raises(AuthFailed):
            run_job(settings)
        watch.join()
        paid = len(server.texts)
        assert 0 < paid < 300
        report = run_job(replace(settings, embedder=Remote(server.url, keys=("new",))))
        assert (report.status, report.counts.failed) == ("done", 0)
        assert len(server.texts) == 300  # each text once, over both runs
        assert right(read_rows(out), given(300))


def test_one_of_several_revoked_keys_does_not_stop_it(bench: Bench) -> None:
    with LoopbackProvider(keys={"b"}) as server:
        report = run_job(
            bench.settings(bench.parquet(60), bench.out("out.parquet"), Remote(server.url, keys=("a", "b")))
        )
    assert report.status == "done"


def test_rows_that_fail_are_listed_with_their_true_cause_and_retried_alone(bench: Bench) -> None:
    class Picky(HashingProvider):
        refuses = True

        def send(self, request):
            from unabridged.errors import ProviderError
            from unabridged.types import Fault

            bad = tuple(at for at, text in enumerate(request.texts) if "harbours, number 7 " in text + " ")
            if bad and Picky.refuses:
                raise ProviderError("picky: the input is offensive", Fault("bad_request", "input", indices=bad))
            seen.extend(request.texts)
            return super().send(request)

    seen: list[str] = []
    settings = bench.settings(
        bench.parquet(30), bench.out("out.parquet"), lambda **o: Embedder(Picky(dimensions=8), **o)
    )
    report = run_job(settings)
    assert (report.status, report.counts.done, report.counts.failed, report.causes) == (
        "failed",
        29,
        1,
        {"bad_request": 1},
    )
    assert report.counts.adds_up
    assert len(read_rows(bench.out("out.parquet"))["id"]) == 29
    with Journal(Path(report.folder), read_only=True) as journal:
        (failure,) = journal.failures()
    assert (failure.id, failure.row, failure.reason, failure.tries) == ("k1", 1, "picky: the input is offensive", 1)
    seen.clear()
    assert run_job(settings).counts.failed == 1  # a plain run does not try it again
    assert seen == []
    again = retry_job(settings)
    assert (again.status, again.counts.failed) == ("failed", 1)
    Picky.refuses = False
    done = retry_job(settings)
    assert seen == [texts(30)[1]]
    assert (done.status, done.counts.done, done.counts.failed, done.counts.adds_up) == ("done", 30, 0, True)
    assert read_rows(bench.out("out.parquet"))["id"] == [f"k{i}" for i in range(30)]  # in its own place


def test_an_overloaded_provider_is_waited_for(bench: Bench) -> None:
    troubles = [Trouble(status=503, times=6), Trouble(status=429, times=2)]
    with LoopbackProvider(troubles=troubles) as server:
        report = run_job(bench.settings(bench.parquet(40), bench.out("out.parquet"), Remote(server.url)))
    assert (report.status, report.counts.failed) == ("done", 0)
    assert right(read_rows(bench.out("out.parquet")), given(40))


def test_a_rate_limit_costs_time_and_no_row(bench: Bench) -> None:
    with LoopbackProvider(rate=RateLimit(requests=40)) as server:
        report = run_job(bench.settings(bench.parquet(200), bench.out("out.parquet"), Remote(server.url)))
    assert (report.status, report.counts.done) == ("done", 200)


def test_a_provider_that_answers_nothing_stops_the_job_and_marks_nothing(bench: Bench, monkeypatch) -> None:
    monkeypatch.setattr("unabridged.jobs.flow._FIRST_WAIT", 0.01)
    monkeypatch.setattr("unabridged.embedding.work.pause", lambda *_: 0.0)
    with LoopbackProvider(troubles=[Trouble(status=503, times=None)]) as server:
        settings = bench.settings(bench.parquet(40), bench.out("out.parquet"), Remote(server.url), patience=0.3)
        with pytest.raises(RateLimited, match="no answer for"):
            run_job(settings)
    found = read_job(settings.folder, settings.id)
    assert (found.status, found.counts.rows, found.counts.failed) == ("stopped", 0, 0)


def test_max_requests_and_max_cost_end_a_job_in_time_and_it_goes_on(bench: Bench) -> None:
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(200), bench.out("out.parquet"), Remote(server.url), max_requests=7)
        report = run_job(settings)
        assert (report.status, report.requests, server.total) == ("stopped", 7, 7)
        assert "max_requests" in report.reason
        assert report.target is None
        cheap = replace(settings, max_requests=None, price=1e6, max_cost=1400.0)
        report = run_job(cheap)
        assert report.status == "stopped"
        assert "max_cost" in report.reason
        assert report.cost <= 1400.0
        assert run_job(replace(cheap, max_cost=1e9)).status == "done"
        assert len(server.texts) == 200


def test_a_dry_run_counts_what_the_run_then_does(bench: Bench) -> None:
    rows = [{"key": str(i), "text": "word " * (i % 90 + 1)} for i in range(120)]
    with LoopbackProvider(limit=Limit(input_tokens=64)) as server:
        settings = bench.settings(
            bench.jsonl([*rows, {"key": "x", "text": ""}]), bench.out("out.parquet"), Remote(server.url), price=2.0
        )
        planned = dry_run(settings)
        assert server.total == 0
        assert not settings.place.exists()
        report = run_job(settings)
        assert planned.requests == server.total
        assert (planned.rows, planned.blank, planned.chunks) == (121, 1, report.counts.chunks)
        assert planned.sent_tokens == report.tokens
        assert planned.cost == report.cost
        assert dry_run(settings).requests == 0
        assert dry_run(settings).done_before == 121


def test_another_configuration_is_noticed_and_refused_or_forked(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(20), bench.out("out.parquet"))
    run_job(settings)
    other = replace(settings, embedder=EmbedderSpec("hashing", {"dimensions": 4}))
    with pytest.raises(JobError, match="dimensions was 8, is 4"):
        run_job(other)
    with pytest.raises(JobError, match=r"source\.keep"):
        run_job(replace(settings, source=replace(settings.source, keep=("text",))))
    assert len(read_rows(bench.out("out.parquet"))["vector"][0]) == 8
    forked = run_job(replace(other, on_change="fork"))
    assert forked.id == f"{settings.id}-2"
    assert len(read_rows(bench.out("out-2.parquet"))["vector"][0]) == 4
    assert run_job(replace(other, on_change="fork")).id == forked.id  # the same fork again
    assert run_job(settings).status == "done"


def test_a_job_in_which_nothing_is_done_takes_any_configuration(bench: Bench) -> None:
    """A first run with a wrong column, a wrong model or nothing but blank rows must not hold the job's name."""
    rows = [{"key": f"k{at}", "text": None, "body": text} for at, text in enumerate(texts(20))]
    first = bench.settings(bench.jsonl([*rows, {"key": "blank", "text": " ", "body": ""}]), bench.out("out.parquet"))
    first = replace(first, name="mine")
    report = run_job(first)
    assert (report.counts.done, report.counts.failed, report.counts.skipped) == (0, 0, 21)
    right_one = replace(
        first,
        source=replace(first.source, text="body", keep=("body",)),
        embedder=EmbedderSpec("hashing", {"dimensions": 4}),
        sink=SinkSettings(bench.out("other.parquet")),
    )
    report = run_job(right_one)
    assert (report.id, report.status, report.counts.rows) == ("mine", "done", 21)
    assert (report.counts.done, report.counts.failed, report.counts.skipped) == (20, 0, 1)
    found = read_rows(bench.out("other.parquet"))
    assert found["body"] == texts(20)
    assert len(found["vector"][0]) == 4
    with pytest.raises(JobError, match="was begun otherwise"):
        run_job(first)


def test_a_job_whose_rows_have_left_its_source_is_not_one_in_which_nothing_was_done(bench: Bench) -> None:
    settings = bench.settings(bench.jsonl([{"key": "a", "text": "one"}]), bench.out("out.parquet"))
    run_job(settings)
    bench.jsonl([{"key": "b", "text": ""}])
    assert run_job(settings).counts.done == 0
    with pytest.raises(JobError, match="was begun otherwise"):
        run_job(replace(settings, embedder=EmbedderSpec("hashing", {"dimensions": 4})))


@pytest.mark.parametrize("ending", ["parquet", "lance", "npy", "jsonl"])
def test_rows_that_leave_the_source_leave_the_output_even_the_last_one(bench: Bench, ending) -> None:
    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(3))]
    settings = bench.settings(bench.jsonl(rows), bench.out(f"out.{ending}"))
    run_job(settings)
    for left in (rows[:1], []):
        bench.jsonl(left)
        report = run_job(settings)
        assert (report.counts.done, report.counts.adds_up) == (len(left), True)
        found = read_rows(bench.out(f"out.{ending}")) if left or ending in {"parquet", "lance"} else {"id": []}
        assert found["id"] == [row["key"] for row in left]
    if ending == "npy":
        assert np.load(bench.out("out.npy")).shape == (0, 8)
    bench.jsonl(rows)
    assert run_job(settings).counts.done == 3
    assert read_rows(bench.out(f"out.{ending}"))["id"] == ["k0", "k1", "k2"]


def test_an_output_that_is_not_there_any_more_is_made_again(bench: Bench) -> None:
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(40), bench.out("out.parquet"), Remote(server.url))
        run_job(settings)
        Path(bench.out("out.parquet")).unlink()
        assert (dry_run(settings).rows, dry_run(settings).done_before) == (40, 0)
        report = run_job(settings)
        assert (report.counts.rows, report.counts.done, report.wrote) == (40, 40, True)
        assert right(read_rows(bench.out("out.parquet")), given(40))


def test_an_output_waits_for_failed_rows_and_is_not_written_twice(bench: Bench) -> None:
    rows = [{"key": "a", "text": "one"}, {"key": "b", "text": 7}]
    settings = bench.settings(bench.jsonl(rows), bench.out("out.parquet"))
    assert run_job(settings).wrote
    written = Path(bench.out("out.parquet")).stat()
    again = run_job(settings)
    assert (again.idle, again.wrote, again.counts.failed) == (True, False, 1)
    assert Path(bench.out("out.parquet")).stat() == written
    Path(bench.out("out.parquet")).unlink()
    assert run_job(settings).wrote  # what is staged needs no request
    assert read_rows(bench.out("out.parquet"))["id"] == ["a"]


def test_a_column_that_is_not_there_sends_nothing_and_leaves_no_trace(bench: Bench) -> None:
    with LoopbackProvider() as server:
        source = SourceSettings((bench.jsonl([{"key": "a", "txt": "one"}]),), id="key")
        settings = bench.settings(source, bench.out("out.parquet"), Remote(server.url))
        for work in (run_job, retry_job, dry_run):
            with pytest.raises(ConfigError, match="has no column 'text'; its one line has key, txt"):
                work(settings)
        assert server.total == 0
        assert list_jobs(settings.folder) == []
        assert run_job(replace(settings, source=replace(source, text="txt"))).status == "done"


def test_what_was_refused_leaves_the_job_as_it_was(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(5), bench.out("out.parquet"), name="mine", price=1.0, origin={"model": "a"})
    run_job(settings)
    other = replace(settings, sink=SinkSettings(bench.out("b.parquet")), price=2.0, origin={"model": "b"})
    with pytest.raises(JobError, match="was begun otherwise"):
        run_job(other)
    with Journal(settings.place, read_only=True) as journal:
        assert (journal.get("price"), journal.get("origin")) == (1.0, {"model": "a"})


def test_what_does_not_change_vectors_may_change(bench: Bench) -> None:
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(20), bench.out("out.parquet"), Remote(server.url))
        run_job(settings)
        other = Remote(server.url, keys=("another",), concurrency=2, inputs=3)
        assert run_job(replace(settings, embedder=other, workers=1, block_rows=5)).status == "done"


def test_one_process_runs_a_job_at_a_time(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(20), bench.out("out.parquet"))
    caught: list[BaseException] = []

    def second(_: object) -> None:
        try:
            run_job(settings)
        except JobError as error:
            caught.append(error)

    run_job(settings, progress=second)
    assert "is running in another process" in str(caught[0])


def test_an_output_that_is_not_ours_is_not_replaced(bench: Bench) -> None:
    Path(bench.out("out.parquet")).write_bytes(b"mine")
    settings = bench.settings(bench.parquet(5), bench.out("out.parquet"))
    with pytest.raises(ConfigError, match="exists"):
        run_job(settings)
    assert Path(bench.out("out.parquet")).read_bytes() == b"mine"
    assert run_job(replace(settings, sink=replace(settings.sink, force=True))).status == "done"


def test_a_source_that_grows_costs_only_what_is_new(bench: Bench) -> None:
    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(60))]
    for ending in ("parquet", "lance", "npy", "jsonl"):
        out = bench.out(f"out.{ending}")
        with LoopbackProvider() as server:
            settings = bench.settings(bench.jsonl(rows), out, Remote(server.url))
            run_job(settings)
            changed = [{**row} for row in rows if row["key"] not in ("k3", "k40")]
            changed[10]["text"] = "another text altogether"
            changed.insert(0, {"key": "new", "text": "a new row before all others"})
            before = len(server.texts)
            settings = replace(settings, source=replace(settings.source, paths=(bench.jsonl(changed),)))
            report = run_job(settings)
            assert sorted(server.texts[before:]) == ["a new row before all others", "another text altogether"]
            assert (report.status, report.counts.rows, report.counts.done, report.counts.adds_up) == (
                "done",
                59,
                59,
                True,
            )
            assert right(read_rows(out), {row["key"]: row["text"] for row in changed})
            assert run_job(settings).counts.done == 59
            assert len(server.texts) == before + 2


def test_a_source_that_changed_before_the_first_output_is_carried_over(bench: Bench) -> None:
    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(80))]
    with LoopbackProvider() as server:
        settings = bench.settings(bench.jsonl(rows), bench.out("out.parquet"), Remote(server.url), max_requests=6)
        assert run_job(settings).status == "stopped"
        done = read_job(settings.folder, settings.id).counts.done
        assert done
        changed = [{"key": "first", "text": "a new first row"}, *rows]
        report = run_job(
            replace(settings, source=replace(settings.source, paths=(bench.jsonl(changed),)), max_requests=None)
        )
        assert report.counts.done == 81
        assert len(server.texts) == 81
        found = read_rows(bench.out("out.parquet"))
        assert found["id"] == [row["key"] for row in changed]
        assert right(found, {row["key"]: row["text"] for row in changed})


def test_files_that_leave_the_source_leave_the_output(bench: Bench) -> None:
    folder = bench.folder / "docs"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nSome words about {name}.", "utf-8")
    settings = bench.settings(SourceSettings((str(folder),)), bench.out("out.parquet"))
    assert run_job(settings).counts.done == 3
    (folder / "b.md").unlink()
    (folder / "c.md").write_text("# c\n\nNow something else.", "utf-8")
    report = run_job(settings)
    assert (report.counts.rows, report.counts.done) == (2, 2)
    assert sorted(Path(each).name for each in read_rows(bench.out("out.parquet"))["id"]) == ["a.md", "c.md"]


def test_cancelled_it_ends_soon_and_goes_on_without_paying_twice(bench: Bench) -> None:
    cancel = threading.Event()
    with LoopbackProvider(latency=0.01) as server:
        settings = bench.settings(bench.parquet(400), bench.out("out.parquet"), Remote(server.url))

        def progress(_: object) -> None:
            if server.total > 12:
                cancel.set()

        with pytest.raises(JobError, match="asked to end"):
            run_job(settings, progress=progress, cancel=cancel)
        assert 12 < server.total < 50
        report = run_job(settings)
        assert report.status == "done"
        assert len(server.texts) == 400
        assert right(read_rows(bench.out("out.parquet")), given(400))


def test_jobs_are_listed_and_read(bench: Bench) -> None:
    run_job(bench.settings(bench.parquet(10), bench.out("a.parquet"), name="first"))
    run_job(bench.settings(bench.parquet(10), bench.out("b.parquet"), name="second"))
    folder = bench.folder / "jobs"
    assert [job.id for job in list_jobs(folder)] == ["second", "first"]
    found = read_job(folder, "first")
    assert (found.status, found.running, found.counts.done, found.total) == ("done", False, 10, 10)
    assert json.dumps(found.to_dict())
    with pytest.raises(ConfigError, match=r"no job 'third'.*there are first, second"):
        read_job(folder, "third")


def test_the_journal_keeps_what_reports_are_made_of(bench: Bench) -> None:
    report = run_job(bench.settings(bench.parquet(40), bench.out("out.parquet")))
    with Journal(Path(report.folder), read_only=True) as journal:
        history = journal.history()
        runs = journal.runs()
    assert [line["rows"] for line in history] == [16, 16, 8]
    assert sum(sum(line["lengths"]) for line in history) == 40
    assert sum(line["pieces"][1] for line in history) == 40
    assert [run.status for run in runs] == ["done"]


def test_no_text_and_no_key_stands_in_journal_or_messages(bench: Bench) -> None:
    with LoopbackProvider(keys={"sk-secret-key"}) as server:
        settings = bench.settings(
            bench.parquet(30), bench.out("out.parquet"), Remote(server.url, keys=("sk-secret-key",))
        )
        report = run_job(settings)
    kept = b"".join(path.read_bytes() for path in Path(report.folder).rglob("*") if path.is_file())
    assert b"sk-secret-key" not in kept
    assert b"boats and harbours" not in kept


def test_a_job_that_could_not_begin_leaves_no_trace(bench: Bench) -> None:
    for source, sink in (("nowhere.parquet", "out.parquet"), (bench.parquet(3), "nowhere/out.parquet")):
        with pytest.raises(ValueError, match="nowhere"):
            run_job(bench.settings(source, bench.out(sink)))
    assert list((bench.folder / "jobs").iterdir()) == []


def test_a_journal_of_another_format_is_refused(bench: Bench) -> None:
    import sqlite3

    settings = bench.settings(bench.parquet(5), bench.out("out.parquet"))
    run_job(settings)
    with sqlite3.connect(settings.place / "journal.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(JobError, match="its journal has format 99"):
        run_job(settings)


def test_texts_of_an_unknown_script_are_counted_and_named_once(bench: Bench) -> None:
    """SPEC L14, for a job: a hollow vector is worth a note, not a line a row."""

    class Hollow(HashingProvider):
        def send(self, request):
            reply = super().send(request)
            return replace(reply, unknown=tuple(0.7 if "字" in text else 0.0 for text in request.texts))

    rows = [{"key": str(at), "text": f"字字字 {at}" if at % 3 == 0 else f"words {at}"} for at in range(30)]
    opener = lambda **given: Embedder(Hollow(dimensions=8), **given)
    report = run_job(bench.settings(bench.jsonl(rows), bench.out("out.parquet"), opener))
    assert (report.status, report.counts.warned) == ("done", 10)
    assert report.notes[0].startswith("10 texts, the first: 70% of its tokens are unknown")


def test_vectors_are_float32_of_one_width(bench: Bench) -> None:
    run_job(bench.settings(bench.parquet(5), bench.out("out.parquet")))
    assert pq.read_schema(bench.out("out.parquet")).field("vector").type == pa.list_(pa.float32(), 8)
    assert len(vectors_of(read_rows(bench.out("out.parquet")))) == 5


def test_a_call_that_waits_when_all_has_ended_gives_its_place_back(bench: Bench) -> None:
    """Several calls of one embedder, one refusal that ends them all: nobody waits for ever, and all places are free."""
    from concurrent.futures import ThreadPoolExecutor

    with LoopbackProvider(models={"bench"}, latency=0.02) as server:
        embedder = Remote(server.url, model="other", inputs=1, concurrency=2)(on_error="report", cache=False)
        with ThreadPoolExecutor(4) as pool:
            done = [pool.submit(embedder.embed_detailed, texts(20, start)) for start in range(0, 80, 20)]
            assert all(len(each.result(timeout=20).failed) == 20 for each in done)
        assert server.total < 20
        embedder.close()


def test_a_place_where_no_job_can_be_kept_is_told_by_its_setting(bench: Bench) -> None:
    file = bench.folder / "a file"
    file.write_text("words")
    for folder in (file, file / "jobs"):
        settings = replace(bench.settings(bench.parquet(3), bench.out("out.parquet")), folder=str(folder))
        with pytest.raises(ConfigError, match=r"folder: jobs cannot be kept in .*a file.*: not a directory"):
            run_job(settings)
