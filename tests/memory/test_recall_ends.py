"""What is kept in memory of small tables says what the store says, whatever was written, changed or deleted (R1)."""

from __future__ import annotations

import random

import pytest

from unabridged.memory import Memory
from unabridged.memory.recall import ends
from unabridged.memory.recall.ends import ends_of
from unabridged.memory.where import among, either

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
    kept, named = ends_of(view["edges"], "edges"), ends_of(view["entities"], "entities")
    for _ in range(4):
        names = rng.sample(sorted(known), 3)
        assert kept.around(names, 100) == stored(memory, names)
        assert sorted(named.places([*names, "nobody"])) == sorted(known[name] for name in names)
    assert len(kept.around(list(known), 2)) == 2
    stating = ends_of(view["links"], "links")
    for artifact in view.rows("artifacts", None, ["id"])["id"].to_pylist():
        assert stating.any_of([artifact, "nothing"]) == bool(view["links"].count(f"`to_id` = '{artifact}'"))
    assert not stating.any_of(["nothing"])


def test_after_each_commit_the_kept_ends_are_the_stores(memory):
    told(memory, [("Ann", "Bob"), ("Bob", "Cy"), ("Ann", "Ann")])
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
    ends_of(memory.store.view()["edges"], "edges")
    read = []
    whole = ends._read
    monkeypatch.setattr(ends, "_read", lambda *given, **how: read.append(given) or whole(*given, **how))
    told(memory, [("Cy", "Dan")])
    ends_of(memory.store.view()["edges"], "edges")
    ends_of(memory.store.view()["edges"], "edges")
    assert len(read) == 1


def test_large_tables_and_stores_without_files_are_asked(memory, monkeypatch):
    told(memory, [("Ann", "Bob"), ("Bob", "Cy")])
    monkeypatch.setattr(ends, "MOST", 1)
    assert ends_of(memory.store.view()["edges"], "edges") is None
    with Memory.open("memory://", upkeep=False) as other:
        assert ends_of(other.store.view()["edges"], "edges") is None


def test_what_is_kept_is_bounded(memory, monkeypatch):
    monkeypatch.setattr(ends, "ROOM", 1)
    told(memory, [("Ann", "Bob")])
    check_one = ends_of(memory.store.view()["edges"], "edges")
    assert len(check_one.around(list(ids(memory)), 10)) == 1
    assert not ends._kept
