"""Texts that wait for their graph (SPEC K7): one commit now, the graph later; dispatched, recovered, held."""

import threading
from dataclasses import replace

import pytest

from unabridged.errors import ConfigError, UnabridgedError
from unabridged.memory import Memory
from unabridged.memory.processes import _began, alive, me
from unabridged.memory.records import Pending
from unabridged.memory.remember.pending import Dispatcher, PendingReport, work_pending
from unabridged.memory.values import moment, now
from unabridged.testing import ChatServer

from .remembering import LONG, SMALL, asking, refuse, stages


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def memory(place, server, embedder):
    with asking(place, server=server, embedder=embedder) as (opened, _):
        yield opened
        opened.verify().raise_if_broken()


def test_k7_deferred_is_one_commit_now_and_the_same_graph_later(memory, server):
    seq = memory.store.view().head.seq
    made = memory.remember(LONG, chunking=SMALL, defer=True, session_id="s", summarize=True)
    short = memory.remember("Zoe works at Initech.", defer=True)
    assert server.total == 0
    assert memory.store.view().head.seq == seq + 2
    assert (made.pending, short.pending, memory.pending.count()) == (4, 1, 5)
    assert made.embedded_chunks == 4
    assert len(memory.artifacts.list(pending=True).items) == 4
    events = []
    report = memory.work_pending(progress=events.append)
    assert report == PendingReport(done=5)
    assert memory.pending.count() == 0
    assert {event.step for event in events} == {"extract", "summarize", "store"}
    assert memory.artifacts.list(pending=True).items == ()
    assert memory.artifacts.counts().summaries == 4
    assert stages(server) == {"extract": 5, "summarize": 4, "compare": 0}
    assert memory.edges.count() == 25
    assert {link.to_id for link in memory.links.list(type="edge_session")} == {"s"}
    for name, coverage in memory.stats().vectors.items():
        assert coverage.expected == coverage.present, name
    assert work_pending(memory) == PendingReport()


def test_k7_what_was_missed_is_found_by_processed_at(memory, place, embedder):
    from unabridged import split

    memory.add(LONG, chunks=split(LONG, max_tokens=72))
    report = memory.work_pending()
    assert (report.queued, report.done) == (4, 4)
    with Memory.open(place, embedder=embedder) as offline:
        offline.remember(LONG.replace("Person", "Human"), chunking=SMALL)
        with pytest.raises(ConfigError, match="chat"):
            offline.work_pending()
    assert memory.work_pending().done == 4
    assert memory.edges.count() == 48


def test_k7_a_poisoned_chunk_hurts_only_itself_is_tried_three_times_then_held(memory, server):
    memory.remember(LONG, chunking=SMALL, defer=True)
    refuse(server, r"<text>.*Person4")
    reports = [memory.work_pending() for _ in range(4)]
    assert [(each.done, each.failed, each.recovered) for each in reports] == [
        (3, 1, 0),
        (0, 1, 1),
        (0, 1, 1),
        (0, 0, 0),
    ]
    assert reports[-1].held == 1
    (row,) = memory.pending.list()
    assert (row.status, row.cycles, row.attempts) == ("held", 2, 3)
    assert row.detail["error"] == "ProviderError"
    assert memory.edges.count() == 18


def test_k7_a_chunk_that_fails_while_it_is_stored_hurts_only_itself(memory, server):
    memory.remember("Person4 lives in Oslo.")
    memory.remember(LONG, chunking=SMALL, defer=True)
    lift = refuse(server, "New facts:")
    report = memory.work_pending()
    lift()
    assert (report.done, report.failed) == (3, 1)
    assert memory.work_pending().done == 1
    assert memory.edges.count() == 25


