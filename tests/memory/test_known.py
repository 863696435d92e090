"""What the memory knew at a moment, when it heard of several ends of one fact (DESIGN §5, ``known_at``)."""

import datetime as dt
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.memory import Memory
from unabridged.memory.commits import Fixed
from unabridged.memory.graph import Edges
from unabridged.memory.known import as_known, known_where
from unabridged.memory.records import Edge, Link
from unabridged.memory.temporal import ended, holds
from unabridged.memory.values import new_id

START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def day(n):
    return START + dt.timedelta(days=n)


def test_an_earlier_end_that_was_heard_of_later_is_not_known_before(memory):
    with memory.write() as tx:
        note = tx.artifact("Alice lives in Berlin")
        one, berlin = tx.entity("Alice", "person", artifact=note), tx.entity("Berlin", "place", artifact=note)
        home = tx.edge(one, "lives in", berlin, artifact=note, valid_at=day(0))
    known = [memory.edges.get(home.id).created_at]
    for name, at in (("Paris", day(200)), ("Rome", day(100))):
        with memory.write() as tx:
            note = tx.artifact(f"Alice moved to {name}")
            there = tx.entity(name, "place", artifact=note)
            moved = tx.edge(one, "lives in", there, artifact=note, valid_at=at)
            tx.contradict(home.id, moved)
        known.append(memory.edges.get(moved.id).created_at)

    def asked(known_at, **how):
        found = list(memory.edges.list(target=berlin.id, known_at=known_at, **how))
        return [(e.invalid_at, e.expired_at) for e in found]

    assert asked(known[0], as_of=day(150)) == [(None, None)]
    assert asked(known[1], as_of=day(150)) == [(day(200), known[1])]  # it had not heard of Rome yet
    assert asked(known[2], as_of=day(150)) == []
    assert asked(known[2], as_of=day(50)) == [(day(100), known[1])]
    assert asked(known[1], include_history=True) == [(day(200), known[1])]
    periods = {k: memory.timeline("Berlin", known_at=known[k]).periods[0] for k in range(3)}
    assert [p.until for p in periods.values()] == [None, day(200), day(100)]
    assert [p.unlearned for p in periods.values()] == [None, known[1], known[1]]


moments = st.integers(-3, 3).map(day)
maybe = st.none() | moments


@st.composite
def told(draw):
    """A fact, and the ends that the memory heard of."""
    stated = draw(maybe)
    edge = Edge(
        id=new_id(),
        source_id="s",
        relation="r",
        target_id="t",
        fact="f",
        created_at=draw(moments),
        valid_at=draw(maybe),
        stated_invalid_at=stated,
        invalid_at=stated,
    )
    closings = draw(st.lists(st.tuples(moments, moments), max_size=4))
    links = [
        Link(type="contradiction", from_id=edge.id, to_id=f"a{n}", at=at, created_at=when)
        for n, (at, when) in enumerate(closings)
    ]
    return edge, links


@given(st.lists(told(), min_size=1, max_size=8), maybe, maybe, st.booleans(), moments)
@settings(max_examples=25, deadline=None)
def test_what_is_seen_is_what_was_known(found, as_of, known_at, include_history, today):
    """The rule, told again: of each fact, only the ends that were heard of by then count."""
    memory = _shared()
    memory.store.commit(lambda draft: [draft.delete(table, "true") for table in ("edges", "links")] and None)
    memory.store.commit(lambda draft: draft.append("edges", [ended(edge, links) for edge, links in found]))
    memory.store.commit(lambda draft: draft.append("links", [link for _, links in found for link in links]))
    view = memory.store.view()
    heard = {e.id: ended(e, [x for x in links if known_at is None or x.created_at <= known_at]) for e, links in found}
    how = {"as_of": as_of, "known_at": known_at, "include_history": include_history, "today": today}
    expected = {key for key, edge in heard.items() if holds(edge, **how)}
    assert {edge.id for edge in view.records("edges", known_where(view, **how))} == expected
    assert {e.id: e for e in as_known(view, view.records("edges"), known_at)} == heard
    how = {"as_of": as_of or today, "known_at": known_at, "include_history": include_history}
    page = Edges(Fixed(view)).list(limit=100, **how)
    assert {e.id: e for e in page} == {k: e for k, e in heard.items() if holds(e, **how)}


def _shared(kept=[]):  # noqa: B006
    if not kept:
        kept.append(Memory.open("memory://", upkeep=False))
    return kept[0]


def test_a_fact_as_known_is_the_fact_itself_without_a_moment():
    edge = Edge(id="e", source_id="s", relation="r", target_id="t", fact="f", created_at=day(0), invalid_at=day(3))
    assert as_known(_shared().store.view(), [edge], None) == [edge]
    assert as_known(_shared().store.view(), [replace(edge, expired_at=day(2))], day(1))[0].invalid_at is None
