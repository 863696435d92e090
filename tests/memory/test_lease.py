"""Leases of writers and readers, as object stores need them (issue 6): renewed while they live, free after it."""

import threading
import time

import pytest

from unabridged.errors import Conflict, StoreError
from unabridged.memory import Memory
from unabridged.memory.lease import Heartbeat, LeaseLock, LeaseReaders


@pytest.fixture
def leased(place):
    with Memory.open(place, lock="lease", grace=0.0) as memory:
        yield memory
        memory.verify().raise_if_broken()


def opened(memory):
    return lambda: memory.store.place.open("leases", fenced=False)


def rows(memory):
    return opened(memory)().read("`id` LIKE 'reader:%'").to_pylist()


def test_a_reader_outlives_its_lease_for_as_long_as_it_reads(leased):
    leased.store.place.readers._seconds = 0.6
    leased.add("first")
    with leased.pinned() as reader:
        for n in range(4):
            leased.add(f"later {n}")
            time.sleep(0.3)
        leased.optimize()
        leased.upkeep.clean(grace=0.0)
        assert [a.text for a in reader.artifacts.list()] == ["first"]
        assert leased.stats().readers == 1
    assert leased.stats().readers == 0


def test_a_dead_readers_row_is_believed_for_a_while_and_then_swept(leased):
    readers = LeaseReaders(opened(leased), seconds=0.2)
    token = readers.register({"artifacts": 3})
    readers._hearts[token].stop()  # what the end of its process does
    assert readers.standing() == [{"artifacts": 3}]
    time.sleep(0.25)
    assert readers.standing() == []
    assert len(rows(leased)) == 1
    time.sleep(0.2)
    assert readers.standing() == []
    assert rows(leased) == []


def test_a_reader_that_was_swept_while_its_machine_slept_stands_again(leased):
    readers = LeaseReaders(opened(leased), seconds=0.3)
    token = readers.register({"artifacts": 3})
    opened(leased)().delete("`id` LIKE 'reader:%'")
    assert readers.standing() == []
    time.sleep(0.25)
    assert readers.standing() == [{"artifacts": 3}]
    readers.leave(token)
    time.sleep(0.25)
    assert rows(leased) == []


def test_a_purge_under_a_lease_waits_for_readers_alone(leased):
    gone = leased.add("the secret")
    leased.delete(gone)
    leased.purge()
    with leased.pinned(), pytest.raises(StoreError, match="1 registered reader"):
        leased.purge()


def test_a_lease_is_renewed_while_it_is_held(leased):
    lock = LeaseLock(opened(leased), "build", seconds=0.4)
    other = LeaseLock(opened(leased), "build", seconds=0.4)
    assert lock.acquire()
    assert not other.acquire(1.0)
    lock.confirm()
    lock.release()
    assert other.acquire(1.0)
    other.release()


def test_a_lease_whose_heart_stopped_is_lost_and_said_so(leased):
    lock = LeaseLock(opened(leased), "build", seconds=0.3)
    other = LeaseLock(opened(leased), "build", seconds=0.3)
    assert lock.acquire()
    lock._heart.stop()
    assert other.acquire(2.0)
    with pytest.raises(Conflict, match="ran out"):
        lock.confirm()
    lock.release()  # it is somebody else's by now, and stays so
    other.confirm()
    assert not LeaseLock(opened(leased), "build", seconds=0.3).acquire(0.0)
    other.release()


def test_a_clock_that_was_set_back_holds_nobody_up(leased, monkeypatch):
    lock = LeaseLock(opened(leased), "build", seconds=0.3)
    ahead = time.time() + 86_400
    with monkeypatch.context() as patch:
        patch.setattr("unabridged.memory.lease.time.time", lambda: ahead)
        assert lock.acquire()
        lock._heart.stop()  # its process died, and a day before that by the others' clocks
    other = LeaseLock(opened(leased), "build", seconds=0.3)
    assert not other.acquire(0.1)
    assert other.acquire(2.0)
    other.release()


def test_a_heartbeat_goes_on_after_a_sign_that_failed():
    signs, enough = [], threading.Event()

    def sign():
        signs.append(len(signs))
        if len(signs) == 1:
            raise StoreError("the store was away")
        enough.set()

    heart = Heartbeat(sign, 0.01)
    heart.start()
    assert enough.wait(5)
    heart.stop()
    count = len(signs)
    time.sleep(0.05)
    assert len(signs) == count


def test_the_leases_own_table_does_not_grow(leased):
    for n in range(12):
        leased.add(f"note {n}")
    handle = opened(leased)()
    before = len(handle.versions())
    assert before > 24  # taken and given back, each a version
    leased.upkeep.clean(grace=0.0)
    assert len(handle.versions()) < before / 2
