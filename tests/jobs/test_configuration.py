"""Issue 9, part 2: the same job again, another one under its name, and what a fork does."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from jobkit import Bench, Remote, read_rows

from unabridged.errors import JobError
from unabridged.jobs.configuration import foreseen
from unabridged.jobs.dryrun import dry_run
from unabridged.jobs.job import run_job
from unabridged.jobs.settings import EmbedderSpec, SinkSettings
from unabridged.jobs.state import JobProgress, list_jobs
from unabridged.testing import LoopbackProvider


def narrow(width: int) -> EmbedderSpec:
    return EmbedderSpec("hashing", {"dimensions": width})


def test_a_fork_writes_where_it_is_told_to_unless_its_origin_does(bench: Bench) -> None:
    first = bench.settings(bench.parquet(5), bench.out("out.parquet"), name="mine")
    run_job(first)
    beside = replace(first, embedder=narrow(4), on_change="fork")
    elsewhere = replace(beside, embedder=narrow(6), sink=SinkSettings(bench.out("else.parquet")))
    told: list[JobProgress] = []
    assert foreseen(beside).id == "mine-2"
    found = run_job(beside, progress=told.append)
    assert (found.id, found.target) == ("mine-2", bench.out("out-2.parquet"))
    assert told[0].notes == (
        f"mine was begun otherwise (dimensions was 8, is 4): this is mine-2, into {bench.out('out-2.parquet')}",
    )
    found = run_job(elsewhere)
    assert (found.id, found.target) == ("mine-3", bench.out("else.parquet"))
    third = run_job(replace(elsewhere, embedder=narrow(7)))  # mine-3 writes there: this is the fourth of that name
    assert (third.id, third.target) == ("mine-4", bench.out("else-4.parquet"))
    for again, name in ((beside, "mine-2"), (elsewhere, "mine-3")):
        assert (run_job(again).id, run_job(again).idle) == (name, True)
    assert len(read_rows(bench.out("out.parquet"))["vector"][0]) == 8


def test_a_refusal_says_what_a_fork_would_be_and_so_does_a_dry_run(bench: Bench) -> None:
    first = bench.settings(bench.parquet(5), bench.out("out.parquet"), name="mine")
    run_job(first)
    other = replace(first, embedder=narrow(4))
    for work in (run_job, dry_run):
        with pytest.raises(JobError, match=r"\(dimensions was 8, is 4\).*fork \(mine-2, into .*out-2\.parquet\)"):
            work(other)
    planned = dry_run(replace(other, on_change="fork"))
    assert (planned.rows, planned.done_before) == (5, 0)
    assert [job.id for job in list_jobs(first.folder)] == ["mine"]
    assert run_job(replace(other, on_change="fork")).id == "mine-2"
    assert dry_run(replace(other, on_change="fork")).done_before == 5


def test_a_fork_of_a_column_is_a_column_beside_it(bench: Bench) -> None:
    first = bench.settings(bench.parquet(5), SinkSettings(format="column", column="v"), name="mine")
    run_job(first)
    with pytest.raises(JobError, match=r"fork \(mine-2, into the column v_2\)"):
        run_job(replace(first, embedder=narrow(4)))
    found = run_job(
        replace(first, embedder=narrow(4), sink=SinkSettings(format="column", column="w"), on_change="fork")
    )
    assert found.id == "mine-2"
    rows = read_rows(bench.folder.joinpath("in.parquet").as_posix())
    assert (len(rows["v"][0]), len(rows["w"][0])) == (8, 4)


def test_a_run_that_paid_for_answers_holds_its_name_though_no_block_is_done(bench: Bench) -> None:
    cancel = threading.Event()
    with LoopbackProvider(latency=0.02) as server:
        first = bench.settings(
            bench.parquet(200), bench.out("out.parquet"), Remote(server.url, concurrency=1), name="mine", block_rows=500
        )

        def progress(_: object) -> None:
            if server.total > 2:
                cancel.set()

        with pytest.raises(JobError, match="asked to end"):
            run_job(first, progress=progress, cancel=cancel)
        paid = server.total
        with pytest.raises(JobError, match="was begun otherwise"):
            run_job(replace(first, embedder=narrow(4)))
        assert run_job(first).status == "done"
        assert server.total == 25 > paid  # 200 rows by 8, each once


def test_a_run_that_stopped_before_an_answer_holds_nothing(bench: Bench) -> None:
    with LoopbackProvider(keys={"right"}) as server:
        first = bench.settings(bench.parquet(5), bench.out("out.parquet"), Remote(server.url), name="mine")
        with pytest.raises(Exception, match="key"):
            run_job(first)
        other = replace(first, embedder=narrow(4), sink=SinkSettings(bench.out("other.parquet")))
        assert run_job(other).id == "mine"
        assert not Path(bench.out("out.parquet")).exists()
