"""An import brings every row, and one that fails leaves nothing behind (R6)."""

import json
import shutil

import pytest

from unabridged.errors import InputError, NotFound, StoreError, Taken
from unabridged.memory import Memory, exchange


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    root = tmp_path_factory.mktemp("exported")
    with Memory.open(root / "place") as memory, memory.write() as tx:
        for n in range(40):
            note = tx.artifact(f"note {n}", session_id=f"s{n}")
            tx.edge(
                tx.entity(f"P{n}", "p", artifact=note), "knows", tx.entity("Acme", "c", artifact=note), artifact=note
            )
    memory.models.register("some-model")
    for kind in ("jsonl", "parquet"):
        memory.export(root / kind, format=kind)
    return root


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("rows", [1, 7, 8, 40, 8192])
def test_r6_every_row_comes_back_however_many_are_read_at_once(exported, place, tmp_path, monkeypatch, kind, rows):
    monkeypatch.setattr(exchange, "ROWS", rows)
    with Memory.import_(exported / kind, place) as copy:
        assert sorted(a.text for a in copy.artifacts.list()) == sorted(f"note {n}" for n in range(40))
        copy.export(tmp_path / "again", format=kind)
        copy.verify().raise_if_broken()
    tables = [
        json.loads((each / "manifest.json").read_text())["tables"] for each in (exported / kind, tmp_path / "again")
    ]
    first, again = ({name: each["rows"] for name, each in of.items()} for of in tables)
    assert first == again
    if kind == "jsonl":
        assert tables[0] == tables[1]  # the very bytes


def tampered(exported, tmp_path, harm):
    folder = shutil.copytree(exported / "jsonl", tmp_path / "bad")
    manifest = json.loads((folder / "manifest.json").read_text())
    harm(folder, manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def rewrite(table, change):
    """Another content, under a digest that is right."""

    def harm(folder, manifest):
        file = folder / f"{table}.jsonl"
        file.write_text(change(file.read_text("utf-8")), "utf-8")
        manifest["tables"][table] |= exchange._sealed(file)

    return harm


BAD = {
    "a file that is no JSON": (rewrite("edges", lambda text: text + "{"), "edges.jsonl does not hold"),
    "a list in place of a row": (rewrite("links", lambda text: "[]\n" + text), "links.jsonl does not hold"),
    "a time that is none": (
        rewrite("artifacts", lambda text: text.replace('_at": "2', '_at": "x')),
        "artifacts.jsonl does not hold",
    ),
    "a row too few": (rewrite("artifacts", lambda text: text.split("\n", 1)[1]), "holds 39 rows, .* names 40"),
    "a row too few outside the commit": (rewrite("models", lambda _: ""), "holds 0 rows, .* names 1"),
    "a file elsewhere": (lambda _, m: m["tables"]["edges"].update(file="../edges.jsonl"), "names files that no export"),
    "another format": (lambda _, m: m.update(kind="csv"), "names files that no export has"),
    "tables that are a list": (lambda _, m: m.update(tables=[]), "has no manifest.json of an unabridged export"),
    "a number that is none": (lambda _, m: m.update(format="1"), "has no manifest.json of an unabridged export"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_import_that_fails_leaves_no_dataset(exported, place, tmp_path, name):
    harm, said = BAD[name]
    with pytest.raises(InputError, match=said):
        Memory.import_(tampered(exported, tmp_path, harm), place, dataset="copy")
    assert Memory.datasets(place) == []
    with Memory.import_(exported / "jsonl", place, dataset="copy") as copy:
        copy.verify().raise_if_broken()


def test_one_that_is_stopped_leaves_none_and_what_was_there_stays(exported, place, monkeypatch):
    Memory.open(place, dataset="empty").close()
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "_import_tables", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        for dataset in ("new", "empty"):
            with pytest.raises(KeyboardInterrupt):
                Memory.import_(exported / "parquet", place, dataset=dataset)
    assert [each.name for each in Memory.datasets(place)] == ["empty"]
    with Memory.open(place, dataset="full") as full:
        full.add("here already")
    with pytest.raises(Taken, match="is not empty"):
        Memory.import_(exported / "parquet", place, dataset="full")
    with Memory.open(place, dataset="full", create=False) as full:
        assert [a.text for a in full.artifacts.list()] == ["here already"]


def test_what_another_writer_put_there_meanwhile_is_not_taken_away(exported, place, monkeypatch):
    def meanwhile(*_):
        with Memory.open(place, dataset="shared") as other:
            other.add("by somebody else")
        raise StoreError("the import failed")

    monkeypatch.setattr(exchange, "import_", meanwhile)
    with pytest.raises(StoreError, match="the import failed"):
        Memory.import_(exported / "parquet", place, dataset="shared")
    with Memory.open(place, dataset="shared", create=False) as other:
        assert [a.text for a in other.artifacts.list()] == ["by somebody else"]


def test_a_dataset_that_is_not_there_is_named(place):
    Memory.open(place).close()
    for ask in (lambda: Memory.open(place, dataset="absent", create=False), lambda: Memory.drop(place, "absent")):
        with pytest.raises(NotFound, match=r"no dataset 'absent' is in this place; list .* Memory\.datasets\(\)"):
            ask()
