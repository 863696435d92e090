"""Verify, purge, erase, snapshots, export and import, stats, upkeep, migration."""

import json
import shutil
import time

import numpy as np
import pyarrow as pa
import pytest

from unabridged.errors import InputError, NotFound, StoreError
from unabridged.memory import Memory
from unabridged.memory.merging import newest_run, plan
from unabridged.memory.pieces import Fragment
from unabridged.memory.records import Inference, Pending, QueryRecord, RequestRecord
from unabridged.memory.schema import OUTSIDE, TABLES
from unabridged.memory.values import new_id, now
from unabridged.types import Chunk

SECRET = "the owl codeword 7c1f0b5e9d3a4428 is never to be written down"
GIF = b"GIF89a" + bytes(range(64))


def fill(memory, n=3):
    """Something in every table."""
    with memory.write() as tx:
        for k in range(n):
            text = f"Document {k}: Alice knows Bob{k}. " + "Füllung " * k
            document = tx.artifact(text, session_id=f"s{k}", source=f"file:{k}", metadata={"user": f"u{k}", "k": k})
            half = text.index(". ") + 2
            size = len(text[:half].encode())
            part = tx.chunk(document, Chunk(0, 0, half, 0, size, text[:half], 5))
            tx.summary(part, f"About Bob{k}.", inference_id=f"i{k}")
            one = tx.entity("Alice", "person", artifact=part, aliases=["Al"])
            two = tx.entity(f"Bob{k}", "person", artifact=part, quote=f"Bob{k}")
            tx.edge(one, "knows", two, artifact=part, valid_at="2020-01-01", quote=f"Alice knows Bob{k}")
    document = memory.artifacts.list(source="file:0").items[0]
    series = memory.series.create("heart rate", unit="bpm", artifact=document, session_id="s0", metadata={"user": "u0"})
    memory.series.append(series, [("2024-01-01", 60), ("2024-01-02", 62.5)])
    with memory.write() as tx:
        tx.observation(document, "It rose.", query="heart rate, 2024", series_id=series.id)
        tx.web_search(document, "Alice was in the news.", query="Alice news")
    memory.images.add(GIF, caption="Alice", session_id="s0", shows=[memory.entities.find("Alice", "person")])
    model = memory.models.register("some-model", "somebody")
    memory.inferences.append(
        [
            Inference(id=f"i{k}", stage="summarize", created_at=now(), model_id=model.id, cost=0.5, session_id=f"s{k}")
            for k in range(n)
        ]
    )
    memory.pending.append(
        [Pending(id=c.id, document_id=document.id, created_at=now()) for c in memory.artifacts.list(pending=True)]
    )
    memory.requests.append(
        [RequestRecord(id="key", state="done", created_at=now(), session_id="s0", detail={"a": [1]})]
    )
    memory.queries.append([QueryRecord(id=new_id(), created_at=now(), session_id="s0", text="who?")])


def bytes_of(place):
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}


def found(place, marker):
    return [path for path, raw in bytes_of(place).items() if marker.encode() in raw]


# -- verify -----------------------------------------------------------------------------------------


def tamper(memory, work):
    memory.store.commit(work)
    return {check.name for check in memory.verify().checks if not check.ok}