def test_k7_a_job_looks_again_before_it_works(memory, server):
    gone = memory.remember("Zoe works at Initech.", defer=True)
    made = memory.remember("Ada works at Acme.", defer=True)
    row = memory.pending.get(made.artifact_id)
    memory.delete(gone.artifact_id)
    memory.update(made.artifact_id, processed_at="2024-01-01")
    old = Pending(id="nobody", document_id="nobody", created_at=moment("2020-01-01"))
    early = Pending(id="soon", document_id="soon", created_at=now())
    memory.pending.append([old, early])
    assert memory.work_pending().done == 0
    assert server.total == 0
    assert [each.id for each in memory.pending.list()] == ["soon"]
    assert row.priority == 50


def test_k7_what_a_dead_process_was_at_is_put_back_and_a_living_ones_left_alone(memory):
    made = memory.remember("Ada works at Acme.", defer=True)
    row = memory.pending.get(made.artifact_id)
    living = {**me(), "pid": 1, "began": None}
    memory.pending.put([replace(row, status="running", updated_at=now(), detail={"owner": living})])
    assert memory.work_pending().done == int(not alive(living, now()))
    dead = {**me(), "began": "never"}
    memory.pending.put([replace(row, status="running", updated_at=now(), detail={"owner": {**dead, "pid": 1 << 22}})])
    assert memory.work_pending().recovered == 1
    assert memory.edges.count() == 1


def test_owners_of_other_machines_are_believed_for_a_while():
    away = {"host": "another", "pid": 7}
    assert alive(away, now())
    assert not alive(away, moment("2020-01-01"))
    assert not alive(away, None)
    assert not alive({**me(), "pid": 0x7FFFFFF}, now())
    assert not alive(me(), now())  # what this process is at, it knows itself


def test_an_owner_that_may_not_be_asked_lives(monkeypatch):
    def refuse(pid, signal):
        raise PermissionError

    monkeypatch.setattr("os.kill", refuse)
    assert alive({**me(), "pid": 1}, None)
    assert _began(1 << 22) is None


def test_k7_documents_side_by_side_each_in_order(memory, server):
    for at in range(3):
        memory.remember(LONG.replace("Person", f"P{at}x"), chunking=SMALL, defer=True)
    assert memory.work_pending(limit=5, documents=2).done == 5
    assert memory.work_pending().done == 7
    assert memory.edges.count() == 72


def test_k7_stopped_in_the_middle_the_rest_waits(memory):
    memory.remember(LONG, chunking=SMALL, defer=True)
    stop = threading.Event()

    def told(event):
        if event.step == "store" and event.done == 2:
            stop.set()

    report = memory.work_pending(progress=told, cancel=stop)
    assert (report.failed, report.waiting) == (0, 4 - report.done)
    assert memory.work_pending().waiting == 0
    assert memory.edges.count() == 24


def test_k7_the_dispatcher_works_off_what_comes(memory, server):
    told, passed = [], threading.Event()

    def tell(report):
        told.append(report)
        passed.set()

    with Dispatcher(memory, interval=60, told=tell) as dispatcher:
        assert passed.wait(30)
        memory.remember("Ada works at Acme.", defer=True)
        passed.clear()
        dispatcher.wake()
        assert passed.wait(30)
    assert sum(each.done for each in told) == 1
    memory.asker, told = None, []
    passed.clear()
    with Dispatcher(memory, told=lambda error: (told.append(error), passed.set())):
        assert passed.wait(30)
    assert isinstance(told[0], UnabridgedError)


def test_k7_a_deferred_request_with_a_key_is_queued_once_and_says_what_it_leaves_out(memory, monkeypatch):
    series = {"name": "n", "points": [("2024-01-01", 1)], "observations": True}
    given = {"chunking": SMALL, "defer": True, "idempotency_key": "k", "timeseries": series}
    monkeypatch.setattr(memory.series, "create", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        memory.remember(LONG, **given)
    monkeypatch.undo()
    memory.remember("Zoe works at Initech.", defer=True)
    made = memory.remember(LONG, **given)
    assert (made.pending, memory.pending.count(), memory.artifacts.counts().documents) == (4, 5, 2)
    assert any("no observations" in said for said in made.notes)
    assert made.series
