"""What a killed process leaves behind, and what a living one is about to write: the one is swept, the other is not."""

import threading

import pytest

from unabridged.errors import StoreError
from unabridged.memory import Memory
from unabridged.memory.dataset import Handle


def _die_while(monkeypatch, name, after):
    """The process ends in the middle of tagging, or of letting go of tags."""
    done, call = [], getattr(Handle, name)

    def fatal(self, *given):
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(given)
        return call(self, *given)

    monkeypatch.setattr(Handle, name, fatal)


@pytest.mark.parametrize("name", ["tag", "untag"])
def test_tags_of_a_snapshot_that_was_killed_half_way_hold_nothing(place, monkeypatch, name):
    secret = b"the secret that a forgotten tag would keep"
    with Memory.open(place, grace=0.0) as memory:
        note = memory.add(secret.decode())
        with monkeypatch.context() as patch:
            _die_while(patch, name, 3)
            with pytest.raises(KeyboardInterrupt):
                memory.snapshot("half") and memory.drop_snapshot("half")
        with Memory.open(place, grace=0.0) as other:
            assert other.snapshots() == []
            other.store.place.open("artifacts", fenced=False).tag("somebody-elses")
            other.store.place.open("artifacts", fenced=False).untag("somebody-elses")
            other.delete(note)
            other.purge()
            assert not any(other.store.place.open(table).tags() for table in other.store.view().head.versions)
            assert not any(secret in path.read_bytes() for path in place.rglob("*") if path.is_file())
            other.snapshot("half")
            assert [each.name for each in other.snapshots()] == ["half"]
            other.upkeep.clean(grace=0.0)
            assert other.store.place.open("links").tags()


def test_upkeep_leaves_tags_alone_that_are_not_ours(place):
    with Memory.open(place, grace=0.0) as memory:
        memory.add("first")
        memory.store.place.open("artifacts", fenced=False).tag("mine")
        memory.add("second")
        memory.upkeep.clean(grace=0.0)
        assert memory.store.place.open("artifacts").tags() == {"mine"}


def test_a_purge_waits_for_what_others_are_about_to_write(place):
    """What a writer has written and not yet committed looks like debris: a purge must not take it away."""
    with Memory.open(place) as memory, Memory.open(place) as other:
        memory.delete(memory.add("gone"))
        assert other.store.place.outside.acquire()
        purging = threading.Thread(target=memory.purge)
        purging.start()
        purging.join(0.5)
        assert purging.is_alive()
        other.store.place.outside.release()
        purging.join(60)
        assert not purging.is_alive()
        memory.models.register("m")
        assert [each.name for each in other.models.list()] == ["m"]


def test_purges_and_records_outside_the_commit_at_once(place):
    stop, failed = threading.Event(), []

    def record(who):
        with Memory.open(place) as mine:
            n = 0
            while not stop.is_set():
                try:
                    mine.models.register(f"{who} {n}")
                except StoreError as error:
                    failed.append(error)
                n += 1
            counts[who] = n

    counts = {}
    with Memory.open(place) as memory:
        threads = [threading.Thread(target=record, args=(f"w{n}",)) for n in range(2)]
        for thread in threads:
            thread.start()
        for n in range(4):
            memory.delete(memory.add(f"gone {n}"))
            memory.purge()
        stop.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(memory.models.list()) == sum(counts.values())


def test_a_clock_that_was_set_back_stops_no_cleaning(place, monkeypatch):
    """Heads are marked with the time: those of a clock that was a day ahead count as of now, and run out."""
    import time

    clock = [time.time() + 86_400]
    monkeypatch.setattr("unabridged.memory.head.time.time", lambda: clock[0])
    with Memory.open(place, grace=0.4) as memory:
        memory.upkeep.automatic = False
        for n in range(3):
            memory.add(f"ahead {n}")
            clock[0] += 0.2
        ahead = memory.store.place.open("artifacts").versions()
        clock[0] -= 86_400
        memory.add("set back")
        assert memory.store.view().head.marks[-1][0] <= clock[0]
        for n in range(6):
            clock[0] += 0.2
            memory.add(f"later {n}")
        monkeypatch.setattr("unabridged.memory.upkeep.time.time", lambda: clock[0])
        memory.upkeep.clean()
        kept = memory.store.place.open("artifacts").versions()
        assert not set(ahead[:-1]) & set(kept)
        assert len(memory.artifacts.list()) == 10
        memory.verify().raise_if_broken()
