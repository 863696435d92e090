"""Sweeping a memory: what is stale by fingerprint is made new, and only that (SPEC K6, promises 10 and 11)."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest

from unabridged import Embedder
from unabridged.errors import ConfigError, JobError
from unabridged.jobs.sweep import find_stale, sweep
from unabridged.memory import Memory
from unabridged.memory.remember.plan import Cutter
from unabridged.text.documents.model import Document

BOOK = "\n\n".join(
    f"Paragraph {n} speaks of person {n} and of place {n}, at some length, so that it fills a good part of a chunk."
    for n in range(40)
)
OLD, NEW = {"size": 200, "overlap_percent": 0}, {"size": 90, "overlap_percent": 0}


class Counting:
    """An embedder that remembers what it was asked."""

    def __init__(self, dimensions: int = 32) -> None:
        self.inner = Embedder("hashing", dimensions=dimensions, cache=False)
        self.texts: list[str] = []
        self.fail_after: int | None = None

    def fingerprint(self, role="document"):
        return self.inner.fingerprint(role)

    def embed(self, texts):
        if self.fail_after is not None and len(self.texts) >= self.fail_after:
            raise RuntimeError("the power went")
        self.texts += list(texts)
        return self.inner.embed(texts)


def filled(uri: str, embedder=None, chunking=OLD, text=BOOK, **options) -> Memory:
    """A memory with a chunked book: each chunk states a fact, with its place, and has a summary."""
    memory = Memory.open(uri, embedder=embedder, **options)
    cutter = Cutter.of(chunking)
    with memory.write() as tx:
        document = tx.artifact(text, source="book", session_id="s1", metadata={"user": "alice"})
        for chunk in cutter.chunks(Document(text)):
            made = tx.chunk(document, chunk, splitter=cutter.name, processed_at="2026-01-01T00:00:00Z")
            tx.summary(made, f"Summary of chunk {chunk.index}.")
            quote = chunk.text.split(",")[0]
            person = tx.entity(f"person of {chunk.index}", "person", artifact=made, quote=quote)
            tx.edge(person, "lives at", tx.entity("the place", "place", artifact=made), artifact=made, quote=quote)
    return memory


def chunks_of(memory: Memory):
    document = next(each for each in memory.artifacts.list(role="document", limit=1000).items if each.source == "book")
    return document, memory.artifacts.chunks(document)


def spans(chunks) -> list[tuple[int, int]]:
    return [(chunk.start_offset, chunk.end_offset) for chunk in chunks]


def test_k6_staleness_is_a_query(tmp_path) -> None:
    embedder = Counting()
    with filled(str(tmp_path), embedder) as memory:
        assert not find_stale(memory, chunking=OLD)
        stale = find_stale(memory, chunking=NEW)
        _, chunks = chunks_of(memory)
        assert (stale.documents, stale.chunks, stale.vectors, stale.missing) == (1, len(chunks), 0, 0)
        assert stale.splitters == {Cutter.of(OLD).name: len(chunks)}
        other = find_stale(memory, embedder=Counting(16))
        assert other.vectors == sum(other.embedders.values())
        assert other.vectors > len(chunks)


def test_k6_after_a_sweep_the_chunks_are_those_of_a_fresh_start(tmp_path) -> None:
    with filled(str(tmp_path / "a"), Counting()) as memory, filled(str(tmp_path / "b"), Counting(), NEW) as fresh:
        before, old = chunks_of(memory)
        swept = sweep(memory, chunking=NEW)
        _document, chunks = chunks_of(memory)
        _, expected = chunks_of(fresh)
        assert spans(chunks) == spans(expected)
        assert [(c.text, c.tokens, c.chunk_index, c.splitter) for c in chunks] == [
            (c.text, c.tokens, c.chunk_index, c.splitter) for c in expected
        ]
        assert {(c.kind, c.session_id, c.created_at, c.metadata["user"]) for c in chunks} == {
            ("knowledge", "s1", before.created_at, "alice")
        }
        a, b = memory.artifacts.vectors([c.id for c in chunks]), fresh.artifacts.vectors([c.id for c in expected])
        assert np.array_equal(np.stack([a[c.id] for c in chunks]), np.stack([b[c.id] for c in expected]))
        assert swept.documents == 1
        assert swept.removed == len(old) - swept.kept
        assert swept.summaries == swept.removed
        assert not find_stale(memory, chunking=NEW)
        assert memory.verify().ok
        assert sweep(memory, chunking=NEW).documents == 0


def test_promise_11_every_fact_keeps_its_sources_and_their_places(tmp_path) -> None:
    with filled(str(tmp_path), Counting()) as memory:
        edges = memory.edges.list(limit=1000).items
        before = {e.id: sorted((x.quote or "") for x in memory.evidence(e)) for e in edges}
        times = {e.id: (e.created_at, e.valid_at, e.invalid_at) for e in edges}
        sweep(memory, chunking=NEW)
        document, chunks = chunks_of(memory)
        ids = {c.id for c in chunks}
        after = memory.edges.list(limit=1000).items
        assert {e.id: (e.created_at, e.valid_at, e.invalid_at) for e in after} == times
        assert {e.artifact_id for e in after} <= ids
        assert {e.id: sorted((x.quote or "") for x in memory.evidence(e)) for e in after} == before
        assert all(quote for quotes in before.values() for quote in quotes)
        memory.delete(document)
        assert not memory.edges.list().items
        assert not memory.entities.list().items


def test_a_fact_that_was_closed_stays_closed(tmp_path) -> None:
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        cutter = Cutter.of(OLD)
        with memory.write() as tx:
            note = tx.artifact("Ann lives in Berlin.", valid_at="2020-01-01")
            ann = tx.entity("Ann", "person", artifact=note)
            berlin = tx.edge(ann, "lives in", tx.entity("Berlin", "place", artifact=note), artifact=note)
        with memory.write() as tx:
            book = tx.artifact(BOOK, source="book", valid_at="2024-01-01")
            made = [tx.chunk(book, chunk, splitter=cutter.name) for chunk in cutter.chunks(Document(BOOK))]
            paris = tx.edge(
                ann,
                "lives in",
                tx.entity("Paris", "place", artifact=made[1]),
                artifact=made[1],
                fact="Ann lives in Paris",
            )
            tx.mention(ann, made[1])
            tx.contradict(berlin, paris)
        closed = memory.edges.get(berlin.id).invalid_at
        assert closed is not None
        sweep(memory, chunking=NEW)
        assert memory.edges.get(berlin.id).invalid_at == closed
        assert memory.verify().ok
        memory.delete(chunks_of(memory)[0])
        assert memory.edges.get(berlin.id).invalid_at is None


def test_chunks_of_the_same_bytes_keep_their_rows_and_cost_nothing(tmp_path) -> None:
    embedder = Counting()
    with filled(str(tmp_path), embedder) as memory:
        _, old = chunks_of(memory)
        embedder.texts.clear()
        memory.store.commit(lambda draft: draft.merge("artifacts", _renamed(old)))
        swept = sweep(memory, chunking=OLD)
        _, chunks = chunks_of(memory)
        assert [c.id for c in chunks] == [c.id for c in old]
        assert (swept.kept, swept.chunks, swept.removed, swept.summaries) == (len(old), 0, 0, 0)
        assert embedder.texts == []
        assert {c.splitter for c in chunks} == {Cutter.of(OLD).name}


def _renamed(chunks):
    import pyarrow as pa

    return pa.table({"id": [c.id for c in chunks], "splitter": ["of another version"] * len(chunks)})


def test_only_the_documents_that_are_stale_are_touched(tmp_path) -> None:
    embedder = Counting()
    with filled(str(tmp_path), embedder, NEW) as memory:
        short = memory.add("short and whole", source="note")
        cutter = Cutter.of(OLD)
        with memory.write() as tx:
            other = tx.artifact(BOOK.replace("Paragraph", "Section"), source="other")
            for chunk in cutter.chunks(Document(other.text)):
                tx.chunk(other, chunk, splitter=cutter.name)
        _, before = chunks_of(memory)
        embedder.texts.clear()
        assert sweep(memory, chunking=NEW).documents == 1
        assert chunks_of(memory)[1] == before
        assert memory.artifacts.get(short.id) == short
        assert all("Section" in text for text in embedder.texts)


def test_a_document_that_fits_now_has_no_chunks_and_its_facts_hang_from_it(tmp_path) -> None:
    embedder = Counting()
    with filled(str(tmp_path), embedder) as memory:
        quotes = {x.quote for e in memory.edges.list(limit=100).items for x in memory.evidence(e)}
        sweep(memory, chunking={"size": 100_000})
        document, chunks = chunks_of(memory)
        assert chunks == []
        assert {e.artifact_id for e in memory.edges.list(limit=100).items} == {document.id}
        assert {x.quote for e in memory.edges.list(limit=100).items for x in memory.evidence(e)} == quotes
        vector = memory.artifacts.vectors([document.id])[document.id]
        assert np.array_equal(vector, embedder.inner.embed(BOOK))
        assert memory.verify().ok
        assert not find_stale(memory, chunking={"size": 100_000})


def test_a_document_that_does_not_fit_any_more_is_cut_and_its_facts_go_to_the_chunks(tmp_path) -> None:
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        with memory.write() as tx:
            book = tx.artifact(BOOK, source="book")
            tx.entity("person 31", "person", artifact=book, quote="person 31")
            tx.edge(
                tx.entity("person 2", "person", artifact=book),
                "knows",
                tx.entity("person 3", "person", artifact=book),
                artifact=book,
            )
        assert find_stale(memory, chunking=NEW).documents == 1
        sweep(memory, chunking=NEW)
        _, chunks = chunks_of(memory)
        holder = next(c for c in chunks if "person 31 " in c.text)
        entity = next(e for e in memory.entities.list().items if e.name == "person 31")
        evidence = memory.evidence(entity)
        assert [(x.artifact.id, x.quote) for x in evidence] == [(holder.id, "person 31")]
        assert memory.edges.list().items[0].artifact_id in {c.id for c in chunks}
        assert memory.verify().ok


def test_what_else_hangs_from_a_chunk_goes_to_its_successor(tmp_path) -> None:
    with filled(str(tmp_path), Counting()) as memory:
        _, old = chunks_of(memory)
        with memory.write() as tx:
            found = tx.web_search(old[1], "what a search found", query="who is person 9")
        sweep(memory, chunking=NEW)
        parent = memory.artifacts.get(memory.artifacts.get(found.id).parent_id)
        assert parent.is_chunk
        assert parent.start_offset < old[1].end_offset
        assert parent.end_offset > old[1].start_offset
        assert memory.verify().ok


def test_chunks_that_wait_for_their_graph_still_wait(tmp_path) -> None:
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        cutter = Cutter.of(OLD)
        with memory.write() as tx:
            book = tx.artifact(BOOK, source="book")
            for chunk in cutter.chunks(Document(BOOK)):
                tx.chunk(book, chunk, splitter=cutter.name)
        sweep(memory, chunking=NEW)
        assert {c.processed_at for c in chunks_of(memory)[1]} == {None}


def test_a_title_before_every_chunk_stays_there(tmp_path) -> None:
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        cutter = Cutter.of(OLD)
        with memory.write() as tx:
            book = tx.artifact(BOOK, source="book")
            for chunk in cutter.chunks(Document(BOOK)):
                made = tx.chunk(book, chunk, splitter=cutter.name)
                tx.gathered.artifacts[made.id] = replace(made, lexical=f"The Book\n{chunk.text}")
        sweep(memory, chunking=NEW)
        assert all(c.lexical == f"The Book\n{c.text}" for c in chunks_of(memory)[1])


def test_another_embedder_is_changed_at_once_and_resumes_without_paying_twice(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unabridged.jobs.sweep_vectors._PART", 16)
    with filled(str(tmp_path / "m"), Counting()) as memory:
        rows = sum(find_stale(memory).embedders.values())
        other = Counting(16)
        other.fail_after = 20
        with pytest.raises(RuntimeError, match="the power went"):
            sweep(memory, embedder=other, folder=tmp_path / "s")
        assert memory.settings["width"] == 32  # the old ones serve
        assert not find_stale(memory, embedder=Counting())
        paid = len(other.texts)
        again = Counting(16)
        swept = sweep(memory, embedder=again, folder=tmp_path / "s")
        assert paid + len(again.texts) == rows == paid + swept.vectors
        assert memory.settings["width"] == 16
        assert not find_stale(memory, embedder=again)
        assert memory.verify().ok
        assert not (tmp_path / "s").exists()
        _document, chunks = chunks_of(memory)
        vectors = memory.artifacts.vectors([c.id for c in chunks])
        assert np.array_equal(vectors[chunks[3].id], again.inner.embed(chunks[3].text))


def test_what_came_meanwhile_is_embedded_too(tmp_path) -> None:
    with filled(str(tmp_path / "m"), Counting()) as memory:
        other = Counting(16)
        late = []

        def progress(what, done, total) -> None:
            if not late:
                late.append(memory.add("added while the sweep ran"))

        sweep(memory, embedder=other, folder=tmp_path / "s", progress=progress)
        assert late[0].id in memory.artifacts.vectors([late[0].id])
        assert not find_stale(memory, embedder=other)


def test_both_at_once_embeds_every_text_once(tmp_path) -> None:
    """What goes with the old cut, and a document that has chunks, are not sent to the new model."""
    with filled(str(tmp_path / "m"), Counting()) as memory, filled(str(tmp_path / "f"), Counting(16)) as fresh:
        sweep(fresh, chunking=NEW)  # the same in two steps
        other, (_, old) = Counting(16), chunks_of(memory)
        swept = sweep(memory, embedder=other, chunking=NEW, folder=tmp_path / "s")
        assert not find_stale(memory, embedder=other, chunking=NEW)
        document, chunks = chunks_of(memory)
        assert len(other.texts) == len(set(other.texts)) == swept.vectors
        assert BOOK not in other.texts
        kept = {chunk.id for chunk in chunks} & {chunk.id for chunk in old}
        assert not {chunk.text for chunk in old if chunk.id not in kept} & set(other.texts)
        assert (swept.documents, swept.chunks, swept.kept) == (1, len(chunks) - len(kept), len(kept))
        assert swept.removed == swept.summaries == len(old) - len(kept)
        mine, (whole, expected) = memory.artifacts.vectors([document.id, *(c.id for c in chunks)]), chunks_of(fresh)
        theirs = fresh.artifacts.vectors([whole.id, *(c.id for c in expected)])
        assert [mine[c.id].tolist() for c in chunks] == [theirs[c.id].tolist() for c in expected]
        assert np.allclose(mine[document.id], theirs[whole.id], atol=1e-6)
        assert memory.verify().ok


def test_both_at_once_goes_on_where_it_was_killed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unabridged.jobs.sweep_vectors._PART", 8)
    with filled(str(tmp_path / "whole"), Counting()) as memory:
        every = Counting(16)
        sweep(memory, embedder=every, chunking=NEW, folder=tmp_path / "w")
    with filled(str(tmp_path / "m"), Counting()) as memory:
        _, old = chunks_of(memory)
        other = Counting(16)
        other.fail_after = len(every.texts) - 20  # among the chunks that are not there yet
        with pytest.raises(RuntimeError, match="the power went"):
            sweep(memory, embedder=other, chunking=NEW, folder=tmp_path / "s")
        assert chunks_of(memory)[1] == old  # the old cut serves, with the old vectors
        assert not find_stale(memory, embedder=Counting())
        again = Counting(16)
        sweep(memory, embedder=again, chunking=NEW, folder=tmp_path / "s")
        assert len(other.texts) + len(again.texts) == len(every.texts)
        assert not find_stale(memory, embedder=again, chunking=NEW)
        assert memory.verify().ok


def test_both_at_once_as_far_as_memory_and_the_limit_allow(tmp_path, monkeypatch) -> None:
    with Memory.open(str(tmp_path / "m"), embedder=Counting()) as memory:
        cutter = Cutter.of(OLD)
        for n in range(4):
            with memory.write() as tx:
                book = tx.artifact(f"Book {n}. {BOOK}")
                for chunk in cutter.chunks(Document(book.text)):
                    tx.chunk(book, chunk, splitter=cutter.name)
        one, two = Counting(16), Counting(24)
        monkeypatch.setattr("unabridged.jobs.sweep._DOCUMENTS", 1)
        assert sweep(memory, embedder=one, chunking=NEW, folder=tmp_path / "s", limit=1).documents == 1
        assert find_stale(memory, embedder=one, chunking=NEW).documents == 3
        assert not find_stale(memory, embedder=one)
        monkeypatch.setattr("unabridged.jobs.sweep._TOGETHER", 1)
        assert sweep(memory, embedder=two, chunking=NEW, folder=tmp_path / "s").documents == 3
        assert not find_stale(memory, embedder=two, chunking=NEW)
        assert memory.verify().ok


def test_what_has_no_vector_gets_one(tmp_path) -> None:
    with filled(str(tmp_path)) as memory:
        embedder = Counting()
        assert find_stale(memory, embedder=embedder).missing == sweep(memory, embedder=embedder).vectors > 0
        assert not find_stale(memory, embedder=embedder)


def test_without_an_embedder_chunks_of_a_memory_with_vectors_are_refused(tmp_path) -> None:
    filled(str(tmp_path / "a"), Counting()).close()
    with Memory.open(str(tmp_path / "a")) as memory, pytest.raises(ConfigError, match="found none, and the memory has"):
        sweep(memory, chunking=NEW)
    with filled(str(tmp_path / "b")) as memory:
        assert sweep(memory, chunking=NEW).vectors == 0
        assert not find_stale(memory, chunking=NEW)


def test_a_sweep_can_be_limited_and_cancelled_and_goes_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unabridged.jobs.sweep._DOCUMENTS", 2)
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        cutter = Cutter.of(OLD)
        for n in range(7):
            with memory.write() as tx:
                book = tx.artifact(f"Book {n}. {BOOK}")
                for chunk in cutter.chunks(Document(book.text)):
                    tx.chunk(book, chunk, splitter=cutter.name)
        assert sweep(memory, chunking=NEW, limit=2).documents == 2
        cancel, told = threading.Event(), []

        def progress(what, done, total) -> None:
            told.append((what, done, total))
            cancel.set()

        with pytest.raises(JobError, match="cancelled after 2 of 5 documents; run it again"):
            sweep(memory, chunking=NEW, progress=progress, cancel=cancel)
        assert told == [("documents", 2, 5)]
        assert find_stale(memory, chunking=NEW).documents == 3
        assert sweep(memory, chunking=NEW).documents == 3


def test_a_document_that_changed_under_the_sweep_is_left_for_the_next(tmp_path) -> None:
    from unabridged.jobs.sweep_chunks import draft_recuts, plan_recut

    with filled(str(tmp_path)) as memory:
        document, chunks = chunks_of(memory)
        plan = plan_recut(document, chunks, Cutter.of(NEW), limit=10**6)
        memory.delete(chunks[0])
        assert memory.store.commit(lambda draft: draft_recuts(draft, [plan], {}, None)) == 0
        assert sweep(memory, chunking=NEW).documents == 1
        assert memory.verify().ok


def test_a_splitter_of_ones_own(tmp_path) -> None:
    class Halves:
        name = "halves-1"

        def chunks(self, document):
            from unabridged import split

            middle = len(document.text) // 2
            return tuple(split(document.text, method="fixed", max_tokens=middle // 4, overlap_tokens=0))

    with filled(str(tmp_path)) as memory:
        sweep(memory, chunking=Halves())
        assert {c.splitter for c in chunks_of(memory)[1]} == {"halves-1"}


KILLED = textwrap.dedent(
    """
    import os, sys
    from unabridged import Embedder
    from unabridged.memory import Memory
    from unabridged.jobs import sweep

    sweep._DOCUMENTS = 1
    memory = Memory.open(sys.argv[1], embedder=Embedder("hashing", dimensions=32, cache=False), upkeep=False)
    sweep.sweep(memory, chunking={"size": 90, "overlap_percent": 0}, progress=lambda what, done, total: done >= 2 and os._exit(9))
    """
)


def test_promise_10_kill_9_in_a_sweep_leaves_whole_documents(tmp_path) -> None:
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        cutter = Cutter.of(OLD)
        for n in range(5):
            with memory.write() as tx:
                book = tx.artifact(f"Book {n}. {BOOK}")
                for chunk in cutter.chunks(Document(book.text)):
                    tx.chunk(book, chunk, splitter=cutter.name)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, timeout=60, check=False)
    assert done.returncode == 9, done.stderr
    with Memory.open(str(tmp_path), embedder=Counting()) as memory:
        assert memory.verify().ok
        assert find_stale(memory, chunking=NEW).documents == 3
        sweep(memory, chunking=NEW)
        for document in memory.artifacts.list(role="document").items:
            expected = Cutter.of(NEW).chunks(Document(document.text))
            assert spans(memory.artifacts.chunks(document)) == [(c.start_byte, c.end_byte) for c in expected]
