"""Recall, how rows are found and read (SPEC R1, R4, L16): roles by place, briefs, long texts, contradictions late."""

import numpy as np
import pytest

from unabridged.memory import Memory
from unabridged.memory.recall import choose as choosing
from unabridged.memory.recall import lanes as asking
from unabridged.memory.recall.densest import densest
from unabridged.memory.recall.kept import roles as kept
from unabridged.memory.recall.kept.roles import ROLES, Roles
from unabridged.memory.recall.kept.room import Room
from unabridged.memory.recall.lanes import holdings
from unabridged.memory.recall.rows import chunked
from unabridged.memory.recall.words import coverage, said_whole, words_in
from unabridged.text.segmenters import split

LONG = " ".join(f"Entry {n} tells of the harbour, the tides and the ferry to the island." for n in range(300))


@pytest.fixture(params=["folder", "memory"])
def memory(request, tmp_path):
    with Memory.open(tmp_path if request.param == "folder" else "memory://", upkeep=False) as opened:
        yield opened


def by_place(memory):
    handle = memory.store.view()["artifacts"]
    rows = handle.read(columns=["_rowid", "role"]).to_pydict()
    places = np.array(rows["_rowid"], dtype=np.uint64)
    return [ROLES[number] for number in Roles(handle).of(places)], rows["role"]


def test_r1_the_role_of_a_row_is_known_by_its_place_through_every_change(memory):
    note = memory.add("The boiler is serviced every May.")
    memory.add(LONG, chunks=split(LONG, max_tokens=256))
    found, stored = by_place(memory)
    assert found == stored
    assert {"document", "chunk"} == set(found)
    memory.delete(note.id)
    memory.add("The roof was mended in June.")
    found, stored = by_place(memory)
    assert found == stored
    memory.optimize()
    found, stored = by_place(memory)
    assert found == stored
    assert Roles(memory.store.view()["artifacts"]).of(np.empty(0, dtype=np.uint64)).size == 0


def test_roles_are_read_of_a_file_once_and_kept_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "_kept", Room())
    with Memory.open(tmp_path, upkeep=False) as memory:
        for number in range(4):
            memory.add(f"Note {number}.")
        handle = memory.store.view()["artifacts"]
        read = []
        column = type(handle).column
        monkeypatch.setattr(type(handle), "column", lambda *given: read.append(given[1:]) or column(*given))
        by_place(memory)
        by_place(memory)
        assert len(read) == len(handle.fragments())
        monkeypatch.setattr(kept, "MOST", 1)  # more rows than are kept: they are asked anew
        found, stored = by_place(memory)
        assert found == stored
        assert len(kept._kept) == len(handle.fragments())


def test_rows_come_in_the_order_of_the_places_asked_for(memory):
    for number in range(5):
        memory.add(f"Note {number}.")
    handle = memory.store.view()["artifacts"]
    rows = handle.read(columns=["_rowid", "text"]).to_pydict()
    back = handle.at(rows["_rowid"][::-1], ["text"])
    assert back["text"].to_pylist() == rows["text"][::-1]
    assert back["_rowid"].to_pylist() == rows["_rowid"][::-1]


def test_r4_a_long_text_is_ranked_by_the_place_that_says_most():
    words = words_in("The lighthouse keeper's recipe for plum jam needs cloves.")
    text = f"{LONG} {words.text} {LONG} The keeper. The recipe."
    assert len(densest(words, text)) < 1300 < len(text)
    assert coverage(words, densest(words, text)) == coverage(words, text) == 1.0
    assert said_whole(words, densest(words, text))
    assert densest(words, "A short text.") == "A short text."
    assert densest(words_in("violin concerto"), LONG) == LONG  # nothing of it: as it is
    japanese = words_in("灯台守のレシピ")
    assert "灯台守のレシピ" in densest(japanese, f"{LONG}灯台守のレシピ{LONG}")


