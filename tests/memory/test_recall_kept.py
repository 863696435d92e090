"""What is kept in memory of small tables says what the store says, whatever was written, changed or deleted (R1)."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from unabridged.memory import Memory
from unabridged.memory.recall import lanes
from unabridged.memory.recall.kept import documents as kept_documents
from unabridged.memory.recall.kept import facts, finder, parts, room
from unabridged.memory.recall.kept.briefs import briefs_of
from unabridged.memory.recall.kept.documents import DOCUMENTS, documents_of
from unabridged.memory.recall.kept.facts import FACTS, ends_of
from unabridged.memory.recall.kept.finder import Finder, Wanted
from unabridged.memory.recall.kept.identities import identities_of
from unabridged.memory.recall.kept.links import links_of
from unabridged.memory.recall.kept.names import names_of
from unabridged.memory.recall.kept.room import Room
from unabridged.memory.where import among, either
from unabridged.text.segmenters import split

LONG = " ".join(f"Entry {n} tells of the harbour and the ferry." for n in range(60))
COLUMNS = ["_rowid", "id", "source_id", "target_id"]


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "m", upkeep=False) as memory:
        yield memory


def told(memory, facts):
    with memory.write() as tx:
        note = tx.artifact(f"a note of {facts}")
        for source, target in facts:
            one, other = (tx.entity(name, "person", artifact=note) for name in (source, target))
            tx.edge(one, "knows", other, artifact=note, fact=f"{source} knows {target}")


def stored(memory, names, most=100):
    near = either(among("source_id", names), among("target_id", names))
    rows = memory.store.view().rows("edges", near, COLUMNS, limit=most).to_pydict()
    return dict(zip(zip(rows["id"], rows["source_id"], rows["target_id"], strict=True), rows["_rowid"], strict=True))


def ids(memory):
    rows = memory.store.view().rows("entities", None, ["id", "_rowid"]).to_pydict()
    return dict(zip(rows["id"], rows["_rowid"], strict=True))


def check(memory):
    view, known = memory.store.view(), ids(memory)
    rng = random.Random(len(known))
    kept, named, links, shelf = (
        of(view[table])
        for of, table in ((ends_of, "edges"), (names_of, "entities"), (links_of, "links"), (documents_of, "artifacts"))
    )
    for _ in range(4):
        names = rng.sample(sorted(known), 3)
        assert kept.around(names, 100) == stored(memory, names)
        assert sorted(named.places([*names, "nobody"])) == sorted(known[name] for name in names)
    assert len(kept.around(list(known), 2)) == 2
    entities = view.rows("entities", None, ["names", "id", "_rowid"]).to_pydict()
    told = {(name, id_, at) for names, id_, at in zip(*entities.values(), strict=True) for name in names}
    assert set(named.called({name for name, *_ in told} | {"nobody"})) == told
    stating = view.rows("links", among("type", ["edge_artifact", "entity_artifact"])).to_pylist()
    every = {(each["from_id"], each["to_id"]) for each in stating}
    found = list(links.told({one for one, _ in every} | {"nothing"}))
    assert {each[:2] for each in found} == every
    assert len(found) == len(stating)
    since = {(each["from_id"], each["to_id"]): each["created_at"] for each in stating}
    assert all(round(since[each[:2]].timestamp() * 1e6) == each[2] for each in found)
    facts = {(each["from_id"], each["to_id"]) for each in stating if each["type"] == "edge_artifact"}
    assert set(links.facts({artifact for _, artifact in every}, 100)) == facts
    assert len(list(links.facts({artifact for _, artifact in every}, 2))) == 2
    assert not list(links.told(["nothing"]))
    documents = view.rows("artifacts", "`role` = 'document'", ["id", "_rowid"]).to_pydict()
    wanted = dict(zip(documents["id"], documents["_rowid"], strict=True))
    assert shelf.places([*wanted, "nothing"]) == wanted
    artifacts = view.rows("artifacts", None, ["_rowid", "id", "document_id"]).to_pydict()
    places = sorted(artifacts["_rowid"])
    wanted_rows = dict(
        zip(artifacts["_rowid"], zip(artifacts["id"], artifacts["document_id"], strict=True), strict=True)
    )
    some = sorted(rng.sample(places, min(5, len(places))))
    for asked in (some, places, []):
        assert list(zip(*identities_of(view["artifacts"]).at(asked), strict=True)) == [wanted_rows[at] for at in asked]
    for table in ("edges", "entities"):
        kept_rows, columns = briefs_of(view[table], table), ["id", "created_at", "metadata"]
        stored_rows = view.rows(table, None, ["_rowid", *columns]).to_pylist()
        at = sorted(row["_rowid"] for row in stored_rows)[::2]
        by_place = {row["_rowid"]: row for row in stored_rows}
        assert kept_rows.at([*at, 1 << 60], columns).to_pylist() == [by_place[each] for each in at]
        assert len(kept_rows.at([1 << 60], columns)) == 0
    parents = view.rows("artifacts", "`role` = 'chunk'", ["parent_id"])["parent_id"].to_pylist()
    assert shelf.chunked([*wanted, "nothing"]) == set(parents)


def test_after_each_commit_the_kept_ends_are_the_stores(memory):
    told(memory, [("Ann", "Bob"), ("Bob", "Cy"), ("Ann", "Ann")])
    memory.add(LONG, chunks=split(LONG, max_tokens=64))
    check(memory)
    told(memory, [("Cy", "Dan"), ("Dan", "Eve")])
    check(memory)
    before = len(memory.edges.list())
    memory.add("a note that states nothing")
    memory.delete(next(artifact for artifact in memory.artifacts.list() if "Dan" in artifact.text))
    told(memory, [("Fay", "Gus"), ("Gus", "Ann"), ("Ann", "Hal")])
    assert len(memory.edges.list()) == before - 2 + 3
    check(memory)
    memory.optimize()
    check(memory)


def test_only_what_a_commit_wrote_is_read(memory, monkeypatch):
    told(memory, [("Ann", "Bob")])
    ends_of(memory.store.view()["edges"])
    read = []
    made = facts._part
    monkeypatch.setattr(facts, "_part", lambda rows: read.append(rows) or made(rows))
    told(memory, [("Cy", "Dan")])
    ends_of(memory.store.view()["edges"])
    ends_of(memory.store.view()["edges"])
    assert [len(rows) for rows in read] == [1]


def test_large_tables_and_stores_without_files_are_asked(memory, monkeypatch):
    told(memory, [("Ann", "Bob"), ("Bob", "Cy")])
    monkeypatch.setattr(facts, "FACTS", replace(FACTS, most=1))
    monkeypatch.setattr(kept_documents, "DOCUMENTS", replace(DOCUMENTS, most=0))
    assert ends_of(memory.store.view()["edges"]) is None
    assert documents_of(memory.store.view()["artifacts"]) is None
    with Memory.open("memory://", upkeep=False) as other:
        for of, table in ((ends_of, "edges"), (names_of, "entities"), (links_of, "links"), (documents_of, "artifacts")):
            assert of(other.store.view()[table]) is None


def test_a_large_table_is_kept_from_the_second_question_on(memory, monkeypatch):
    monkeypatch.setattr(lanes, "LARGE", 0)
    told(memory, [("Ann", "Bob"), ("Bob", "Cy")])
    first = [hit.id for hit in memory.recall("the note of Bob", threshold=0.0)]
    known = lanes.holdings(memory.store.view())
    assert known.__dict__["identities"] is known.__dict__["names"] is None
    assert [hit.id for hit in memory.recall("the note of Bob", threshold=0.0)] == first
    kept = (known.identities, known.names, known.ends, known.links, known.shelf, known.briefs("edges"))
    assert all(each is not None for each in kept)
    assert [hit.id for hit in memory.recall("the note of Bob", threshold=0.0)] == first


def test_what_finds_no_room_is_asked_of_the_store_and_not_read_time_and_again(memory, monkeypatch):
    told(memory, [("Ann", "Bob"), ("Bob", "Cy")])
    found = {hit.text for hit in memory.recall("Bob", threshold=0.0)}
    read = []
    made = facts._part
    monkeypatch.setattr(facts, "_part", lambda rows: read.append(rows) or made(rows))
    monkeypatch.setattr(parts, "_kept", Room())
    monkeypatch.setattr(parts, "ROOM", 1)
    for _ in range(3):
        assert ends_of(memory.store.view()["edges"]) is None
    assert (len(parts._kept), len(read)) == (0, 1)
    memory.add("a note that states nothing")
    assert {hit.text for hit in memory.recall("Bob", threshold=0.0)} == found
    monkeypatch.setattr(parts, "ROOM", 1 << 20)
    assert ends_of(memory.store.view()["edges"]) is None
    monkeypatch.setattr(room, "LATER", 0.0)
    assert len(ends_of(memory.store.view()["edges"]).around(list(ids(memory)), 10)) == 2
    assert len(read) == 2


def test_what_was_not_asked_for_goes_first_and_what_went_is_remembered_for_a_while(monkeypatch):
    kept, each = Room(), room.EACH + 100
    for n in range(50):
        assert kept.put({str(n): (n, 100)}, 10 * each)
        assert kept.get(["0"]) == {"0": 0}
    assert kept.get(map(str, range(50))) == {str(n): n for n in (0, *range(41, 50))}
    assert kept.crowded(["40"])
    assert not kept.crowded(["0", "49", "50"])
    assert kept.put({"0": ("new", 3 * each)}, 10 * each)
    assert kept.get(["0"]) == {"0": "new"}
    assert len(kept) == 7
    assert not kept.put({"large": (0, 11 * each)}, 10 * each)  # and nothing goes for it
    assert len(kept) == 7
    monkeypatch.setattr(room, "MOST_GONE", 2)
    assert kept.put({str(n): (n, 100) for n in range(100, 110)}, 10 * each)
    assert len(kept._gone) == 2


def test_of_tens_of_thousands_of_small_parts_another_is_kept_at_once():
    kept = Room()
    kept.put({str(n): (n, 100) for n in range(50_000)}, 1 << 30)
    began = time.process_time()
    for n in range(1000):
        kept.put({f"more {n}": (n, 100)}, 1 << 30)
    assert time.process_time() - began < 1.0  # 3 ms; to add all sizes up each time took 150 s


def test_threads_ask_a_view_while_it_is_found_worth_keeping_all(memory, monkeypatch):
    monkeypatch.setattr(lanes, "LARGE", 0)
    told(memory, [("Ann", "Bob"), ("Bob", "Cy")])
    view = memory.store.view()
    for _ in range(200):
        monkeypatch.setattr(lanes, "_questioned", set())
        known = lanes.Holdings(view)

        def ask(_, known=known):
            for _ in range(3):
                known.asked()
                assert known.briefs("edges") is not ...
                assert known.places(["nothing"]) == {}
            return known.briefs("edges"), known.names

        with ThreadPoolExecutor(4) as pool:
            assert all(None not in each for each in pool.map(ask, range(4)))


def test_a_finder_finds_rows_by_their_string_whatever_it_hashes_to(monkeypatch):
    rng = random.Random(3)
    names = [rng.choice("abcdefgh") * rng.randint(1, 3) for _ in range(200)]
    for hashed in (hash, lambda _: 7, len):  # all alike; a few of each
        monkeypatch.setattr(finder, "hash", hashed, raising=False)
        column = Finder(pa.array(names))
        for wanted in (["a"], ["bb", "ccc", "zz"], ["zz"], [], names):
            rows = column.rows(Wanted(wanted))
            assert rows.tolist() == [at for at, name in enumerate(names) if name in wanted]
            assert column.at(rows) == [name for name in names if name in wanted]
    assert column.size > 0
    assert Finder(pa.array([], pa.string())).rows(Wanted(["a"])).tolist() == []


@pytest.mark.parametrize("way", ["kept", "asked"])
def test_r2_what_grounds_hits_is_the_same_kept_or_asked(memory, monkeypatch, way):
    if way == "asked":
        for name in ("ends_of", "names_of", "links_of", "documents_of", "identities_of"):
            monkeypatch.setattr(lanes, name, lambda _: None)
        monkeypatch.setattr(lanes, "briefs_of", lambda *_: None)
    told(memory, [("Ann", "Bob"), ("Bob", "Cy")])
    document = memory.add(LONG, chunks=split(LONG, max_tokens=64))
    found = memory.recall("Bob", threshold=0.0)
    assert {hit.text.split(" (")[0] for hit in found if hit.kind == "entity"} >= {"Bob"}
    facts_found = {hit.text: hit for hit in found if hit.kind == "fact"}
    assert set(facts_found) == {"Ann knows Bob", "Bob knows Cy"}
    assert all(hit.evidence[0].quote.startswith("a note") for hit in facts_found.values())
    assert any(set(hit.evidence[0].facts) == {f.id for f in facts_found.values()} for hit in found if hit.evidence)
    whole = memory.recall("harbour", kinds=("document", "passage"), threshold=0.0, limit=50)
    assert {hit.id for hit in whole if hit.kind == "document"} == {document.id}
    assert document.id not in {hit.id for hit in whole if hit.kind == "passage"}
