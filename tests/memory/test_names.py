"""Names are data: stored and found, whatever they hold, and never a path or a piece of a filter."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unabridged.errors import InputError, NotFound, StoreError
from unabridged.memory import Memory
from unabridged.memory.where import among, both, either, equals, has, literal, not_among

NAMES = [
    "O'Hara",
    '"quoted"',
    "a; DROP TABLE artifacts; --",
    "a\\'b\\",
    "../../etc/passwd",
    "C:\\con\\aux",
    "عربي עברית",
    "\u202egnp.exe",
    "👨‍👩‍👧‍👦🇰🇷",
    "line\nbreak\r\ttab",
    "nul\x00byte",
    "%_*?[x]",
    "`id` = `id`",
    "' OR '1'='1",
    "$1 {x} %s",
    "x" * 10_000,
    "名" * 3_400,
    " padded ",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_of_anything_is_stored_and_found(tmp_path, name):
    uri = tmp_path / "place"
    with Memory.open(uri, dataset=name) as memory:
        with memory.write() as tx:
            note = tx.artifact("text", session_id=name, source=name, metadata={name: name, "list": [name]})
            one = tx.entity(name, name, artifact=note, aliases=[f"alias {name}"])
            tx.edge(one, name, one, artifact=note, fact=name)
        assert memory.artifacts.list(session_id=name).items == memory.artifacts.list(source=name).items != ()
        assert len(memory.artifacts.list(metadata={name: name})) == 1
        assert len(memory.artifacts.list(metadata={"list": [name]})) == 1
        assert memory.entities.find(name, name).name == name
        assert len(memory.entities.named(f"alias {name}")) == len(memory.entities.list(type=name)) == 1
        (edge,) = memory.edges.list(relation=name, session_id=name)
        assert (edge.relation, edge.fact) == (name, name)
        assert memory.sessions.get(name).id == name
        memory.series.create(name)
        assert memory.series.named(name).name == name
        memory.snapshot(name)
        memory.delete(note)
        memory.restore(name)
        assert len(memory.artifacts.list(session_id=name)) == 1
        memory.verify().raise_if_broken()
    assert [info.name for info in Memory.datasets(uri)] == [name]
    assert {path.name.split(".")[0] for path in uri.iterdir()} == {
        "_unabridged",
        "unabridged_datasets",
        Memory.datasets(uri)[0].id,
    }
    Memory.drop(uri, name)
    assert Memory.datasets(uri) == []


def test_datasets_of_a_place_are_apart(tmp_path):
    one, two = (Memory.open(tmp_path, dataset=name) for name in ("a", "A"))
    one.add("only here", session_id="s")
    assert len(two.artifacts.list()) == 0
    assert [info.name for info in Memory.datasets(tmp_path)] == ["A", "a"]
    Memory.drop(tmp_path, "a")
    assert len(two.artifacts.list()) == 0
    two.add("still works")
    for absent in (lambda: Memory.drop(tmp_path, "a"), lambda: Memory.open(tmp_path, dataset="a", create=False)):
        with pytest.raises(NotFound):
            absent()
    assert len(Memory.open(tmp_path, dataset="a").artifacts.list()) == 0  # made anew
    assert Memory.datasets(tmp_path / "nothing") == []


def test_a_dropped_dataset_leaves_no_file(tmp_path):
    marker = "9f86d081884c7d659a2feaa0c55ad015 only once in the world"
    with Memory.open(tmp_path, dataset=f"named {marker}") as memory:
        memory.add(f"text {marker}")
        memory.images.add(b"GIF89a" + bytes(10))
    Memory.open(tmp_path, dataset="stays").add("other")
    Memory.drop(tmp_path, f"named {marker}")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and marker.encode() in path.read_bytes()]
    assert not [path for path in tmp_path.rglob("*") if memory.info.id in str(path)]
    with pytest.raises(StoreError):
        memory.add("gone")


@pytest.mark.parametrize("wrong", ["", " ", "\ud800", "x" * 70_000, 5])
def test_a_dataset_needs_a_name_that_can_be_written(tmp_path, wrong):
    with pytest.raises(InputError, match="dataset: "):
        Memory.open(tmp_path, dataset=wrong)


@given(st.text(), st.text())
@example("'", "''")
@example("\\", "\\'")
@settings(max_examples=40, deadline=None)
def test_a_literal_means_exactly_its_value(one, other):
    memory = _shared()
    from unabridged.memory.records import Session
    from unabridged.memory.values import now

    values = [v for v in {one, other} if v.isprintable() or v]
    values = [v for v in values if not any("\ud800" <= c <= "\udfff" for c in v)]
    memory.store.commit(lambda draft: draft.delete("sessions", "true"))
    memory.store.commit(lambda draft: draft.append("sessions", [Session(id=v, created_at=now()) for v in values]))
    view = memory.store.view()
    for value in values:
        assert view.rows("sessions", equals("id", value), ["id"])["id"].to_pylist() == [value]
        assert view.rows("sessions", not_among("id", [value]))["id"].to_pylist() == [v for v in values if v != value]
    assert sorted(view.rows("sessions", among("id", values))["id"].to_pylist()) == sorted(values)


def _shared(kept=[]):  # noqa: B006 - one memory for all the examples
    if not kept:
        kept.append(Memory.open("memory://", upkeep=False))
    return kept[0]


def test_filters_compose():
    assert both(None, "", None) is None
    assert both("a") == "a"
    assert either("a", "b") == "(a) OR (b)"
    assert (literal(True), literal(2), literal(0.5)) == ("true", "2", "0.5")
    assert has("tags", "it's") == "array_has(`tags`, 'it''s')"
    assert not_among("id", []) == "true"


def test_an_error_of_the_store_quotes_no_data(memory):
    with pytest.raises(StoreError) as caught:
        memory.store.view().rows("artifacts", "no_such_column = 'the secret text'")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


HALF = "half \ud800 a pair"


def _tell(memory, **given):
    with memory.write() as tx:
        note = tx.artifact("Alice knows Bob")
        one = tx.entity("Alice", "person", artifact=note, **given)
        tx.edge(one, "knows", tx.entity("Bob", "person", artifact=note), artifact=note)


@pytest.mark.parametrize(
    "work",
    [
        lambda m: m.add("x", lexical=HALF),
        lambda m: m.add("x", source_hash=HALF),
        lambda m: _tell(m, description=HALF),
        lambda m: _tell(m, aliases=[HALF]),
        lambda m: m.images.add(b"GIF89a" + bytes(32), caption=HALF),
        lambda m: m.series.create("rate", unit=HALF),
        lambda m: m.models.register(HALF),
        lambda m: m.artifacts.list(session_id=HALF),
        lambda m: m.artifacts.list(metadata={"user": HALF}),
        lambda m: m.artifacts.get(HALF),
        lambda m: m.entities.find(HALF, "person"),
        lambda m: m.entities.named(HALF),
        lambda m: m.edges.list(relation=HALF),
        lambda m: m.sessions.get(HALF),
        lambda m: m.erase(session_id=HALF),
        lambda m: m.delete(HALF),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_by_name_wherever_it_comes(memory, work):
    before = memory.store.view().head.seq
    with pytest.raises(InputError, match=r"a lone surrogate at character \d+; it is not text"):
        work(memory)
    assert memory.store.view().head.seq == before
    assert memory.images.sweep() <= 1
