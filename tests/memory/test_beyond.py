"""A head that was set back is told from what a killed writer leaves (promise 10, R6)."""

import subprocess
import sys
import threading

import pytest

from unabridged.errors import StoreError
from unabridged.memory import Memory
from unabridged.memory.beyond import beyond
from unabridged.memory.where import literal

NAME = "head: no commit was made after it"
KILLED = """
import os, sys
from unabridged.memory import Memory
memory = Memory.open(sys.argv[1])
memory.store.move = lambda *_: os._exit(9)
memory.add("half of a commit")
"""


def set_back(memory, head):
    """Write an older row of the head's by hand."""
    values = {"seq": str(head.seq), "state": literal(head.state())}
    assert memory.store.place.open("head", fenced=False).compare_and_set("true", values)


def found(memory):
    report = memory.verify()
    (check,) = (each for each in report.checks if each.name == NAME)
    return check, report


def test_a_head_that_was_set_back_breaks_a_promise(place):
    with Memory.open(place) as memory:
        memory.add("first")
        old = memory.store.view().head
        memory.add("second")
        memory.add("third")
        assert found(memory)[0].ok
        set_back(memory, old)
        check, report = found(memory)
        assert check.examples == ("commit 3", "artifacts")
        assert report.exit_code == 1
        assert "set back" in report.notes[0]
        with pytest.raises(StoreError, match="no commit was made after it"):
            report.raise_if_broken()
        memory.store.place.open("head", fenced=False).clean_older(0.0)
        assert found(memory)[0].examples == ("artifacts",)  # the tables tell it alone, as after a copy of the files


def test_one_commit_back_is_told_by_the_heads_before(place):
    with Memory.open(place) as memory:
        old = memory.store.view().head
        memory.add("the only one")
        set_back(memory, old)
        assert found(memory)[0].examples == ("commit 1",)


def test_what_killed_writers_leave_is_normal(place):
    with Memory.open(place) as memory:
        memory.add("first")
    for _ in range(3):  # each undoes what the one before left, and leaves the same
        assert subprocess.run([sys.executable, "-W", "ignore", "-c", KILLED, str(place)], check=False).returncode == 9
        with Memory.open(place) as memory:
            check, report = found(memory)
            assert check.ok
            assert report.exit_code == 0
            assert "a writer that was killed" in report.notes[0]
    with Memory.open(place) as memory:
        memory.add("second")
        assert found(memory)[1].notes == ()


def test_a_commit_under_way_is_nobodys_remains(place):
    with Memory.open(place) as memory, Memory.open(place) as other:
        memory.add("first")
        writing, go_on = threading.Event(), threading.Event()
        move = other.store.move

        def late(*heads):
            writing.set()
            assert go_on.wait(30)
            move(*heads)

        other.store.move = late
        thread = threading.Thread(target=other.add, args=("second",))
        thread.start()
        assert writing.wait(30)
        assert beyond(memory.store).notes == ()
        go_on.set()
        thread.join()
        assert found(memory)[0].ok
    with Memory.open(place, read_only=True) as reader:
        assert beyond(reader.store).notes == ()


def test_an_import_of_many_pieces_is_one_commit(place, tmp_path, monkeypatch):
    """Also when it is killed: its pieces are as long as one may be, but for the last."""
    from unabridged.memory import exchange

    monkeypatch.setattr("unabridged.memory.beyond.APPEND_ROWS", 8)
    monkeypatch.setattr("unabridged.memory.dataset.APPEND_ROWS", 8)
    monkeypatch.setattr(exchange, "ROWS", 1)
    with Memory.open(tmp_path / "from") as memory:
        for n in range(20):
            memory.add(f"note {n}")
        memory.export(tmp_path / "out")
    with Memory.open(place, dataset="copy") as copy:
        with monkeypatch.context() as patch:
            patch.setattr(copy.store, "move", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                exchange.import_(copy, tmp_path / "out")
        check, report = found(copy)
        assert check.ok
        assert "a writer that was killed" in report.notes[0]
        exchange.import_(copy, tmp_path / "out")
        assert len(copy.artifacts.list()) == 20
        assert found(copy)[1].notes == ()
