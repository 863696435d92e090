"""One commit over several tables (promise 10): the head, the fence, readers, killed and sleeping writers."""

import contextlib
import threading
import time

import pytest

from unabridged.errors import Conflict, NotFound, StoreError
from unabridged.memory import Memory
from unabridged.memory.commits import Store
from unabridged.memory.lock import FileLock
from unabridged.memory.records import Artifact, Link
from unabridged.memory.values import new_id, now


def artifact(text="text"):
    return Artifact(id=new_id(), role="document", kind="knowledge", text=text, created_at=now())


def half_a_commit(store):
    """Write two tables under the lock and die before the head moves."""
    with contextlib.suppress(ZeroDivisionError):
        store.turn(lambda writing: _write_and_die(writing))


def _write_and_die(writing):
    writing.touch("artifacts").append(_rows("artifacts", [artifact("never seen")]))
    writing.touch("links").append(
        _rows("links", [Link(type="edge_artifact", from_id="x", to_id="y", created_at=now())])
    )
    raise ZeroDivisionError


def _rows(table, records):
    from unabridged.memory.schema import to_table

    return to_table(table, records)


def test_a_commit_is_seen_whole_or_not_at_all(memory):
    seen = []
    stop = threading.Event()

    def read():
        while not stop.is_set():
            seen.append(memory.store.ask(lambda view: (view["artifacts"].count(), view["links"].count())))

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(20):
        with memory.write() as tx:
            note = tx.artifact(f"note {n}")
            tx.entity(f"thing {n}", "thing", artifact=note)
    stop.set()
    reader.join()
    assert len(seen) > 5
    assert all(artifacts == links for artifacts, links in seen)


def test_half_a_commit_is_never_seen_and_undone_by_the_next_writer(memory, place):
    memory.add("first")
    other = Memory.open(place)
    half_a_commit(other.store)
    assert [a.text for a in memory.artifacts.list()] == ["first"]
    assert [a.text for a in Memory.open(place).artifacts.list()] == ["first"]
    memory.add("second")  # this writer did not see the other one fail
    assert [a.text for a in memory.artifacts.list()] == ["first", "second"]
    assert memory.links.list() == []
    memory.verify().raise_if_broken()


def test_a_new_writer_restores_every_table_before_it_writes(memory, place):
    memory.add("first")
    before = memory.store.view().head.versions
    other = Memory.open(place)
    other.add("second")
    after = other.store.view().head.versions
    assert all(after[table] > before[table] for table in before)


def test_a_stale_writer_is_refused_by_the_fence(memory):
    memory.add("first")
    head = memory.store.view().head
    stale = memory.store.place.open("artifacts")
    other = Store(memory.store.place)
    other.commit(lambda draft: draft.append("artifacts", [artifact("other")]))
    with pytest.raises(Conflict):  # refused by Lance: the table was restored in between
        stale.append(_rows("artifacts", [artifact("late")]))
    with pytest.raises(Conflict, match="moved the head first"):
        memory.store.move(head, head.following(head.versions, "late", 60))
    assert [a.text for a in memory.artifacts.list()] == ["first", "other"]


def test_a_write_between_two_of_ours_is_noticed(memory):
    memory.add("first")
    ours, theirs = memory.store.place.open("artifacts"), memory.store.place.open("artifacts")
    theirs.append(_rows("artifacts", [artifact()]))
    with pytest.raises(Conflict, match="another writer wrote"):
        ours.append(_rows("artifacts", [artifact()]))
    memory.store.dirty = True  # this process wrote past its head: the next turn undoes it


def test_maintenance_does_not_adopt_what_a_dead_writer_left(memory, place):
    memory.add("first")
    half_a_commit(Memory.open(place).store)
    memory.optimize()
    assert [a.text for a in memory.artifacts.list()] == ["first"]
    assert memory.store.view()["artifacts"].count() == 1


def test_a_pinned_reader_stays_while_others_write_and_clean_up(place):
    memory = Memory.open(place, grace=0.0)
    memory.add("first")
    with memory.pinned() as reader:
        for n in range(30):
            memory.add(f"later {n}")
        memory.optimize()
        assert [a.text for a in reader.artifacts.list()] == ["first"]
        assert memory.stats().readers == 1
    assert memory.stats().readers == 0
    assert len(memory.artifacts.list()) == 31