def test_r1_documents_are_found_among_many_more_chunks(memory, monkeypatch):
    monkeypatch.setattr("unabridged.memory.recall.lanes.DEEP", 40)  # as a million chunks would: the one search is short
    rng = np.random.default_rng(1)
    with memory.write() as tx:
        for number in range(12):
            parts = [f"Part {at} of the report {number}: boiler, valve, pump." for at in range(10)]
            document = tx.artifact(" ".join(parts), vector=rng.standard_normal(16), source=f"report {number}")
            for part in split(" ".join(parts), max_tokens=32):
                tx.chunk(document, part, vector=np.eye(16)[0] + rng.standard_normal(16) / 50)
    for lanes in (("vector", "text"), "text"):
        found = memory.recall("boiler valve report", vector=np.eye(16)[0], lanes=lanes, threshold=0.0, limit=300)
        kinds = [hit.kind for hit in found]
        assert "document" in kinds
        assert "passage" in kinds
        assert len({hit.id for hit in found}) == len(found)


def test_case_44_what_says_the_opposite_goes_where_it_belongs_though_it_is_read_late(memory, monkeypatch):
    memory.add("The door of the shed is open.")
    memory.add("The door of the shed is closed.")
    for number in range(30):
        memory.add(f"Shed number {number} has a door, too.")
    read = []
    opposed = choosing.opposed
    monkeypatch.setattr(choosing, "opposed", lambda words, text: read.append(text) or opposed(words, text))
    found = memory.recall("The door of the shed is open.", limit=3)
    assert found[0].text == "The door of the shed is open."
    assert all("closed" not in hit.text for hit in found)
    assert found.below
    assert len(read) <= 8  # the head, not all thirty
    every = memory.recall("The door of the shed is open.", limit=40, threshold=0.0)
    closed = next(hit for hit in every if "closed" in hit.text)
    assert closed.score <= 0.25
    assert [hit.fused * hit.score for hit in every] == sorted((hit.fused * hit.score for hit in every), reverse=True)


def test_hits_have_their_whole_records_and_documents_their_text(memory):
    made = memory.add(LONG, chunks=split(LONG, max_tokens=256), source="the log")
    for query in ("Entry 12 tells of the harbour", "harbour tides ferry island"):
        found = memory.recall(query, kinds=("document", "passage"), limit=200)
        whole = next(hit for hit in found if hit.kind == "document")
        assert whole.text == LONG
        assert whole.record == memory.artifacts.get(made.id)
        assert all(hit.record.source == "the log" for hit in found)


def test_the_graph_is_walked_from_what_is_named_and_a_hub_ends_the_walk(memory, monkeypatch):
    with memory.write() as tx:
        note = tx.artifact("A register of the harbour.")
        hub = tx.entity("Harbour", "place", artifact=note)
        boats = [tx.entity(f"Boat{n}", "boat", artifact=note) for n in range(30)]
        for boat in boats:
            tx.edge(boat, "lies in", hub, artifact=note, fact="It lies there.")
        owner = tx.entity("Mira", "person", artifact=note)
        tx.edge(owner, "owns", boats[3], artifact=note, fact="Mira owns it.")
    found = memory.recall("Mira", kinds=("entity", "fact"), limit=40, threshold=0.0)
    assert {"Mira owns it.", "It lies there."} <= {hit.text for hit in found}
    monkeypatch.setattr("unabridged.memory.recall.lanes_graph.FACTS", 10)
    few = memory.recall("Harbour", kinds="fact", lanes=("names", "graph"), limit=40, threshold=0.0)
    assert 0 < len(few) <= 10
    assert "Mira owns it." not in {hit.text for hit in few}


def test_documents_are_looked_up_once_a_view_and_no_more_are_remembered_than_there_is_room_for(monkeypatch):
    with Memory.open("memory://", upkeep=False) as memory:  # where they are not kept by their files
        whole = memory.add("The boiler is serviced in May.").id
        memory.add(LONG, chunks=split(LONG, max_tokens=200))
        view = memory.store.view()
        ids = view.rows("artifacts", "`role` = 'document'", ["id"])["id"].to_pylist()
        parts = chunked(view, ids)
        assert len(parts) == 1
        assert whole not in parts
        monkeypatch.setattr(type(view), "rows", lambda *_: pytest.fail("asked again"))
        assert chunked(view, ids) == parts
        known = holdings(view)
        assert dict(known.split) == {id_: id_ in parts for id_ in ids}
        monkeypatch.setattr(asking, "MET", 1)
        known.met({"one": 1}, {})
        assert known.documents == {"one": 1}
        assert known.split == {}