TAMPERING = [
    ("links: edge_artifact has both its ends", lambda d: d.delete("artifacts", "`role` = 'chunk'")),
    ("chunks: are their parent's bytes", lambda d: _set(d, "artifacts", "`role` = 'chunk'", text="another text")),
    (
        "chunks: kind, session and times are their document's",
        lambda d: _set(d, "artifacts", "`role` = 'chunk'", kind="memory"),
    ),
    ("artifacts: kinds fit roles", lambda d: _set(d, "artifacts", "`role` = 'summary'", kind="knowledge")),
    ("artifacts: parents are there", lambda d: _set(d, "artifacts", "`role` = 'chunk'", parent_id="nobody")),
    ("artifacts: documents are roots", lambda d: _set(d, "artifacts", "`role` = 'summary'", document_id="nobody")),
    ("artifacts: sessions are there", lambda d: d.delete("sessions", "`id` = 's1'")),
    ("entities: have a source", lambda d: d.delete("links", "`type` = 'entity_artifact'")),
    ("edges: have a source", lambda d: d.delete("links", "`type` = 'edge_artifact'")),
    ("edges: both ends are there", lambda d: d.delete("entities", "`name` = 'Alice'")),
    ("edges: keys are what they state", lambda d: _set(d, "edges", "true", fact="another fact")),
    ("entities: one for each name and type", lambda d: _set(d, "entities", "`name` = 'Alice'", name="Alicia")),
    ("edges: end when their source or a contradiction says", lambda d: _set(d, "edges", "true", invalid_at=now())),
    ("images: files are there and whole", lambda d: _set(d, "images", "true", sha256="0" * 64)),
    ("observations: their series is there", lambda d: d.delete("series", "true")),
    ("links: are unique", lambda d: d.append("links", d.view.records("links", "`type` = 'edge_artifact'"))),
    (
        "artifacts: ids are unique",
        lambda d: d.append("artifacts", d.view.records("artifacts", "`role` = 'web_search'")),
    ),
    ("links: passages lie within their artifact", lambda d: _passage(d)),
    (
        "artifacts: vectors are whole and of one model",
        lambda d: _set(d, "artifacts", "`role` = 'chunk'", embedder="other"),
    ),
    ("schema", lambda d: d.set(schema=0)),
]


def _set(draft, table, where, **values):
    ids = draft.view.rows(table, where, ["id"])["id"].to_pylist()
    columns = {name: pa.array([value] * len(ids)) for name, value in values.items()}
    draft.merge(table, pa.table({"id": ids, **columns}))


def _passage(draft):
    from dataclasses import replace

    (link,) = [each for each in draft.view.records("links", "`start` IS NOT NULL")][:1]  # noqa: C416
    draft.append("links", [replace(link, from_id="other", to_id=link.to_id, start=0, end=9999)])


@pytest.fixture(scope="module")
def filled(tmp_path_factory, embedders):
    """One place with something in every table, copied for every tampering."""
    place = tmp_path_factory.mktemp("filled") / "place"
    with Memory.open(place, embedder=embedders()) as memory:
        fill(memory)
        assert memory.verify().ok
        assert memory.verify().exit_code == 0
    return place


@pytest.mark.parametrize(("name", "work"), TAMPERING, ids=[name for name, _ in TAMPERING])
def test_verify_notices(filled, place, name, work):
    shutil.copytree(filled, place)
    with Memory.open(place) as memory:
        assert name in tamper(memory, work)
        report = memory.verify()
        assert report.exit_code == 1
        with pytest.raises(StoreError, match="promise"):
            report.raise_if_broken()


def test_verify_counts_vectors_and_orphaned_files(filled, place):
    shutil.copytree(filled, place)
    memory = Memory.open(place)
    coverage = memory.verify().vectors
    assert all(c.expected == c.present for c in coverage.values())
    assert (coverage["documents"].expected, coverage["chunks"].expected, coverage["entities"].expected) == (3, 3, 4)
    memory.images.files.write("f" * 64, b"nobody's")
    assert "no image names" in memory.verify().notes[0]
    assert memory.images.sweep() == 1
    assert memory.verify().notes == ()


# -- purge and erase --------------------------------------------------------------------------------


