"""Issue 9, part 1: a column added to the source's own table, a memory, an object store; grown and replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jobkit import Bench, Remote, texts

from unabridged import Embedder, Limit
from unabridged.errors import ConfigError, JobError, ModelMismatch
from unabridged.jobs.job import retry_job, run_job
from unabridged.jobs.journal import Journal
from unabridged.jobs.settings import SinkSettings, SourceSettings
from unabridged.memory import Memory
from unabridged.testing import LoopbackProvider, vector_for

COLUMN = SinkSettings(format="column", column="embedding")


def table(rows: int, start: int = 0) -> pa.Table:
    given = texts(rows, start)
    given[1] = "  "
    return pa.table({"key": [f"k{i}" for i in range(start, start + rows)], "text": given, "n": list(range(rows))})


def write(path: Path, rows: pa.Table) -> None:
    if path.suffix == ".lance":
        import lance

        lance.write_dataset(rows, str(path), max_rows_per_file=11)
    else:
        pq.write_table(rows, path, row_group_size=11)


def read(path: Path) -> pa.Table:
    if path.suffix == ".lance":
        import lance

        return lance.dataset(str(path)).to_table()
    return pq.read_table(path)


def holds(found: pa.Table, name: str = "embedding") -> bool:
    """Whether every row has the vector of its own text, and blank ones have none."""
    for text, vector in zip(found["text"].to_pylist(), found[name].to_pylist(), strict=True):
        if text.isspace():
            assert vector is None
        elif vector is None or not np.array_equal(np.array(vector, np.float32), vector_for(text, 32)):
            return False
    return True


@pytest.mark.parametrize("ending", ["lance", "parquet"])
def test_a_column_is_added_to_the_source_and_filled_as_it_grows(bench: Bench, ending) -> None:
    path = bench.folder / f"rows.{ending}"
    write(path, table(50))
    with LoopbackProvider() as server:
        settings = bench.settings(str(path), COLUMN, Remote(server.url))
        report = run_job(settings)
        assert (report.status, report.counts.done, report.counts.skipped, report.counts.adds_up) == (
            "done",
            49,
            1,
            True,
        )
        found = read(path)
        assert found.column_names == ["key", "text", "n", "embedding"]
        assert found.num_rows == 50
        assert holds(found)
        kept = (found.schema.field("embedding").metadata or {}).get(b"unabridged.fingerprint")
        assert kept == settings.embedder().fingerprint().encode()
        assert run_job(settings).requests == server.total
        before = len(server.texts)
        assert before == 49

        more = table(10, 50)
        if ending == "lance":
            import lance

            lance.write_dataset(more, str(path), mode="append")
        else:
            grown = pa.concat_tables([found, more], promote_options="default").to_pylist()
            grown[7]["text"] = "another text in row seven"
            schema = found.schema
            pq.write_table(pa.Table.from_pylist(grown, schema=schema), path)
        report = run_job(settings)
        assert len(server.texts) == before + (9 if ending == "lance" else 10)
        assert (report.status, report.counts.rows, report.counts.adds_up) == ("done", 60, True)
        assert holds(read(path))


def test_a_column_of_that_name_is_not_replaced_unasked(bench: Bench) -> None:
    for ending in ("lance", "parquet"):
        path = bench.folder / f"rows.{ending}"
        write(path, table(10).append_column("embedding", pa.array(range(10))))
        settings = bench.settings(str(path), COLUMN)
        with pytest.raises(ConfigError, match="has a column 'embedding'"):
            run_job(settings)
        assert run_job(replace(settings, sink=replace(COLUMN, force=True))).status == "done"
        assert read(path)["embedding"].type == pa.list_(pa.float32(), 8)


def test_a_column_needs_a_table(bench: Bench) -> None:
    source = bench.jsonl([{"key": "a", "text": "one"}])
    with pytest.raises(ConfigError, match="a column can be added to lance and parquet, the source is jsonl"):
        run_job(bench.settings(source, COLUMN))
    with pytest.raises(ConfigError, match="a column has one vector a row"):
        run_job(bench.settings(bench.parquet(5), replace(COLUMN, chunk_vectors=True)))


def test_a_table_that_changed_while_the_job_ran_is_refused(bench: Bench) -> None:
    path = bench.folder / "rows.parquet"
    write(path, table(40))
    settings = bench.settings(str(path), COLUMN)
    changed = False

    def progress(state) -> None:
        nonlocal changed
        if state.phase == "writing" and not changed:
            changed = True
            write(path, table(41))

    with pytest.raises(JobError, match="was changed while the job ran"):
        run_job(settings, progress=progress)
    report = run_job(settings)
    assert (report.status, report.counts.rows) == ("done", 41)
    assert read(path)["embedding"].null_count == 1


def test_rows_that_lost_their_vectors_are_noticed(bench: Bench) -> None:
    path = bench.folder / "rows.parquet"
    write(path, table(20))
    settings = bench.settings(str(path), COLUMN)
    run_job(settings)
    found = read(path)
    column = pa.nulls(20, found.schema.field("embedding").type)
    field = found.schema.field("embedding")
    pq.write_table(pa.table([*found.columns[:3], column], schema=found.schema.set(3, field)), path)
    extra = pa.concat_tables([read(path), table(2, 90).append_column(field, pa.nulls(2, field.type))])
    pq.write_table(extra.replace_schema_metadata(found.schema.metadata), path)
    with pytest.raises(JobError, match="have lost the vectors that they had; drop the column"):
        run_job(settings)
    pq.write_table(read(path).drop_columns(["embedding"]), path)
    assert run_job(settings).status == "done"
    assert read(path)["embedding"].null_count == 2


def test_several_tables_get_their_column_each(bench: Bench) -> None:
    folder = bench.folder / "tables"
    folder.mkdir()
    for at in range(3):
        write(folder / f"{at}.parquet", table(9, at * 100))
    with LoopbackProvider() as server:
        report = run_job(bench.settings(str(folder), COLUMN, Remote(server.url)))
    assert report.counts.rows == 27
    assert all(holds(read(folder / f"{at}.parquet")) for at in range(3))


def test_a_memory_takes_rows_as_documents_and_a_second_run_changes_only_what_changed(bench: Bench) -> None:
    rows = [{"key": f"k{i}", "text": text, "tag": "x"} for i, text in enumerate(texts(12))]
    rows.append({"key": "long", "text": "Sentence about ships. " * 60, "tag": "y"})
    sink = SinkSettings(str(bench.folder / "memory"), format="memory", chunk_vectors=True)
    with LoopbackProvider(limit=Limit(input_tokens=64)) as server:
        source = SourceSettings((bench.jsonl(rows),), id="key", keep=("tag",))
        settings = bench.settings(source, sink, Remote(server.url))
        assert run_job(settings).status == "done"
        with Memory.open(sink.target, upkeep=False) as memory:
            assert memory.artifacts.counts().documents == 13
            (first,) = memory.artifacts.list(source="k0", role="document").items
            assert (first.text, first.metadata["tag"]) == (rows[0]["text"], "x")
            (long,) = memory.artifacts.list(source="long", role="document").items
            chunks = memory.artifacts.chunks(long)
            assert len(chunks) > 3
            assert "".join(sorted({chunk.text for chunk in chunks}))
            vectors = memory.artifacts.vectors([first.id, chunks[0].id])
            assert np.array_equal(vectors[first.id], vector_for(first.text, 32))
            assert np.array_equal(vectors[chunks[0].id], vector_for(chunks[0].text, 32))
            assert memory.verify().ok
        changed = [*rows[1:], {"key": "new", "text": "a new row", "tag": "z"}]
        changed[0] = {**changed[0], "text": "another text"}
        bench.jsonl(changed)
        before = len(server.texts)
        assert run_job(settings).status == "done"
        assert sorted(server.texts[before:]) == ["a new row", "another text"]
        with Memory.open(sink.target, upkeep=False) as memory:
            sources = sorted(a.source for a in memory.artifacts.list(role="document", limit=100))
            assert sources == sorted(row["key"] for row in changed)
            (first,) = memory.artifacts.list(source="k1", role="document").items
            assert first.text == "another text"
            assert memory.verify().ok


def test_a_memory_of_another_model_is_refused_before_anything_is_paid_for(bench: Bench) -> None:
    place = str(bench.folder / "memory")
    with Memory.open(place, embedder=Embedder("hashing", cache=False), upkeep=False) as memory:
        memory.add("a text")
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(5), SinkSettings(place, format="memory"), Remote(server.url))
        with pytest.raises(ModelMismatch, match="vectors of another model"):
            run_job(settings)
        assert server.total == 0


def test_a_publication_into_a_memory_that_was_interrupted_is_simply_done_again(bench: Bench, monkeypatch) -> None:
    sink = SinkSettings(str(bench.folder / "memory"), format="memory")
    settings = bench.settings(bench.parquet(30), sink)
    real = Journal.mark_published
    monkeypatch.setattr(Journal, "mark_published", lambda *_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        run_job(settings)
    monkeypatch.setattr(Journal, "mark_published", real)
    assert run_job(settings).status == "done"
    with Memory.open(sink.target, upkeep=False) as memory:
        assert memory.artifacts.counts().documents == 30


def test_a_memory_is_a_source_of_its_own_texts(bench: Bench) -> None:
    place = str(bench.folder / "memory")
    with Memory.open(place, upkeep=False) as memory:
        stored = memory.add_many(texts(25), session_id="s1")
    source = SourceSettings((place,), format="memory", keep=("session_id", "text"))
    report = run_job(bench.settings(source, bench.out("out.parquet")))
    assert report.counts.done == 25
    found = pq.read_table(bench.out("out.parquet")).to_pydict()
    assert set(found["id"]) == {each.id for each in stored}
    assert set(found["text"]) == set(texts(25))
    assert set(found["session_id"]) == {"s1"}


@pytest.mark.parametrize("ending", ["parquet", "npy", "jsonl"])
def test_an_output_in_an_object_store_grows_too(bench: Bench, ending) -> None:
    import fsspec

    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(20))]
    out = f"memory://grown/{ending}/out.{ending}"
    settings = bench.settings(SourceSettings((bench.jsonl(rows),), id="key"), SinkSettings(out))
    run_job(settings)
    bench.jsonl([{"key": "k0", "text": "changed"}, *rows[2:], {"key": "new", "text": "more"}])
    report = run_job(settings)
    assert (report.status, report.counts.rows) == ("done", 20)
    system = fsspec.filesystem("memory")
    if ending == "parquet":
        with system.open(f"/grown/{ending}/out.{ending}", "rb") as file:
            ids = pq.read_table(file)["id"].to_pylist()
    else:
        import json

        name = "out.ids.jsonl" if ending == "npy" else "out.jsonl"
        ids = [json.loads(line)["id"] for line in system.cat(f"/grown/{ending}/{name}").decode().splitlines()]
    assert sorted(ids) == sorted(["k0", *(f"k{i}" for i in range(2, 20)), "new"])
    with pytest.raises(ConfigError, match="exists"):
        run_job(replace(settings, name="another"))


def test_a_lance_table_at_a_uri_is_written_in_one_commit_and_grows(bench: Bench) -> None:
    import lance

    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(20))]
    uri = f"file-object-store://{bench.folder}/remote.lance"
    settings = bench.settings(SourceSettings((bench.jsonl(rows),), id="key"), SinkSettings(uri))
    run_job(settings)
    table = lance.dataset(uri)
    assert (table.count_rows(), table.version) == (20, 1)
    assert table.schema.metadata[b"unabridged.fingerprint"] == settings.embedder().fingerprint().encode()
    bench.jsonl([*rows[1:], {"key": "new", "text": "more"}])
    assert run_job(settings).status == "done"
    ids = lance.dataset(uri).to_table()["id"].to_pylist()
    assert ids == [*(f"k{i}" for i in range(1, 20)), "new"]
    with pytest.raises(ConfigError, match="exists"):
        run_job(replace(settings, name="another"))


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        (SinkSettings(), "sink.target: found none"),
        (SinkSettings("out.csv"), "expected one of"),
        (SinkSettings("out.parquet", format="feather"), "found 'feather'"),
        (SinkSettings("s3://bucket/out.csv"), "expected one of"),
    ],
)
def test_a_target_that_cannot_be_is_named(bench: Bench, sink, message) -> None:
    with pytest.raises(ConfigError, match=message):
        run_job(bench.settings(bench.parquet(2), sink))


def test_failures_of_a_grown_source_are_retried_into_the_output(bench: Bench) -> None:
    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(20))]
    settings = bench.settings(SourceSettings((bench.jsonl(rows),), id="key"), bench.out("out.jsonl"))
    run_job(settings)
    bench.jsonl([*rows, {"key": "bad", "text": 5}, {"key": "new", "text": "more"}])
    report = run_job(settings)
    assert (report.status, report.counts.done, report.counts.failed) == ("failed", 21, 1)
    report = retry_job(settings)
    assert (report.counts.done, report.counts.failed) == (21, 1)
    bench.jsonl([*rows, {"key": "bad", "text": "now good"}, {"key": "new", "text": "more"}])
    report = run_job(settings)
    assert (report.status, report.counts.done, report.counts.adds_up) == ("done", 22, True)
    import json

    ids = [json.loads(line)["id"] for line in Path(bench.out("out.jsonl")).read_text().splitlines()]
    assert sorted(ids) == sorted([*(f"k{i}" for i in range(20)), "bad", "new"])


def test_a_setting_that_says_nothing_to_the_target_is_refused(bench: Bench) -> None:
    source = bench.parquet(3)
    for sink, said in (
        (
            SinkSettings(bench.out("a.parquet"), column="v"),
            r"sink\.column: names the column that the format 'column' adds",
        ),
        (
            SinkSettings(bench.out("a.parquet"), format="npy"),
            r"sink\.format: found 'npy', but the ending of .*a\.parquet",
        ),
    ):
        with pytest.raises(ConfigError, match=said):
            run_job(bench.settings(source, sink))
    assert list((bench.folder / "jobs").iterdir()) == []
    with pytest.raises(ConfigError, match="dataset: found 'other', which is of a memory"):
        bench.settings(source, SinkSettings(bench.out("a.parquet"), dataset="other"))
    assert run_job(bench.settings(source, SinkSettings(bench.out("a.PARQUET"), format="parquet"))).status == "done"
