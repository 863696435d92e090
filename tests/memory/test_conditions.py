"""Writes that are done only while something holds: looked at under the lock, at the state that they follow."""

from __future__ import annotations

import threading

import pytest

from unabridged.errors import NotFound
from unabridged.memory import Memory
from unabridged.memory.conditions import provided


@pytest.fixture
def memory():
    with Memory.open("memory://") as opened:
        yield opened


def no_text(view):
    if view["artifacts"].count():
        raise ValueError("somebody was faster")


def test_a_commit_is_held_to_a_condition_once(memory) -> None:
    with provided(no_text):
        memory.add("the first")
        memory.add("no longer asked: the condition was for one commit")
    with provided(no_text), pytest.raises(ValueError, match="faster"):
        memory.add("too late")
    assert memory.artifacts.counts().documents == 2
    memory.add("nothing is left of it")
    with provided(no_text):
        pass
    memory.add("nor of one that nothing came of")
    memory.verify().raise_if_broken()


def test_other_threads_write_on(memory) -> None:
    memory.add("there")
    with provided(no_text):
        thread = threading.Thread(target=memory.add, args=("from elsewhere",))
        thread.start()
        thread.join()
    assert memory.artifacts.counts().documents == 2


def test_what_is_withdrawn_reopens_what_it_had_ended(memory) -> None:
    with memory.write() as tx:
        first = tx.artifact("Alice lives in Berlin.", valid_at="2020-01-01")
        alice, berlin = tx.entity("Alice", "person", artifact=first), tx.entity("Berlin", "place", artifact=first)
        old = tx.edge(alice, "lives in", berlin, artifact=first)
    with memory.write() as tx:
        second = tx.artifact("Alice moved to Paris.", valid_at="2024-01-01")
        new = tx.edge(alice, "lives in", tx.entity("Paris", "place", artifact=second), artifact=second)
        tx.contradict(old, new)
    with pytest.raises(NotFound):
        memory.withdraw(edges=[new, "nothing"])
    assert memory.edges.get(old.id).invalid_at is not None
    assert memory.withdraw(edges=[new]).reopened == (old.id,)
    assert memory.withdraw(entities=[alice.id]).edges == (old.id,)
    assert {each.text for each in memory.artifacts.list()} == {"Alice lives in Berlin.", "Alice moved to Paris."}
    memory.verify().raise_if_broken()