def test_case_41_deleted_text_is_in_no_row_and_after_purge_in_no_file(place, make_embedder):
    with Memory.open(place, embedder=make_embedder()) as memory:
        memory.add("something that stays", session_id="kept")
        with memory.write() as tx:
            note = tx.artifact(SECRET, metadata={"word": "7c1f0b5e9d3a4428"})
            part = tx.chunk(note, Chunk(0, 0, 40, 0, 40, SECRET[:40], 9))
            tx.summary(part, f"In short: {SECRET}")
            entity = tx.entity(f"Owl {SECRET}", "codeword", artifact=note)
            tx.edge(entity, "is", entity, artifact=note, fact=SECRET)
        memory.optimize()
        near = memory.artifacts.vectors([note.id])[note.id]
        assert found(place, "7c1f0b5e9d3a4428")
        memory.delete(note)
        view = memory.store.view()
        assert note.id not in view["artifacts"].nearest(near, 10)["id"].to_pylist()
        assert view["artifacts"].match("codeword", "text", 10).num_rows == 0
        assert found(place, "7c1f0b5e9d3a4428")  # rows out of sight, bytes still in older versions
        done = memory.purge()
        assert done.bytes_freed > 0
        assert found(place, "7c1f0b5e9d3a4428") == []
        assert found(place, "codeword") == []
        assert [a.text for a in memory.artifacts.list()] == ["something that stays"]
        memory.add("and it goes on")
        memory.verify().raise_if_broken()


def test_purge_of_a_partly_deleted_fragment_and_updated_metadata(place):
    with Memory.open(place, upkeep=False) as memory:
        notes = memory.add_many([f"text {n} {SECRET if n == 3 else ''}" for n in range(10)], metadata={"tag": SECRET})
        for note in notes:
            memory.update(note, metadata={"tag": "clean"})
        memory.delete(notes[3])
        assert found(place, "7c1f0b5e9d3a4428")
        memory.purge()
        assert found(place, "7c1f0b5e9d3a4428") == []
        assert len(memory.artifacts.list(metadata={"tag": "clean"})) == 9


def test_purge_names_what_holds_old_versions(memory):
    note = memory.add(SECRET)
    memory.snapshot("before")
    memory.delete(note)
    with pytest.raises(StoreError, match="1 snapshot"):
        memory.purge()
    with memory.pinned(), pytest.raises(StoreError, match="1 registered reader"):
        memory.purge(drop_snapshots=True)
    memory.purge()
    assert memory.snapshots() == []


def test_a29_erasure_reaches_everything_and_proves_it(place, make_embedder):
    embedder = make_embedder()
    forgotten = []
    embedder.forget = lambda texts: forgotten.extend(texts) or len(texts)
    with Memory.open(place, embedder=embedder) as memory:
        fill(memory)
        with memory.write() as tx:
            note = tx.artifact(SECRET, session_id="s0", metadata={"user": "u0"})
            tx.entity("Alice", "person", artifact=note)
        memory.inferences.append(
            [Inference(id="x", stage="s", created_at=now(), artifact_id=note.id, detail={"t": SECRET})]
        )
        memory.queries.append([QueryRecord(id="q", created_at=now(), session_id="s0", text=SECRET)])
        with pytest.raises(InputError, match="session_id, a source, metadata"):
            memory.erase()
        memory.snapshot("old")
        with pytest.raises(StoreError, match="drop_snapshots"):
            memory.erase(session_id="s0")
        done = memory.erase(session_id="s0", drop_snapshots=True)
        assert done.proof.holds
        assert (done.proof.passages, done.proof.passages_found, done.proof.ids_found) == (done.proof.passages, 0, 0)
        assert done.proof.passages >= 2
        assert (done.images, done.series, done.sessions, done.queries, done.requests) == (1, 1, 1, 2, 1)
        assert done.inferences == 2
        assert SECRET in forgotten
        assert found(place, "7c1f0b5e9d3a4428") == []
        assert memory.artifacts.counts(session_id="s0").documents == 0
        assert memory.pending.count() == 2
        assert memory.images.files.names() == []
        assert memory.entities.find("Alice", "person") is not None  # others mention her
        assert memory.entities.find("Bob0", "person") is None
        memory.verify().raise_if_broken()
        by_user = memory.erase(metadata={"user": "u1"})
        assert len(by_user.deletion.artifacts) == 3
        by_source = memory.erase(source="file:2")
        assert by_source.proof.holds
        assert memory.artifacts.counts().documents == 0
        assert memory.entities.count() == 0


