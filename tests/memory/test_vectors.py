"""Vectors: one model and width, made outside the lock, filled in later, changed all at once (A14, A15)."""

import numpy as np
import pytest

from unabridged.embedding.embedder import Embedder
from unabridged.errors import BadReply, ConfigError, InputError, ModelMismatch
from unabridged.memory import Memory
from unabridged.types import Chunk


def test_a14_everything_of_a_transaction_is_embedded_in_one_call(place, embedder):
    with Memory.open(place, embedder=embedder) as memory:

        def chapter():
            with memory.write() as tx:
                note = tx.artifact("one two")
                part = tx.chunk(note, Chunk(0, 0, 3, 0, 3, "one", 1))
                tx.summary(part, "the first")
                one, two = (tx.entity(name, "number", artifact=part) for name in ("one", "two"))
                tx.edge(one, "comes before", two, artifact=part)
            return tx

        tx = chapter()
        assert len(embedder.calls) == 1
        assert sorted(embedder.calls[0]) == sorted(
            ["one two", "one", "the first", "one", "two", "one comes before two"]
        )
        stored = memory.artifacts.vectors([a.id for a in tx.result.artifacts])
        for artifact in tx.result.artifacts:
            assert artifact.embedder == embedder.fingerprint()
            assert np.array_equal(stored[artifact.id], embedder.embed_query(artifact.search_text))
        chapter()  # known entities and facts are not paid for again
        assert sorted(embedder.calls[1]) == sorted(["one two", "one", "the first"])
        assert set(memory.entities.vectors([e.id for e in memory.entities.list()])) == set(tx.result.entities)
        assert len(memory.edges.vectors([e.id for e in memory.edges.list()])) == 1
        memory.verify().raise_if_broken()


def test_a_search_finds_its_vector_with_a_filter(place, embedder):
    with Memory.open(place, embedder=embedder) as memory:
        memory.add_many([f"text {n}" for n in range(40)], session_id="many")
        wanted = memory.add("the wanted one", session_id="one")
        view = memory.store.view()
        found = view["artifacts"].nearest(embedder.embed_query("the wanted one"), 3, columns=["id", "text"])
        assert found["id"].to_pylist()[0] == wanted.id
        assert found["_distance"].to_pylist()[0] == pytest.approx(0, abs=1e-6)
        only = view["artifacts"].nearest(embedder.embed_query("x"), 3, where="`session_id` = 'one'", refine=2)
        assert only["id"].to_pylist() == [wanted.id]


def test_without_an_embedder_everything_is_stored_and_filled_in_later(place, embedder):
    with Memory.open(place) as memory:
        memory.add_many([f"text {n}" for n in range(5)])
        with memory.write() as tx:
            note = tx.artifact("Alice")
            tx.entity("Alice", "person", artifact=note)
        assert memory.settings.get("width") is None
        assert memory.artifacts.vectors([note.id]) == {}
        with pytest.raises(ConfigError, match="embedder: found none"):
            memory.embed_missing()
    with Memory.open(place, embedder=embedder) as memory:
        assert memory.embed_missing(limit=2) == 2
        assert memory.embed_missing() == 5
        assert memory.embed_missing() == 0
        coverage = memory.stats().vectors
        assert (coverage["documents"].present, coverage["entities"].present) == (6, 1)
        memory.verify().raise_if_broken()


def test_vectors_of_two_models_are_never_mixed(place, make_embedder):
    with Memory.open(place, embedder=make_embedder()) as memory:
        memory.add("first")
        memory.embedder = make_embedder(name="other")
        with pytest.raises(ModelMismatch, match="reembed"):
            memory.add("second")
        memory.embedder = make_embedder(width=8)
        with pytest.raises(ModelMismatch, match="width 16"):
            memory.add("second")
        plain = memory.add("second", embed=False)
        assert plain.embedder is None
        assert memory.artifacts.counts().documents == 2


@pytest.mark.parametrize(
    ("vector", "error", "said"),
    [
        ([float("nan")] * 4, InputError, "NaN"),
        ([0.0] * 4, InputError, "zeros"),
        ([[1.0] * 4], InputError, "shape"),
        ([], InputError, "shape"),
        ([1.0] * 5, ModelMismatch, "width 5"),
    ],
)
def test_a_bad_vector_is_refused_and_nothing_stored(memory, vector, error, said):
    memory.add("first", vector=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(error, match=said):
        memory.add("second", vector=vector)
    with pytest.raises((ModelMismatch, InputError)), memory.write() as tx:
        tx.artifact("a", vector=[1.0] * 4)
        tx.artifact("b", vector=[1.0] * 3)
    assert memory.artifacts.counts().documents == 1


def test_an_embedder_that_answers_wrongly_is_named(place, embedder):
    embedder.embed = lambda texts: np.zeros((1, 4), np.float32)
    with Memory.open(place, embedder=embedder) as memory:
        with pytest.raises(BadReply, match=r"\(1, 4\) for 2 texts"):
            memory.add_many(["a", "b"])
        assert memory.artifacts.counts().documents == 0


@pytest.mark.parametrize("width", [16, 24])
def test_reembed_changes_every_vector_at_once(place, make_embedder, width):
    with Memory.open(place, embedder=make_embedder()) as memory:
        notes = memory.add_many([f"text {n}" for n in range(10)])
        with memory.write() as tx:
            tx.entity("Alice", "person", artifact=notes[0])
        late = []
        other = make_embedder(width=width, name="other")
        embed = other.embed

        def slow(texts):
            if not late:
                late.append(memory.add("added while vectors were being made"))
            return embed(texts)

        other.embed = slow
        assert memory.reembed(other) == 12
        assert memory.settings["width"] == width
        assert memory.settings["fingerprint"] == other.fingerprint()
        for note in [*notes, *late]:
            assert np.array_equal(memory.artifacts.vectors([note.id])[note.id], other.embed_query(note.text))
        memory.verify().raise_if_broken()
        memory.add("and on")
        memory.verify().raise_if_broken()


def test_reembed_of_nothing_forgets_the_old_model(place, make_embedder):
    with Memory.open(place, embedder=make_embedder()) as memory:
        memory.delete(memory.add("only"))
        assert memory.reembed(make_embedder(width=8)) == 0
        memory.add("new")
        assert memory.settings["width"] == 8


def test_with_the_projects_own_embedder(tmp_path):
    embedder = Embedder("hashing", cache=False)
    with Memory.open(tmp_path / "place", embedder=embedder, vector_type="float16") as memory:
        long = "A sentence that goes on. " * 3000
        note = memory.add(long)
        memory.add("another thing entirely")
        assert memory.settings["fingerprint"] == embedder.fingerprint("document")
        assert memory.artifacts.vectors([note.id])[note.id].shape == (256,)
        nearest = memory.store.view()["artifacts"].nearest(embedder.embed_query("a sentence that goes on"), 1)
        assert nearest["id"].to_pylist() == [note.id]
        memory.verify().raise_if_broken()
    with pytest.raises(InputError, match="float32"):
        Memory.open(tmp_path / "other", vector_type="int4")
