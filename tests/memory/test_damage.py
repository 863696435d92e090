"""Damage from outside: files cut off or gone, a version removed by hand, a full disk, a read-only mount (issue 6, R6)."""

import errno
import os
import shutil

import numpy as np
import pytest

from unabridged.errors import StoreError
from unabridged.memory import Memory
from unabridged.memory.schema import OUTSIDE, TABLES


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A dataset with something in every table that matters, and indexes over it."""
    place = tmp_path_factory.mktemp("sound") / "place"
    with Memory.open(place) as memory:
        vectors = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
        with memory.write() as tx:
            for n in range(4):
                note = tx.artifact(f"note {n} about Acme", session_id="s", metadata={"n": n}, vector=vectors[n])
                one, two = tx.entity(f"P{n}", "person", artifact=note), tx.entity("Acme", "company", artifact=note)
                tx.edge(one, "works at", two, artifact=note)
        memory.series.append(memory.series.create("rate"), [("2024-01-01", 60)])
        memory.models.register("some-model")
        memory.optimize()
        memory.snapshot("kept")
        memory.add("after the snapshot")
    return place


@pytest.fixture
def place(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "place")


def files(place, table, part):
    return sorted(path for path in place.rglob(f"*.{table}.lance/{part}/**/*") if path.is_file())


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def said(place):
    with Memory.open(place) as memory:
        report = memory.verify()
        assert report.exit_code == (0 if report.ok else 1)
        return report, {each.name: each.examples for each in report.checks if not each.ok}


@pytest.mark.parametrize("harm", [cut, os.unlink])
@pytest.mark.parametrize("table", ["artifacts", "links", "models", "points"])
def test_verify_says_which_table_cannot_be_read(place, table, harm):
    for path in files(place, table, "data"):
        harm(path)
    report, broken = said(place)
    name = "tables outside the commit: every row can be read" if table in OUTSIDE else "tables: every row can be read"
    assert broken[name] == (table,)
    assert "bring its files back" in report.notes[0]
    with pytest.raises(StoreError, match=r"every row can be read: 1 of"):
        report.raise_if_broken()


def test_verify_says_which_version_was_removed_by_hand(place):
    newest = min(place.rglob("*.edges.lance/_versions/*.manifest"))  # the newest has the smallest name
    newest.unlink()
    _, broken = said(place)
    assert broken == {"tables: the head's versions are there": ("edges",)}


def test_a_snapshot_whose_versions_are_gone_is_named(place):
    with Memory.open(place) as memory:
        version = memory.snapshots()[0].versions["artifacts"]
    removed = place.rglob(f"*.artifacts.lance/_versions/{2**64 - 1 - version}.manifest")
    assert [path.unlink() for path in removed] == [None]
    _, broken = said(place)
    assert broken == {"snapshots: their versions are there": ("kept",)}


def test_an_index_that_does_not_answer_is_named_and_a_purge_makes_it_anew(place):
    for path in files(place, "artifacts", "_indices"):
        cut(path)
    _, broken = said(place)
    assert "artifacts.id_idx" in broken.pop("indexes: answer")
    assert broken == {}
    with Memory.open(place, grace=0.0) as memory:
        memory.purge(drop_snapshots=True)
        memory.verify().raise_if_broken()
        assert len(memory.artifacts.list()) == 5


def test_what_is_sound_passes_every_check(place):
    report, broken = said(place)
    assert (broken, report.notes) == ({}, ())
    names = {each.name: each.checked for each in report.checks}
    assert names["tables: every row can be read"] == len(TABLES)
    assert names["indexes: answer"] > 20


# -- a disk that is full, a mount that is read-only --------------------------------------------------


def refusing(monkeypatch, code):
    """No file is made any more."""
    real = os.open

    def open_(path, flags, *given, **how):
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code), str(path))
        return real(path, flags, *given, **how)

    monkeypatch.setattr(os, "open", open_)


def test_a_read_only_mount_is_read_whole(place, tmp_path, monkeypatch):
    with Memory.open(place, read_only=True) as reader:
        refusing(monkeypatch, errno.EROFS)
        with reader.pinned() as pinned:
            assert len(pinned.artifacts.list()) == 5
        reader.verify().raise_if_broken()
    with pytest.raises(StoreError, match="Read-only file system"), Memory.open(place) as writer:
        writer.add("refused")


def test_a_full_disk_is_said_so_and_leaves_nothing_half_done(place, tmp_path, monkeypatch):
    with Memory.open(place) as memory:
        with monkeypatch.context() as patch:
            refusing(patch, errno.ENOSPC)
            with pytest.raises(StoreError, match="No space left"):
                memory.add("refused")
            with pytest.raises(StoreError, match="No space left"), memory.pinned():
                raise AssertionError
        full = lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(StoreError, match="No space left"), memory.pinned():
                raise AssertionError
            patch.setattr("pathlib.Path.write_bytes", full)
            with pytest.raises(StoreError, match=r"writing a file: .*No space left"):
                memory.images.add(b"GIF89a" + bytes(64))
            patch.setattr("pathlib.Path.write_text", full)
            with pytest.raises(StoreError, match="No space left"):
                memory.export(tmp_path / "out")
        assert memory.stats().readers == 0
        assert memory.images.files.names() == []
        assert list(tmp_path.glob("out*")) == []
        assert "refused" not in [each.text for each in memory.artifacts.list()]
        memory.add("room again")
        memory.verify().raise_if_broken()


def test_a_copy_goes_its_own_way_and_a_place_that_was_moved_is_missed(place, tmp_path):
    with Memory.open(place) as memory:
        memory.add("before the copy")
        shutil.copytree(place, tmp_path / "copy")
        memory.add("after the copy")
        with Memory.open(tmp_path / "copy") as copy:
            copy.add("in the copy")
            copy.verify().raise_if_broken()
            assert [a.text for a in copy.artifacts.list()][-2:] == ["before the copy", "in the copy"]
        assert [a.text for a in memory.artifacts.list()][-1] == "after the copy"
        memory.verify().raise_if_broken()
        place.rename(tmp_path / "moved")
        for ask in (lambda: memory.artifacts.list(), lambda: memory.add("lost")):
            with pytest.raises(StoreError):
                ask()
        assert not place.exists()  # and nothing is made in its stead
    with Memory.open(tmp_path / "moved") as moved:
        assert moved.add("life goes on").text in [a.text for a in moved.artifacts.list()]
        moved.verify().raise_if_broken()