def test_erasing_a_text_that_somebody_else_has_too(memory):
    mine, theirs = (memory.add(SECRET, metadata={"user": user}) for user in ("me", "them"))
    done = memory.erase(artifacts=[mine])
    assert done.proof.holds
    assert memory.artifacts.get(theirs.id).text == SECRET


# -- snapshots --------------------------------------------------------------------------------------


def test_snapshots_open_restore_and_let_go(anywhere):
    memory = anywhere
    note = memory.add("first", session_id="s")
    memory.snapshot("one")
    memory.add("second")
    with pytest.raises(StoreError, match="of that name exists"):
        memory.snapshot("one")
    memory.delete(note)
    assert [s.name for s in memory.snapshots()] == ["one"]
    memory.restore("one")
    assert [a.text for a in memory.artifacts.list()] == ["first"]
    memory.drop_snapshot("one")
    for gone in (memory.restore, memory.drop_snapshot):
        with pytest.raises(NotFound):
            gone("one")


def test_a_snapshot_is_opened_read_only_and_survives_upkeep(place):
    memory = Memory.open(place, grace=0.0)
    memory.add("first")
    memory.images.add(GIF)
    memory.snapshot("one")
    memory.images.delete([memory.images.list().items[0]])
    for n in range(40):
        memory.add(f"later {n}")
    memory.optimize()
    old = Memory.open(place, snapshot="one")
    assert [a.text for a in old.artifacts.list()] == ["first"]
    assert old.images.read(old.images.list().items[0]) == GIF  # its file was kept for it
    with pytest.raises(StoreError, match="read_only"):
        old.add("no")
    memory.drop_snapshot("one")
    memory.images.sweep()
    assert memory.images.files.names() == []
    with pytest.raises(NotFound):
        Memory.open(place, snapshot="one")


# -- export and import ------------------------------------------------------------------------------


