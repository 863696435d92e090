"""What is kept in memory is of one state of a store, and of no other that looks like it (SPEC R1, case 41)."""

from __future__ import annotations

import shutil

import pytest

from unabridged.memory import Memory
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
