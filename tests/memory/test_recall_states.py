"""What is kept in memory is of one state of a store, and of no other that looks like it (SPEC R1, case 41)."""

from __future__ import annotations

import random
import shutil
import weakref

import pytest

from unabridged.memory import Memory
from unabridged.memory.recall import lanes, polarity
from unabridged.memory.recall.kept import parts
from unabridged.text.segmenters import split

NAMES = ("Ann", "Bob", "Cy", "Dan", "Eve")


def told(memory):
    """One commit of some notes, each with a fact: so each table has one fragment."""
    with memory.write() as tx:
        hub = tx.artifact("The hub is called Zed.")
        zed = tx.entity("Zed", "person", artifact=hub)
        for name in NAMES:
            note = tx.artifact(f"A note says that {name} knows Zed.")
            tx.edge(tx.entity(name, "person", artifact=note), "knows", zed, artifact=note, fact=f"{name} knows Zed")
    return {name: each for name in NAMES for each in memory.artifacts.list() if name in each.text}


def asked(memory, query="Who knows Zed?"):
    """What a question brings, with what grounds it."""
    found = memory.recall(query, threshold=0.0, limit=50)
    return {(hit.kind, hit.text, *sorted(each.quote for each in hit.evidence)) for hit in found}


def expected(*names):
    """What stands where some of the notes were deleted."""
    notes = {f"A note says that {name} knows Zed." for name in names}
    return {("fact", f"{name} knows Zed", f"A note says that {name} knows Zed.") for name in names} | {
        ("passage", note, note) for note in notes
    }


def of_notes(found):
    return {each for each in found if each[0] == "fact" or each[1].startswith("A note")}


def test_case_41_copies_of_a_store_that_lost_as_many_rows_are_told_apart(tmp_path):
    with Memory.open(tmp_path / "one", upkeep=False) as memory:
        notes = told(memory)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for place, gone in (("one", "Bob"), ("two", "Dan")):
        with Memory.open(tmp_path / place, upkeep=False) as memory:
            memory.delete(notes[gone])
            assert of_notes(asked(memory)) == expected(*(name for name in NAMES if name != gone))


def test_case_41_after_a_restore_other_rows_may_be_deleted(tmp_path):
    with Memory.open(tmp_path / "m", upkeep=False) as memory:
        notes = told(memory)
        memory.snapshot("before")
        for gone in NAMES:
            memory.delete(notes[gone])
            assert of_notes(asked(memory)) == expected(*(name for name in NAMES if name != gone))
            memory.restore("before")
            assert of_notes(asked(memory)) == expected(*NAMES)


@pytest.mark.parametrize("first", ["newest", "snapshot"])
def test_a_snapshot_is_asked_before_or_after_the_newest_state(tmp_path, first):
    document = "\n\n".join(f"Paragraph {n} is about Zed and the harbour." for n in range(40))
    with Memory.open(tmp_path / "m", upkeep=False) as memory:
        notes = told(memory)
        with memory.write() as tx:
            long = tx.artifact(document)
            parts = [tx.chunk(long, each) for each in split(document, max_tokens=64)]
            tx.summary(parts[0], "Zed is about a harbour.")
        memory.optimize()  # all in one fragment
        memory.snapshot("before")
        memory.delete(long)
        memory.delete(notes["Bob"])
        if first == "newest":
            assert of_notes(asked(memory)) == expected(*(name for name in NAMES if name != "Bob"))
        with Memory.open(tmp_path / "m", snapshot="before") as old:
            assert kinds(old, "harbour") == {"passage": len(parts), "document": 1, "summary": 1}
            assert of_notes(asked(old)) == expected(*NAMES)
        assert not kinds(memory, "harbour")
        assert of_notes(asked(memory)) == expected(*(name for name in NAMES if name != "Bob"))