def test_a_reader_whose_versions_were_cleaned_up_reads_again(place):
    slow, fast = Memory.open(place, grace=0.0), Memory.open(place, grace=0.0)
    slow.add("first")
    view = slow.store.view()
    for n in range(5):
        fast.add(f"later {n}")
    fast.purge()
    asked = []

    def question(seen):
        asked.append(seen.head.seq)
        return (view if len(asked) == 1 else seen).rows("artifacts").num_rows

    assert slow.store.ask(question) == 6
    assert len(asked) == 2


def test_a_dead_readers_registration_is_swept(memory):
    readers = memory.store.place.readers
    token = readers.register({"artifacts": 1})
    assert len(readers.standing()) == 1
    import os

    os.close(readers._open.pop(token))  # what the end of its process does
    assert readers.standing() == []
    assert list(readers.folder.iterdir()) == []


def test_a_reader_that_was_killed_before_it_had_its_name_is_swept(memory):
    import os

    readers = memory.store.place.readers
    young, old = (readers.folder / f"{name}.new" for name in ("young", "old"))
    for path in (young, old):
        path.write_text("{}")
    os.utime(old, (time.time() - 600, time.time() - 600))
    assert readers.standing() == []
    assert [path.name for path in readers.folder.iterdir()] == ["young.new"]
    young.unlink()


def test_a_failed_work_commits_nothing(memory):
    before = memory.store.view().head.seq

    def work(draft):
        draft.append("artifacts", [artifact()])
        raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="caller's own"):
        memory.store.commit(work)
    with pytest.raises(ZeroDivisionError), memory.write() as tx:
        tx.artifact("never stored")
        raise ZeroDivisionError
    assert memory.store.view().head.seq == before
    assert memory.artifacts.counts().documents == 0


def test_an_empty_transaction_is_no_commit(memory):
    before = memory.store.view().head.seq
    with memory.write():
        pass
    assert memory.store.view().head.seq == before


def test_a_conflict_is_retried_on_the_new_head(memory, place):
    other = Memory.open(place)
    attempts = []

    def work(draft):
        attempts.append(draft.view.head.seq)
        if len(attempts) == 1:
            raise Conflict("somebody was first")
        draft.append("artifacts", [artifact("in the end")])

    memory.store.commit(work)
    assert len(attempts) == 2
    assert other.artifacts.list().items[0].text == "in the end"
    with pytest.raises(Conflict, match="always"):
        memory.store.commit(lambda _draft: (_ for _ in ()).throw(Conflict("always")))


def test_the_writers_lock_is_waited_for_and_then_named(memory, tmp_path, monkeypatch):
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    taken = []
    other = FileLock(tmp_path / "lock")
    assert not other.acquire(0.0)
    waiting = threading.Thread(target=lambda: taken.append(other.acquire(5.0)))
    waiting.start()
    time.sleep(0.05)
    lock.release()
    waiting.join()
    assert taken == [True]
    other.release()

    monkeypatch.setattr("unabridged.memory.lock.held.__wrapped__.__defaults__", (0.05,))
    assert memory.store.place.lock.acquire()
    with pytest.raises(StoreError, match="another writer holds it"):
        memory.store._writing().__enter__()
    memory.store.place.lock.release()


def test_case_42_a_hundred_writes_from_threads(memory):
    errors = []

    def write(n):
        try:
            with memory.write() as tx:
                note = tx.artifact(f"note {n}", session_id="all")
                one = tx.entity("Alice", "person", artifact=note)
                two = tx.entity(f"Friend {n % 10}", "person", artifact=note)
                tx.edge(one, "knows", two, artifact=note)
        except Exception as error:  # noqa: BLE001, RUF100
            errors.append(error)

    threads = [threading.Thread(target=lambda s=s: [write(n) for n in range(s, 100, 8)]) for s in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert memory.artifacts.counts().documents == 100
    assert sorted(a.text for a in memory.artifacts.list(limit=200)) == sorted(f"note {n}" for n in range(100))
    assert (memory.entities.count(), memory.edges.count()) == (11, 10)
    memory.verify().raise_if_broken()


def test_read_only_and_missing(memory, place):
    memory.add("first")
    reader = Memory.open(place, read_only=True)
    assert len(reader.artifacts.list()) == 1
    for write in (lambda: reader.add("no"), reader.optimize, lambda: reader.models.register("m")):
        with pytest.raises(StoreError, match="read_only"):
            write()
    with pytest.raises(NotFound):
        Memory.open(place, dataset="other", create=False)
    with pytest.raises(NotFound):
        Memory.open(place, dataset="other", read_only=True)
