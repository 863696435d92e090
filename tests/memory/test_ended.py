"""Facts that had ended before they were told: no beginning is made up for them, and they close nothing (A8, A9)."""

import datetime as dt

import pytest

from unabridged.errors import InputError
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.memory.temporal import contradicted, restated, start
from unabridged.providers.chat import Chat
from unabridged.testing import ChatRule, ChatServer


def utc(year):
    return dt.datetime(year, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("valid_at", ["2024-01-01", None])
def test_a2_a_fact_told_after_its_end_is_stored_once_however_often_it_is_told(tmp_path, valid_at):
    with ChatServer() as server:
        asker = Asker(Chat("tiny", base_url=server.url), cache=False)
        with Memory.open(tmp_path, chat=asker) as memory:
            for _ in range(2):
                told = memory.remember("Alice worked at Acme until 2021.", valid_at=valid_at)
            (edge,) = memory.edges.list(include_history=True)
            assert (edge.valid_at, edge.invalid_at) == (None, utc(2021))
            assert told.to_dict()["edges"][0]["id"] == edge.id
            assert list(memory.edges.list()) == []
            assert list(memory.edges.list(as_of="2020-01-01")) == [edge]
            memory.verify().raise_if_broken()
        asker.close()


def test_a9_what_had_ended_neither_closes_nor_is_closed(memory):
    with memory.write() as tx:
        note = tx.artifact("Notes.", valid_at=utc(2024))
        alice, acme, beta = (tx.entity(name, "t", artifact=note) for name in ("Alice", "Acme", "Beta"))
        now_at = tx.edge(alice, "works at", beta, artifact=note, valid_at=utc(2022))
        was_at = tx.edge(alice, "works at", acme, artifact=note, invalid_at=utc(2021))
        tx.contradict(now_at, was_at)
    assert (was_at.valid_at, start(was_at)) == (None, utc(2021))
    assert memory.edges.get(now_at.id).invalid_at is None
    assert contradicted(now_at, was_at) is contradicted(was_at, now_at) is None
    assert restated([was_at], utc(2024), utc(2021)) is was_at
    assert restated([was_at], utc(2024), utc(2020)) is None
    assert restated([was_at], utc(2024)) is None


def test_a_fact_that_began_when_it_was_told_still_does(memory):
    with memory.write() as tx:
        note = tx.artifact("Notes.", valid_at=utc(2024))
        one, other = tx.entity("A", "t", artifact=note), tx.entity("B", "t", artifact=note)
        ends_later = tx.edge(one, "rents", other, artifact=note, invalid_at=utc(2030))
    assert ends_later.valid_at == utc(2024)


def test_a_fact_cannot_be_closed_before_it_began(memory):
    with memory.write() as tx:
        note = tx.artifact("Notes.")
        one, other = tx.entity("A", "t", artifact=note), tx.entity("B", "t", artifact=note)
        edge = tx.edge(one, "knows", other, artifact=note, valid_at=utc(2020))
    with pytest.raises(InputError, match="cannot end before it begins"), memory.write() as tx:
        tx.close(edge, tx.artifact("Not any more."), at=utc(2019))
    assert memory.edges.get(edge.id).invalid_at is None


@pytest.mark.parametrize("verdict", ["contradicted", "duplicate"])
def test_a_fact_that_is_told_again_with_its_end_ends_then(tmp_path, verdict):
    decided = {"decisions": [{"fact": 1, "verdict": verdict, "known": [1]}]}
    with ChatServer([ChatRule(pattern="New facts", answer=decided)]) as server:
        asker = Asker(Chat("tiny", base_url=server.url), cache=False)
        with Memory.open(tmp_path, chat=asker) as memory:
            memory.remember("Alice works at Acme.", valid_at="2019-01-01")
            last = memory.remember("Alice worked at Acme until 2021.", valid_at="2024-01-01").artifact_id
            (known,) = [edge for edge in memory.edges.list(include_history=True) if edge.valid_at == utc(2019)]
            assert known.invalid_at == utc(2021)
            assert list(memory.edges.list()) == []
            memory.verify().raise_if_broken()
            memory.delete(last)
            assert memory.edges.get(known.id).invalid_at is None  # what closed it is gone
            memory.verify().raise_if_broken()
        asker.close()