def kinds(memory, word):
    """How many hits of each kind say a word."""
    found = [hit.kind for hit in memory.recall(word, threshold=0.0, limit=50) if word in hit.text]
    return {kind: found.count(kind) for kind in dict.fromkeys(found)}


def change(memory, rng, snapshots):
    """One of the things that happen to a dataset."""
    what = rng.choice(["write", "write", "long", "delete", "end", "optimize", "snapshot", "restore", "forget", "purge"])
    edges = list(memory.edges.list())
    if what == "write":
        told_by = rng.sample(NAMES, 3)
        with memory.write() as tx:
            note = tx.artifact(
                f"{told_by[0]} told of {told_by[1]} at the harbour.", session_id=rng.choice(["s1", "s2"])
            )
            one, other = (tx.entity(name, "person", artifact=note) for name in told_by[:2])
            tx.edge(one, "knows", other, artifact=note, fact=f"{told_by[0]} knows {told_by[1]} {rng.random():.3f}")
    elif what == "long":
        text = "\n\n".join(f"{rng.choice(NAMES)} took the ferry {n}." for n in range(20))
        memory.add(text, chunks=split(text, max_tokens=64))
    elif what == "delete":
        memory.delete(rng.choice([each for each in memory.artifacts.list() if each.parent_id is None]))
    elif what == "end" and edges:
        memory.end(rng.choice(edges), text="It ended at the harbour.")
    elif what == "forget" and edges:
        memory.forget([rng.choice(edges).id])
    elif what == "optimize":
        memory.optimize()
    elif what == "snapshot":
        snapshots.append(f"s{len(snapshots)} {rng.random()}")
        memory.snapshot(snapshots[-1])
    elif what == "restore" and snapshots:
        memory.restore(rng.choice(snapshots))
    elif what == "purge":
        memory.purge(drop_snapshots=True)
        snapshots.clear()


def answer(memory, query, **options):
    found = memory.recall(query, threshold=0.0, limit=50, **options)
    return [(hit.kind, hit.text, hit.score, hit.fused, hit.evidence, hit.record) for hit in found], found.pack


@pytest.mark.parametrize("seed", [1, 2])
def test_through_any_history_what_is_kept_answers_as_the_store_does(tmp_path, seed, embedder):
    rng = random.Random(seed)
    given = {"embedder": embedder} if seed % 2 else {}
    snapshots = []
    with Memory.open(tmp_path / "m", upkeep=False, **given) as memory:
        told(memory)
        for _ in range(9):
            change(memory, rng, snapshots)
            query = f"Who told {rng.choice(NAMES)} of the ferry?"
            options = rng.choice([{}, {"session_id": "s1"}, {"include_history": True}, {"kinds": ["document", "fact"]}])
            kept = answer(memory, query, **options)
            with pytest.MonkeyPatch.context() as patch:
                for name in ("ends_of", "names_of", "links_of", "documents_of", "identities_of"):
                    patch.setattr(lanes, name, lambda _: None)
                patch.setattr(lanes, "briefs_of", lambda *_: None)
                patch.setattr(lanes, "_known", weakref.WeakKeyDictionary())
                assert answer(memory, query, **options) == kept


def test_a29_what_recall_keeps_of_texts_is_forgotten_with_them(tmp_path):
    with Memory.open(tmp_path / "m", upkeep=False) as memory:
        with memory.write() as tx:
            note = tx.artifact("The boiler of Ann failed.")
            ann, bob = (tx.entity(name, "person", artifact=note) for name in ("Ann", "Bob"))
            tx.edge(ann, "knows", bob, artifact=note, fact="Ann knows Bob.")
        memory.recall("The boiler of Ann works.", threshold=0.0)
        assert len(parts._kept)
        assert polarity._read.cache_info().currsize
        assert memory.erase(artifacts=[note]).proof
        assert not len(parts._kept)
        assert not polarity._read.cache_info().currsize
        assert not memory.recall("The boiler of Ann works.", threshold=0.0)