def export_bytes(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("vector_type", ["float32", "float16"])
def test_r6_export_and_import_are_lossless(tmp_path, make_embedder, kind, vector_type):
    with Memory.open(tmp_path / "a", embedder=make_embedder(), vector_type=vector_type) as memory:
        fill(memory)
        memory.delete(memory.artifacts.list(source="file:1").items)
        manifest = memory.export(tmp_path / "one", format=kind)
        ids = [a.id for a in memory.artifacts.list(limit=100)]
        vectors = memory.artifacts.vectors(ids)
    with Memory.import_(tmp_path / "one", tmp_path / "b", dataset="copy", embedder=make_embedder()) as copy:
        copy.verify().raise_if_broken()
        assert copy.settings["width"] == 16
        assert copy.artifacts.many(ids) == memory.artifacts.many(ids)
        for id_, vector in copy.artifacts.vectors(ids).items():
            assert np.array_equal(vector, vectors[id_])
        again = copy.export(tmp_path / "two", format=kind)
        copy.add("and it goes on")
    assert len(vectors) == len(ids) == manifest.tables["artifacts"]["rows"]
    if kind == "jsonl":
        assert export_bytes(tmp_path / "one") == export_bytes(tmp_path / "two")
    assert {t: v["rows"] for t, v in manifest.tables.items()} == {t: v["rows"] for t, v in again.tables.items()}
    assert set(manifest.tables) == {*TABLES, *OUTSIDE} - {"snapshots"}
    assert manifest.files


def test_export_of_an_empty_dataset_and_refusals(tmp_path, memory):
    memory.export(tmp_path / "empty")
    copy = Memory.import_(tmp_path / "empty", "memory://")
    assert copy.artifacts.counts().documents == 0
    with pytest.raises(InputError, match="is there already"):
        memory.export(tmp_path / "empty")
    with pytest.raises(InputError, match="expected 'jsonl' or 'parquet'"):
        memory.export(tmp_path / "x", format="csv")
    memory.add("not empty")
    with pytest.raises(StoreError, match="not empty"):
        Memory.import_(tmp_path / "empty", memory.store.place.lake.uri)
    with pytest.raises(InputError, match=r"no manifest.json"):
        Memory.import_(tmp_path, "memory://")


def test_a_damaged_export_is_refused_before_anything_is_written(tmp_path, filled):
    Memory.open(filled).export(tmp_path / "good")
    for damage, said in (
        (lambda p: (p / "edges.jsonl").write_text("{}\n"), "file of edges.*SHA-256"),
        (lambda p: (p / "links.jsonl").unlink(), "links.jsonl is missing"),
        (lambda p: next((p / "files").iterdir()).write_bytes(b"x"), "missing or damaged"),
        (lambda p: _manifest(p, schema=99), "newer than this library"),
    ):
        shutil.rmtree(tmp_path / "bad", ignore_errors=True)
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        damage(tmp_path / "bad")
        with pytest.raises(InputError, match=said):
            Memory.import_(tmp_path / "bad", tmp_path / "target")
        assert Memory.open(tmp_path / "target").artifacts.counts().documents == 0


def _manifest(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


# -- stats ------------------------------------------------------------------------------------------


def test_a25_stats_say_what_there_is(filled, place):
    shutil.copytree(filled, place)
    memory = Memory.open(place)
    stats = memory.stats()
    assert (stats.name, stats.width, stats.files, stats.readers, stats.snapshots) == ("default", 16, 1, 0, ())
    assert (stats.artifacts.documents, stats.artifacts.chunks, stats.artifacts.summaries) == (3, 3, 3)
    assert (stats.artifacts.observations, stats.artifacts.web_searches) == (1, 1)
    assert stats.vectors["edges"].present == stats.vectors["edges"].expected == 3
    assert stats.tables["artifacts"].rows == 11
    assert stats.bytes > sum(t.bytes for t in stats.tables.values()) > 10_000
    assert stats.tables["artifacts"].indexes == ("lexical_idx", "text_idx")


# -- upkeep -----------------------------------------------------------------------------------------


def test_small_pieces_are_merged_like_a_binary_counter():
    sizes, written = [], 0
    for _ in range(1000):
        sizes.append(1)
        at = newest_run(sizes)
        if at < len(sizes):
            written += sum(sizes[at:])
            sizes[at:] = [sum(sizes[at:])]
    assert sum(sizes) == 1000
    assert len(sizes) <= 11  # log2
    assert written <= 1000 * 11


def test_the_plan_leaves_what_an_index_covers():
    pieces = [Fragment(0, 50_000, 20_000), Fragment(1, 100, 0), Fragment(2, 60, 0), Fragment(3, 60, 0)]
    assert plan(pieces, {0}, {0}).compact == ((1, 2, 3),)
    assert plan(pieces, {0}, set()).compact == ((1, 2, 3), (0,))
    assert plan(pieces, {0}, {0}, 100).refresh
    assert not plan(pieces, {0}, {0}).refresh
    assert plan(pieces[:1], {0}, {0}).empty


def test_what_settles_or_lies_idle_becomes_one_piece():
    pieces = [Fragment(0, 500, 0), Fragment(1, 400, 0), Fragment(2, 200, 0), Fragment(3, 8, 0)]
    assert plan(pieces, {0}, {0}).empty
    assert plan(pieces, {0}, {0}, idle=True).compact == ((1, 2, 3),)
    settling = plan(pieces, {0}, {0}, 600)
    assert (settling.compact, settling.refresh) == (((1, 2, 3),), True)
    large = [Fragment(0, 50_000, 0), Fragment(1, 60, 0), Fragment(2, 20, 0)]
    assert plan(large, set(), set(), 600).compact == ((1, 2),)  # what is large is not written once more
    assert plan(large[:2], set(), set(), 600).compact == ()


def test_upkeep_by_itself_keeps_a_table_in_few_pieces(place, make_embedder):
    with Memory.open(place, embedder=make_embedder(8), grace=0.0) as memory:
        for n in range(130):
            memory.add(f"note {n}")
        stats = memory.stats()
        assert stats.tables["artifacts"].fragments < 35
        assert stats.tables["artifacts"].versions < 130
        memory.optimize()
        stats = memory.stats()
        assert stats.tables["artifacts"].fragments == 1
        assert stats.tables["artifacts"].versions <= 4
        assert len({a.text for a in memory.artifacts.list(limit=200)}) == 130
        memory.verify().raise_if_broken()


def test_indexes_are_made_when_they_pay_and_answer_as_a_scan_does(place, monkeypatch):
    monkeypatch.setattr("unabridged.memory.upkeep.SEGMENTS", 1)
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((20, 8)).astype(np.float32)
    with Memory.open(place, grace=0.0) as memory:

        def load(start, count):
            with memory.write() as tx:
                for n in range(start, start + count):
                    vector = centres[n % 20] + rng.standard_normal(8).astype(np.float32) / 4
                    tx.artifact(f"note number {n} 北京{n % 7}", session_id=f"s{n % 50}", vector=vector)

        load(0, 8_000)
        memory.optimize()
        assert "id_idx" in memory.stats().tables["artifacts"].indexes
        assert "vector_idx" not in memory.stats().tables["artifacts"].indexes
        load(8_000, 10_000)
        for n in range(26):  # small commits bring the upkeep that builds in a thread
            memory.add(f"late note {n}", vector=centres[0])
        memory.upkeep.close()
        view = memory.store.view()
        covered = view["artifacts"].covered()
        assert sum(len(s) for s in covered["text_idx"]) > 0
        memory.optimize()
        view = memory.store.view()
        assert "vector_idx" in view["artifacts"].covered()
        for query in (centres[3], centres[11]):
            fast = view["artifacts"].nearest(query, 20, probes=20)["id"].to_pylist()
            exact = view["artifacts"].nearest(query, 20, exact=True)["id"].to_pylist()
            assert len(set(fast) & set(exact)) >= 18
        assert view["artifacts"].match("17321", "text", 5).num_rows == 1
        assert view["artifacts"].match("number 17321", "text", 5, phrase=True).num_rows == 1
        assert view["artifacts"].match("北京3", "text", 5, where="`session_id` = 's3'").num_rows == 5
        doomed = [a.id for a in memory.artifacts.list(session_id="s3", limit=1000)]
        memory.delete(doomed)
        memory.optimize()
        assert memory.stats().tables["artifacts"].stale == 0
        assert memory.store.view()["artifacts"].match("17303", "text", 5).num_rows == 0
        memory.verify().raise_if_broken()


def test_readers_go_on_while_an_index_is_built(place):
    """What builds an index borrows its table object whole; readers of the same view must not meet it."""
    import threading

    with Memory.open(place, upkeep=False) as memory:
        rng = np.random.default_rng(1)
        with memory.write() as tx:
            for n in range(20_000):
                tx.artifact(f"words of note {n} and some more of them", vector=rng.standard_normal(16))
        memory.store.turn(lambda writing: _settle_all(writing))
        errors, reads, stop = [], [], threading.Event()

        def read():
            try:
                while not stop.is_set():
                    reads.append(len(memory.artifacts.list(limit=5)))
            except StoreError as error:
                errors.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        memory.optimize()
        stop.set()
        reader.join()
        assert errors == []
        assert len(reads) > 3
        assert "vector_idx" in memory.store.view()["artifacts"].covered()


def _settle_all(writing):
    from unabridged.memory.schema import Index

    writing.touch("artifacts").create_index(Index("id", "btree"))
    writing.move()


def test_outside_tables_are_kept_up_too(place):
    with Memory.open(place, grace=0.0) as memory:
        series = memory.series.create("load")
        for n in range(60):
            memory.series.append(series, [(f"2024-01-01T00:{n:02}", n)])
        memory.optimize()
        assert memory.stats().tables["points"].fragments < 10
        assert memory.series.stats(series).count == 60


def test_once_idle_for_the_grace_it_tidies_up_by_itself(place):
    with Memory.open(place, grace=0.2) as memory:
        for n in range(10):
            memory.add(f"note {n}")
        before = memory.stats().tables["artifacts"]
        memory.upkeep._idle.join(20)
        after = memory.stats().tables["artifacts"]
        assert (before.fragments, after.fragments) == (10, 1)
        assert after.versions < before.versions
        memory.add("and on")
        assert memory.upkeep._idle.is_alive()


def test_upkeep_inside_this_process():
    with Memory.open("memory://") as memory:
        for n in range(30):
            memory.add(f"note {n}")
        assert memory.store.view()["artifacts"].count() == 30
        assert memory.upkeep.clean() == 0
        memory.verify().raise_if_broken()


def test_upkeep_that_fails_does_not_fail_the_commit(memory, monkeypatch, caplog):
    monkeypatch.setattr(
        "unabridged.memory.upkeep.Upkeep.step", lambda *_a, **_k: (_ for _ in ()).throw(StoreError("no room"))
    )
    for n in range(26):
        memory.add(f"note {n}")
    assert "upkeep was not finished: no room" in caplog.text
    assert memory.artifacts.counts().documents == 26


def test_upkeep_under_way_elsewhere_is_left_alone(memory, monkeypatch):
    monkeypatch.setattr("unabridged.memory.upkeep.WAIT", 0.05)
    assert memory.store.place.upkeep.acquire()
    assert not memory.upkeep.step()
    with pytest.raises(StoreError, match="under way elsewhere"):
        memory.optimize()
    memory.store.place.upkeep.release()


def test_the_grace_holds_superseded_versions(place):
    memory = Memory.open(place, grace=30.0)
    for n in range(5):
        memory.add(f"note {n}")
    old = memory.store.view()
    for n in range(5):
        memory.add(f"later {n}")
    memory.upkeep.clean()
    assert old.rows("artifacts").num_rows == 5
    memory.store.grace = 0.0
    time.sleep(0.01)
    memory.add("last")
    memory.upkeep.clean()
    assert memory.stats().tables["artifacts"].versions <= 4


# -- migration --------------------------------------------------------------------------------------


def test_an_older_dataset_is_brought_forward(filled, place):
    shutil.copytree(filled, place)
    memory = Memory.open(place)
    before = (memory.artifacts.list(limit=100), memory.edges.list(), memory.entities.list(), memory.series.list())

    def make_older(writing):
        for table, columns in {
            "edges": ["stated_invalid_at"],
            "entities": ["names"],
            "artifacts": ["tags", "expires_at"],
        }.items():
            writing.touch(table).drop_columns(columns)
        handle = writing.tables.pop("images")
        memory.store.place.lake.drop(f"{memory.info.id}.images")
        writing.touch("links").delete("`type` = 'entity_image'")
        del handle
        writing.move(settings={**writing.head.settings, "schema": 0})

    memory.store.turn(make_older)
    memory.store.place.lake.drop(f"{memory.info.id}.queries")
    with pytest.raises(StoreError, match="older schema 0"):
        Memory.open(place, read_only=True)
    newer = Memory.open(place)
    assert newer.settings["schema"] == 1
    assert (newer.artifacts.list(limit=100), newer.edges.list(), newer.entities.list(), newer.series.list()) == before
    assert len(newer.artifacts.list(metadata={"user": "u1"})) == 3  # the computed column is filled
    assert newer.entities.named("al")
    assert newer.queries.count() == 0
    newer.images.add(GIF, vector=[1.0] * 16, fingerprint=newer.settings["fingerprint"])
    newer.verify().raise_if_broken()
    newer.store.commit(lambda draft: draft.set(schema=99))
    with pytest.raises(StoreError, match="newer than 1: upgrade"):
        Memory.open(place)
