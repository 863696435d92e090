"""Real processes: killed at any moment, many at once, stopped past their lease (cases 40, 42)."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from unabridged.memory import Memory
from unabridged.memory.dataset import Handle

WRITER = """
import sys
from unabridged.memory import Memory
place, who, count, lock = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
memory = Memory.open(place, lock=lock, grace=1.0)
print("ready", flush=True)
for n in range(count):
    with memory.write() as tx:
        note = tx.artifact(f"{who} {n}", session_id=who)
        one = tx.entity("Alice", "person", artifact=note)
        two = tx.entity(f"{who} {n % 5}", "person", artifact=note)
        edge = tx.edge(one, "knows", two, artifact=note)
    print(f"{who} {n}", flush=True)
    if n % 3 == 2:
        memory.delete(note.id)
        print(f"deleted {who} {n}", flush=True)
memory.close()
"""

SLEEPER = """
import sys
from unabridged.errors import Conflict
from unabridged.memory import Memory
from unabridged.memory.lease import LeaseLock
memory = Memory.open(sys.argv[1], lock="lease")
lock = memory.store.place.lock
lock._seconds = 1.0
moves = []
move = memory.store.move
def slow(head, following):
    moves.append(head.seq)
    if len(moves) == 1:
        print("about to commit", flush=True)
        sys.stdin.readline()
    move(head, following)
memory.store.move = slow
memory.add("the sleeper's")
print("acknowledged", len(moves), flush=True)
"""


def start(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.timeout(120)
def test_case_40_killed_at_random_moments(place):
    chance = random.Random(5)
    Memory.open(place).close()
    acknowledged, deleted = set(), set()
    for run in range(6):
        process = start(WRITER, place, f"w{run}", 1000, "auto")
        assert process.stdout.readline().strip() == "ready"
        time.sleep(chance.uniform(0.05, 0.7))
        process.send_signal(signal.SIGKILL)
        lines = [line.strip() for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")]
        deleted |= {line.removeprefix("deleted ") for line in lines if line.startswith("deleted ")}
        acknowledged |= {line for line in lines if not line.startswith("deleted ")}
        with Memory.open(place, grace=1.0) as memory:
            memory.verify().raise_if_broken()
    texts = {a.text for a in _all(memory)}
    assert acknowledged - deleted - texts <= {_unannounced(acknowledged, run) for run in range(6)}
    assert not texts & deleted
    memory.add("life goes on")


def _unannounced(acknowledged, run):
    """The last write of a run may have been deleted without the news having been printed."""
    mine = [line for line in acknowledged if line.startswith(f"w{run} ")]
    return max(mine, key=lambda line: int(line.split()[1]), default="")


def _all(memory):
    cursor, found = None, []
    while True:
        page = memory.artifacts.list(limit=1000, cursor=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("lock", ["file", "lease"])
@pytest.mark.timeout(120)
def test_case_42_processes_at_once_lose_and_duplicate_nothing(place, lock):
    with Memory.open(place, lock=lock) as memory:
        running = [start(WRITER, place, f"p{n}", 12, lock) for n in range(3)]
        for process in running:
            process.communicate(timeout=100)
        assert [process.returncode for process in running] == [0, 0, 0]
        expected = sorted(f"p{who} {n}" for who in range(3) for n in range(12) if n % 3 != 2)
        assert sorted(a.text for a in _all(memory)) == expected
        assert len(memory.entities.named("alice")) == 1
        memory.verify().raise_if_broken()


@pytest.mark.timeout(120)
def test_a_writer_stopped_past_its_lease_is_refused_and_tries_again(place):
    with Memory.open(place, lock="lease") as memory:
        memory.add("first")
        sleeper = start(SLEEPER, place)
        assert sleeper.stdout.readline().strip() == "about to commit"
        os.kill(sleeper.pid, signal.SIGSTOP)
        time.sleep(1.1)
        memory.add("the one who took over")  # waits for the lease to run out, restores every table
        os.kill(sleeper.pid, signal.SIGCONT)
        output, _ = sleeper.communicate("go on\n", timeout=60)
        assert output.strip() == "acknowledged 2"  # refused once, then written on the new head
        assert {a.text for a in memory.artifacts.list()} == {"first", "the one who took over", "the sleeper's"}


class Killed(BaseException):
    """A death that no handler expects."""


def test_every_step_of_a_commit_may_be_the_last(place, monkeypatch, say):
    """A document replaced, a fact closed: die after each write of a table, and before the head moves."""
    with Memory.open(place) as memory:
        berlin = (("Alice", "person"), "lives in", ("Berlin", "place"))
        old, (edge,) = say(memory, "Alice lives in Berlin", berlin)
        other, _ = say(memory, "Berlin is large", (("Berlin", "place"), "is", ("large", "size")))
        state = memory.store.view().head
        step = 0
        while True:
            with Memory.open(place) as victim:
                died = _die_at(monkeypatch, step, lambda v=victim: _replace(v, old, other, edge))
            if not died:
                break
            with Memory.open(place) as after:
                assert after.store.view().head == state
                after.verify().raise_if_broken()
            step += 1
        assert step >= 6  # links, artifacts, edges, entities were written before the head
        memory.verify().raise_if_broken()
        assert memory.edges.get(edge.id).invalid_at is not None


def _replace(memory, old, other, edge):
    with memory.write() as tx:
        new = tx.artifact("Alice moved to Paris", valid_at="2999-01-01")
        alice = tx.entity("Alice", "person", artifact=new, aliases=["Al"])
        paris = tx.entity("Paris", "place", artifact=new)
        moved = tx.edge(alice, "lives in", paris, artifact=new)
        tx.restate(edge, new)
        tx.contradict(edge, moved)
        tx.delete([old])
        tx.update(other, metadata={"seen": True})


def _die_at(monkeypatch, step, work):
    moved, left = Handle._moved, [step]

    def fatal(self, version):
        moved(self, version)
        if left[0] == 0:
            raise Killed
        left[0] -= 1

    with monkeypatch.context() as patch:
        patch.setattr(Handle, "_moved", fatal)
        try:
            work()
        except Killed:
            return True
    return False
