"""A server that lives for weeks does not grow: neither with its commits nor with its questions."""

import gc
import subprocess
import sys
import textwrap

import pytest

from unabridged.memory import Memory
from unabridged.memory.commits import View

# Caches small enough to be full after eighty commits: what grows beyond them grows for ever.
WRITER = """
import gc, sys
import numpy as np
from pathlib import Path
from unabridged.memory import Memory, caches
caches.READ_CACHE, caches.WRITE_CACHE, caches.MANIFESTS = 8 << 20, 4 << 20, 4 << 20
rng = np.random.default_rng(0)
vector = lambda: rng.standard_normal(16).astype(np.float32)
def commit(memory, n):
    with memory.write() as tx:
        note = tx.artifact(f"note {n}", session_id="live", vector=vector())
        people = [tx.entity(f"Person {n} {j}", "person", artifact=note, vector=vector()) for j in range(4)]
        for j in range(4):
            tx.edge(people[j], "knows", people[j - 1], artifact=note, vector=vector())
def resident():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6
with Memory.open(sys.argv[1]) as memory:
    for n in range(220):
        if n == 80:
            before = resident()
        commit(memory, n)
    print((resident() - before) / 140)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.timeout(240)
def test_a_writer_does_not_grow_with_its_commits(place):
    """Megabytes a commit: 0.4 and more while the caches of Lance's sessions were as large as they are by default."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(WRITER), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=220)
    assert float(done.stdout) < 0.15


def test_views_that_were_asked_are_let_go(place, embedder):
    with Memory.open(place, embedder=embedder) as memory:
        for n in range(8):
            memory.add(f"Alice wrote note {n}")
            memory.recall("what did Alice write?")
            memory.artifacts.list()
        gc.collect()
        assert sum(isinstance(each, View) and each._place is memory.store.place for each in gc.get_objects()) <= 3


def test_what_is_kept_of_indexes_that_are_gone_is_let_go(place, monkeypatch):
    """Each refresh makes another index, whose pages push nobody out for a long time: 512 MB of them, in a day."""
    with Memory.open(place, grace=0.0) as memory, Memory.open(place) as reader:
        for n in range(6):
            memory.add(f"Alice wrote note {n}", metadata={"n": n})
            memory.upkeep.step(thorough=True)
            assert memory.artifacts.list(metadata={"n": n}).items
        before = memory.store.place.lake._caches.reading
        memory.upkeep.clean()
        assert memory.store.place.lake._caches.reading is before  # little is kept, and was looked at just now
        monkeypatch.setattr("unabridged.memory.caches.SPARE", 0)
        monkeypatch.setattr("unabridged.memory.caches.LOOKED", 0.0)
        monkeypatch.setattr("unabridged.memory.pieces.Pieces.index_bytes", lambda _: 1 << 30)
        memory.upkeep.clean()
        assert memory.store.place.lake._caches.reading is before  # of indexes that are there
        monkeypatch.setattr("unabridged.memory.pieces.Pieces.index_bytes", lambda _: 0)
        with reader.pinned() as pinned:
            memory.upkeep.clean()
            after = memory.store.place.lake._caches.reading
            assert after is not before
            assert after.size_bytes() < before.size_bytes()
            assert len(pinned.artifacts.list()) == len(memory.artifacts.list()) == 6
        memory.add("later")
        memory.verify().raise_if_broken()


def test_memories_of_one_place_share_what_is_kept_of_it(place, tmp_path):
    one, two = Memory.open(place), Memory.open(place, dataset="other")
    elsewhere, here, there = Memory.open(tmp_path / "elsewhere"), Memory.open("memory://"), Memory.open("memory://")
    caches = [each.store.place.lake._caches for each in (one, two, elsewhere, here, there)]
    assert caches[0] is caches[1]
    assert len({id(each) for each in caches}) == 4
    here.add("here alone")
    assert len(there.artifacts.list()) == 0
    for each in (one, two, elsewhere, here, there):
        each.close()


def test_a_place_that_is_made_anew_is_read_anew(place):
    """What is kept of a place is kept by its address: another dataset at the same one is not mistaken for it."""
    import shutil

    kept = []
    for n in range(3):
        kept.append(Memory.open(place))  # stays open, and with it what is kept of the place
        for k in range(n + 1):
            kept[-1].add(f"{n} {k}")
        assert [a.text for a in kept[-1].artifacts.list()] == [f"{n} {k}" for k in range(n + 1)]
        kept[-1].close()
        shutil.rmtree(place)
