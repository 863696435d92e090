"""Outputs of jobs made new when the model is another one: as jobs, in place, and only what is stale (SPEC K6)."""

from __future__ import annotations

import json
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unabridged import Embedder
from unabridged.errors import ConfigError, JobError
from unabridged.jobs.job import run_job
from unabridged.jobs.readback import read_back
from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
from unabridged.jobs.sweep_sink import find_stale_sink, sweep_sink

TEXTS = [f"row {n} with words" for n in range(60)]
OLD, NEW = EmbedderSpec("hashing", {"dimensions": 16}), EmbedderSpec("hashing", {"dimensions": 24})


def made(tmp_path, ending: str, *, keep=("*",), **sink):
    rows = [{"id": f"r{n}", "text": text, "title": f"t{n}"} for n, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    target = tmp_path / f"out{ending}"
    source = SourceSettings((str(tmp_path / "in.jsonl"),), id="id", keep=keep)
    settings = JobSettings(source, SinkSettings(str(target), **sink), OLD, folder=str(tmp_path / "jobs"), block_rows=20)
    assert run_job(settings).status == "done"
    return target, source


def vectors(target, width=24):
    rows = pa.concat_tables(read_back(target, width))
    return np.stack(rows["vector"].to_numpy()), rows


@pytest.mark.parametrize("ending", [".parquet", ".lance", ".jsonl"])
def test_k6_an_output_that_keeps_its_texts_is_its_own_source(ending, tmp_path) -> None:
    target, _ = made(tmp_path, ending)
    assert not find_stale_sink(target, OLD)
    stale = find_stale_sink(target, NEW)
    assert (stale.rows, stale.stale, set(stale.columns)) == (60, 60, {"text", "title"})
    report = sweep_sink(target, NEW, folder=str(tmp_path / "jobs"), block_rows=20)
    assert report.counts.done == 60
    found, rows = vectors(target)
    assert np.allclose(found, Embedder("hashing", dimensions=24, cache=False).embed(TEXTS))
    assert rows["id"].to_pylist() == [f"r{n}" for n in range(60)]
    assert rows["title"].to_pylist() == [f"t{n}" for n in range(60)]
    assert not find_stale_sink(target, NEW)
    assert sweep_sink(target, NEW, folder=str(tmp_path / "jobs")) is None


def test_an_output_without_texts_takes_them_from_the_source(tmp_path) -> None:
    for ending in (".npy", ".parquet"):
        target, source = made(tmp_path, ending, keep=())
        with pytest.raises(ConfigError, match="has no column 'text': say where the texts are"):
            sweep_sink(target, NEW, folder=str(tmp_path / "jobs"))
        assert sweep_sink(target, NEW, source=source, folder=str(tmp_path / "jobs")).counts.done == 60
        assert not find_stale_sink(target, NEW)


def test_chunk_rows_are_made_from_the_source(tmp_path) -> None:
    target, source = made(tmp_path, ".parquet", chunk_vectors=True)
    with pytest.raises(ConfigError, match="has a row for each chunk"):
        sweep_sink(target, NEW, folder=str(tmp_path / "jobs"))
    sweep_sink(target, NEW, source=source, folder=str(tmp_path / "jobs"))
    assert not find_stale_sink(target, NEW)
    assert find_stale_sink(target, NEW).chunked


def test_a_column_of_somebodys_table_is_replaced(tmp_path) -> None:
    table = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"text": TEXTS, "price": list(range(60))}), table)
    settings = JobSettings(
        SourceSettings((str(table),)), SinkSettings("", format="column"), OLD, folder=str(tmp_path / "jobs")
    )
    run_job(settings)
    assert find_stale_sink(table, NEW).column == "vector"
    sweep_sink(table, NEW, folder=str(tmp_path / "jobs"))
    rows = pq.read_table(table)
    assert rows["price"].to_pylist() == list(range(60))
    assert len(rows["vector"][0]) == 24
    assert not find_stale_sink(table, NEW)


def test_the_old_output_serves_until_the_new_one_is_whole(tmp_path) -> None:
    target, _ = made(tmp_path, ".parquet")
    cancel, served = threading.Event(), []

    def progress(state) -> None:
        served.append(len(pq.read_table(target)["vector"][0]))
        if state.rows:
            cancel.set()

    with pytest.raises(JobError):
        sweep_sink(target, NEW, folder=str(tmp_path / "jobs"), block_rows=5, progress=progress, cancel=cancel)
    assert set(served) == {16}
    assert find_stale_sink(target, NEW).stale == 60
    assert sweep_sink(target, NEW, folder=str(tmp_path / "jobs"), block_rows=5).counts.done == 60
    assert vectors(target)[0].shape == (60, 24)


def test_what_is_no_output_is_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match="there is no such output"):
        find_stale_sink(tmp_path / "nothing.parquet", NEW)
    (tmp_path / "a.csv").write_text("a,b")
    with pytest.raises(ConfigError, match="is no output that a job writes"):
        find_stale_sink(tmp_path / "a.csv", NEW)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ConfigError, match="has no column 'vector'"):
        find_stale_sink(tmp_path / "b.parquet", NEW)
