"""Two writers of one dataset, in any order, dying now and then; what there is, is what a plain model says."""

import asyncio
import random

import pytest

from unabridged.errors import NotFound, StoreError
from unabridged.memory import AsyncMemory, Memory
from unabridged.memory.dataset import Handle


class Killed(BaseException):
    """A death that no handler expects."""


class World:
    """Two memories of one place, and what they should hold: texts by id, and named states of them."""

    def __init__(self, place, seed, lock):
        self.place, self.lock = place, lock
        self.chance = random.Random(seed)
        self.memories = [self.open(), self.open()]
        self.texts, self.states, self.sessions = {}, {}, {}
        self.count = 0

    def open(self):
        return Memory.open(self.place, grace=0.2, lock=self.lock)

    def pick(self, of):
        return self.chance.choice(sorted(of)) if of else None

    def write(self, memory):
        self.count += 1
        text, session = f"text number {self.count} of the model", f"s{self.count % 3}"
        doomed = self.pick(self.texts) if self.chance.random() < 0.3 else None
        with memory.write() as tx:
            note = tx.artifact(text, session_id=session)
            one = tx.entity(f"P{self.count % 4}", "person", artifact=note)
            two = tx.entity(f"Q{self.count % 5}", "place", artifact=note)
            tx.edge(one, "saw", two, artifact=note)
            if doomed:
                tx.delete([doomed])
        self.texts.pop(doomed, None)
        self.texts[note.id] = (text, session)

    def delete(self, memory):
        doomed = self.pick(self.texts)
        if doomed:
            memory.delete(doomed)
            del self.texts[doomed]

    def snapshot(self, memory):
        self.count += 1
        memory.snapshot(f"state {self.count}")
        self.states[f"state {self.count}"] = dict(self.texts)

    def restore(self, memory):
        name = self.pick(self.states)
        if name:
            memory.restore(name)
            self.texts = dict(self.states[name])

    def drop(self, memory):
        name = self.pick(self.states)
        if name:
            memory.drop_snapshot(name)
            del self.states[name]

    def erase(self, memory):
        session = f"s{self.chance.randrange(3)}"
        memory.erase(session_id=session, drop_snapshots=True)
        self.states = {}
        self.texts = {key: each for key, each in self.texts.items() if each[1] != session}

    def optimise(self, memory):
        memory.optimize()

    def copy(self, memory):
        self.count += 1
        memory.export(self.place.parent / f"out{self.count}")
        with Memory.import_(self.place.parent / f"out{self.count}", self.place, dataset=f"copy {self.count}") as copy:
            copy.verify().raise_if_broken()
            assert {a.id: (a.text, a.session_id) for a in copy.artifacts.list(limit=500)} == self.texts

    def check(self):
        for memory in self.memories:
            assert {a.id: (a.text, a.session_id) for a in memory.artifacts.list(limit=500)} == self.texts
            assert {each.name for each in memory.snapshots()} == set(self.states)
        name = self.pick(self.states)
        if name:
            with Memory.open(self.place, snapshot=name, lock=self.lock) as then:
                assert {a.id: (a.text, a.session_id) for a in then.artifacts.list(limit=500)} == self.states[name]

    def die(self, monkeypatch, which):
        """The writer ends after a random write of a table, before its head moves; another one takes its place."""
        moved, left = Handle._moved, [self.chance.randrange(4)]

        def fatal(handle, version):
            moved(handle, version)
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        before = dict(self.texts)
        with monkeypatch.context() as patch:
            patch.setattr(Handle, "_moved", fatal)
            try:
                self.write(self.memories[which])
            except Killed:
                self.texts = before
        self.memories[which] = self.open()


WORK = {"write": 8, "delete": 4, "snapshot": 2, "restore": 2, "drop": 1, "erase": 1, "optimise": 1, "copy": 1, "die": 3}


@pytest.mark.parametrize(("seed", "lock"), [(1, "auto"), (2, "lease")])
@pytest.mark.timeout(240)
def test_two_writers_in_any_order_leave_what_the_model_says(place, monkeypatch, seed, lock):
    world = World(place, seed, lock)
    for _ in range(30):
        (name,) = world.chance.choices(list(WORK), list(WORK.values()))
        which = world.chance.randrange(2)
        if name == "die":
            world.die(monkeypatch, which)
        else:
            getattr(world, name)(world.memories[which])
        world.check()
    for memory in world.memories:
        memory.verify().raise_if_broken()
        memory.close()
    assert world.count > 10


async def test_a_call_that_was_cancelled_is_done_whole_or_not_at_all(place):
    chance, told, tried = random.Random(0), set(), set()

    async def one(memory, text):
        tried.add(text)
        if chance.random() < 0.5:
            await memory.add(text)
        else:
            async with memory.write() as tx:
                note = tx.artifact(text)
                await asyncio.sleep(chance.random() * 0.01)
                tx.entity("Alice", "person", artifact=note)
        told.add(text)

    async with await AsyncMemory.open(place) as memory:
        for turn in range(6):
            tasks = [asyncio.create_task(one(memory, f"{turn} {n}")) for n in range(5)]
            await asyncio.sleep(chance.random() * 0.2)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        (await memory.verify()).raise_if_broken()
    with Memory.open(place) as after:
        after.verify().raise_if_broken()
        texts = [each.text for each in after.artifacts.list(limit=500)]
    assert len(set(texts)) == len(texts)
    assert told <= set(texts) <= tried


def test_what_is_asked_of_a_state_that_went_is_not_there(place):
    with Memory.open(place) as one, Memory.open(place) as two:
        note = one.add("first")
        one.snapshot("kept")
        two.delete(note)
        with pytest.raises(NotFound):
            one.delete(note)
        two.drop_snapshot("kept")
        for work in (lambda: one.restore("kept"), lambda: one.drop_snapshot("kept")):
            with pytest.raises(NotFound):
                work()
        with pytest.raises(StoreError, match="snapshot"):
            one.snapshot("again")
            two.purge()
