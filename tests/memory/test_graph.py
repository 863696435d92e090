"""Facts in time, merging, closing and reopening (A7-A11), provenance both ways, deletion's rules."""

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.errors import InputError, NotFound, StoreError
from unabridged.memory import Memory
from unabridged.memory.commits import Fixed
from unabridged.memory.graph import Edges
from unabridged.memory.records import Edge, Link
from unabridged.memory.temporal import contradicted, ended, holds, holds_where, restated
from unabridged.memory.values import new_id

ALICE, BERLIN, PARIS, ROME = ("Alice", "person"), ("Berlin", "place"), ("Paris", "place"), ("Rome", "place")


def day(n):
    return dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=n)


def lives(memory, place, since, *, against=(), artifact=None, session_id=None):
    with memory.write() as tx:
        note = artifact or tx.artifact(f"Alice lives in {place[0]}", valid_at=since, session_id=session_id)
        alice = tx.entity(*ALICE, artifact=note)
        there = tx.entity(*place, artifact=note)
        edge = tx.edge(alice, "lives in", there, artifact=note, valid_at=since)
        for old in against:
            tx.contradict(old, edge)
    return note, tx.stored(edge)


def test_case_35_a_contradicted_fact_is_closed_and_a_further_one_stays(memory, say):
    _, berlin = lives(memory, BERLIN, day(0))
    _, (cto, admin) = say(
        memory,
        "P is CTO of Acme and administers it",
        (("P", "person"), "is CTO of", ("Acme", "organization")),
        (("P", "person"), "administers", ("Acme", "organization")),
    )
    note, paris = lives(memory, PARIS, day(100), against=[berlin])
    current = {edge.id for edge in memory.edges.list()}
    assert current == {cto.id, admin.id, paris.id}
    closed = memory.edges.get(berlin.id)
    assert (closed.invalid_at, closed.expired_at, closed.valid_at) == (day(100), paris.created_at, day(0))
    assert note.id not in [each.artifact.id for each in memory.evidence(closed)]  # a contradiction restates nothing
    (why,) = memory.edges.contradictions(closed)
    assert (why.to_id, why.via_id, why.at) == (note.id, paris.id, day(100))


def test_what_was_true_and_what_was_known(memory):
    _, berlin = lives(memory, BERLIN, day(0))
    between = memory.edges.get(berlin.id).created_at
    _, paris = lives(memory, PARIS, day(100), against=[berlin])
    ask = lambda **how: [edge.id for edge in memory.edges.list(entity=memory.entities.find(*ALICE), **how)]  # noqa: E731, RUF100
    assert ask() == [paris.id]
    assert ask(as_of=day(50)) == [berlin.id]
    assert ask(as_of=day(100)) == [paris.id]
    assert ask(as_of=day(-1)) == []
    assert ask(known_at=between) == [berlin.id]
    assert ask(known_at=between, as_of=day(200)) == [berlin.id]  # it did not know yet
    assert sorted(ask(include_history=True)) == sorted([berlin.id, paris.id])
    assert ask(include_history=True, known_at=between) == [berlin.id]


def test_a_backdated_fact_closes_itself(memory):
    _, paris = lives(memory, PARIS, day(100))
    _, berlin = lives(memory, BERLIN, day(0), against=[paris])
    assert memory.edges.get(paris.id).invalid_at is None
    assert memory.edges.get(berlin.id).invalid_at == day(100)
    _, rome = lives(memory, ROME, day(50), against=[paris, berlin])
    assert memory.edges.get(rome.id).invalid_at == day(100)
    assert memory.edges.get(berlin.id).invalid_at == day(50)
    assert [e.id for e in memory.edges.list(as_of=day(70))] == [rome.id]


def test_deleting_what_contradicted_reopens(memory):
    first, berlin = lives(memory, BERLIN, day(0))
    note, paris = lives(memory, PARIS, day(100), against=[berlin])
    gone = memory.delete(note)
    assert (gone.edges, gone.reopened) == ((paris.id,), (berlin.id,))
    reopened = memory.edges.get(berlin.id)
    assert (reopened.invalid_at, reopened.expired_at) == (None, None)
    assert reopened == berlin
    assert memory.delete(first).edges == (berlin.id,)


def test_a_contradiction_stands_while_somebody_states_it(memory):
    _, berlin = lives(memory, BERLIN, day(0))
    one, paris = lives(memory, PARIS, day(100), against=[berlin])
    two, again = lives(memory, PARIS, day(100))
    assert again.id == paris.id
    assert memory.delete(one).reopened == ()
    (why,) = memory.edges.contradictions(berlin)
    assert (why.to_id, why.via_id) == (two.id, paris.id)
    assert memory.delete(two).reopened == (berlin.id,)


def test_two_contradictions_the_earlier_end_holds_and_goes_alone(memory):
    _, berlin = lives(memory, BERLIN, day(0))
    late, _ = lives(memory, PARIS, day(100), against=[berlin])
    early, _ = lives(memory, ROME, day(50), against=[berlin])
    assert memory.edges.get(berlin.id).invalid_at == day(50)
    assert memory.delete(early).reopened == (berlin.id,)
    assert memory.edges.get(berlin.id).invalid_at == day(100)
    memory.delete(late)
    assert memory.edges.get(berlin.id).invalid_at is None


def test_a_fact_may_end_without_another(memory):
    _, berlin = lives(memory, BERLIN, day(0))
    with memory.write() as tx:
        note = tx.artifact("Alice left Berlin")
        tx.close(berlin, note, at=day(30))
    assert memory.edges.get(berlin.id).invalid_at == day(30)
    with memory.write() as tx:
        tx.close(berlin.id, note, at=day(60))  # it had ended by then: nothing to close
    assert memory.edges.get(berlin.id).invalid_at == day(30)
    assert memory.delete(note).reopened == (berlin.id,)


def test_the_stated_end_returns_with_the_contradictions_gone(memory):
    with memory.write() as tx:
        note = tx.artifact("Alice lived in Berlin until March")
        edge = tx.edge(
            tx.entity(*ALICE, artifact=note),
            "lives in",
            tx.entity(*BERLIN, artifact=note),
            artifact=note,
            valid_at=day(0),
            invalid_at=day(60),
        )
    other, _ = lives(memory, PARIS, day(30), against=[edge])
    assert memory.edges.get(edge.id).invalid_at == day(30)
    memory.delete(other)
    after = memory.edges.get(edge.id)
    assert (after.invalid_at, after.stated_invalid_at, after.expired_at) == (day(60), day(60), None)


def test_a8_a_restated_fact_gains_a_link_and_nothing_else(memory):
    one, berlin = lives(memory, BERLIN, day(0))
    two, again = lives(memory, BERLIN, day(500))
    assert again == berlin
    assert [each.artifact.id for each in memory.evidence(berlin)] == [one.id, two.id]
    with memory.write() as tx:
        three = tx.artifact("She still does.")
        tx.restate(berlin, three, quote="still does")
    assert [each.quote for each in memory.evidence(berlin)][-1] == "still does"
    assert memory.edges.count() == 1


def test_a_fact_that_ended_and_is_true_again_is_a_new_one(memory):
    _, berlin = lives(memory, BERLIN, day(0))
    lives(memory, PARIS, day(100), against=[berlin])
    _, within = lives(memory, BERLIN, day(10))
    _, back = lives(memory, BERLIN, day(200))
    assert within.id == berlin.id  # said of the time when it was true
    assert back.id != berlin.id
    assert back.key == berlin.key


def test_a11_sessions_reach_known_entities_and_facts_too(memory):
    _, berlin = lives(memory, BERLIN, day(0), session_id="one")
    lives(memory, BERLIN, day(0), session_id="two")
    lives(memory, BERLIN, day(0), session_id="two")
    for session in ("one", "two"):
        assert [e.id for e in memory.edges.list(session_id=session)] == [berlin.id]
        assert {e.name for e in memory.entities.list(session_id=session)} == {"Alice", "Berlin"}
    assert len(memory.links.list(type="edge_session")) == 2
    assert memory.edges.list(session_id="nobody's").items == ()
    assert [s.id for s in memory.sessions.list()] == ["one", "two"]


def test_provenance_both_ways_through_chunks(memory):
    from unabridged.types import Chunk

    text = "Ünïcode first. Alice lives in Berlin."
    chunks = [
        Chunk(0, 0, 15, 0, 17, text[:15], 4),
        Chunk(1, 15, len(text), 17, len(text.encode()), text[15:], 6, 2),
    ]
    with memory.write() as tx:
        document = tx.artifact(text, metadata={"team": "x"})
        parts = [tx.chunk(document, chunk) for chunk in chunks]
        tx.summary(parts[1], "Where Alice lives.", inference_id="i1")
        alice = tx.entity(*ALICE, artifact=parts[1], quote="Alice")
        berlin = tx.entity(*BERLIN, artifact=parts[1], quote=(15, 21))
        edge = tx.edge(alice, "lives in", berlin, artifact=parts[1], quote="Alice lives in Berlin")
    (evidence,) = memory.evidence(edge)
    assert (evidence.artifact.id, evidence.document.id) == (parts[1].id, document.id)
    start, end = (
        evidence.artifact.start_offset + evidence.link.start,
        evidence.artifact.start_offset + evidence.link.end,
    )
    assert memory.slice(document, start, end) == evidence.quote == "Alice lives in Berlin"
    assert [each.quote for each in memory.evidence(berlin)] == ["Berlin"]
    assert memory.contribution(document).edges == (memory.edges.get(edge.id),)
    assert {e.id for e in memory.contribution(parts[1]).entities} == {alice.id, berlin.id}
    assert memory.contribution(document, whole=False) == memory.contribution(parts[0])
    assert [c.text for c in memory.artifacts.chunks(document)] == [text[:15], text[15:]]
    assert memory.artifacts.chunks(document)[1].metadata == {"team": "x"}
    counts = memory.artifacts.counts()
    assert (counts.documents, counts.chunks, counts.summaries) == (1, 2, 1)
    gone = memory.delete(document)
    assert len(gone.artifacts) == 4
    assert memory.entities.count() == memory.edges.count() == 0


def test_deletion_in_the_same_commit_as_its_replacement(memory):
    old, berlin = lives(memory, BERLIN, day(0))
    with memory.write() as tx:
        new = tx.artifact("Alice lives in Berlin, as before")
        tx.edge(tx.entity(*ALICE, artifact=new), "lives in", tx.entity(*BERLIN, artifact=new), artifact=new)
        tx.delete([old])
    kept = memory.edges.get(berlin.id)
    assert (kept.artifact_id, kept.created_at) == (None, berlin.created_at)
    assert tx.result.deleted.artifacts == (old.id,)
    assert tx.result.deleted.entities == ()
    assert [each.artifact.id for each in memory.evidence(kept)] == [new.id]


def test_policy_keep_leaves_facts_without_a_source(place):
    with Memory.open(place, unsupported="keep") as memory:
        note, berlin = lives(memory, BERLIN, day(0))
        assert memory.delete(note).edges == ()
        assert memory.edges.get(berlin.id).artifact_id is None
        assert memory.evidence(berlin) == ()
        memory.verify().raise_if_broken()
        again, _ = lives(memory, BERLIN, day(0))
        assert memory.delete(again, unsupported="delete").edges == (berlin.id,)
    with pytest.raises(InputError, match="'delete'|delete, keep"):  # noqa: RUF043
        Memory.open(place, unsupported="maybe")


def test_images_and_series_of_a_deleted_artifact(memory):
    note, _ = lives(memory, BERLIN, day(0))
    gif = b"GIF89a" + bytes(20)
    memory.images.add(gif, artifact=note, shows=[memory.entities.find(*BERLIN)])
    series = memory.series.create("temperature", artifact=note)
    gone = memory.delete(note)
    assert len(gone.images) == 1
    assert memory.images.list().items == ()
    assert memory.series.get(series.id).artifact_id is None
    assert memory.links.list(type="entity_image") == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda tx, a: tx.artifact(" \n"), "blank"),
        (lambda tx, a: tx.artifact(5), "int"),
        (lambda tx, a: tx.artifact("x" * (1 << 20) + "y"), r"1,048,577 bytes.*max_text_bytes"),
        (lambda tx, a: tx.artifact("ok", kind="fact"), "knowledge, memory"),
        (lambda tx, a: tx.artifact("ok", kind="web_search"), "made by the memory itself"),
        (lambda tx, a: tx.artifact("ok", kind=7), "kind: found int"),
        (lambda tx, a: tx.artifact("\ud800"), "lone surrogate at character 0"),
        (lambda tx, a: tx.artifact("ok", metadata={1: 2}), "metadata: a key is int"),
        (lambda tx, a: tx.artifact("ok", metadata={"a": [float("nan")]}), r"metadata.\*\[\]: a number is not finite"),
        (lambda tx, a: tx.artifact("ok", metadata={"a": object()}), "expected what JSON can hold"),
        (lambda tx, a: tx.artifact("ok", metadata=["a"]), "expected a mapping"),
        (lambda tx, a: tx.artifact("ok", metadata={"a": "x" * (1 << 20)}), "over the limit"),
        (lambda tx, a: tx.artifact("ok", valid_at="yesterday"), "ISO 8601"),
        (lambda tx, a: tx.artifact("ok", valid_at=5), "expected a datetime"),
        (lambda tx, a: tx.artifact("ok", session_id=""), "session_id: is empty"),
        (lambda tx, a: tx.entity("x" * 70_000, "t", artifact=a), "65,536 bytes for a name"),
        (lambda tx, a: tx.entity("", "t", artifact=a), "entity name: is empty"),
        (lambda tx, a: tx.entity("e", " ", artifact=a), "entity type: is empty"),
        (lambda tx, a: tx.entity("e", "t", artifact=a, quote="nowhere"), "not a passage"),
        (lambda tx, a: tx.entity("e", "t", artifact=a, quote=(0, 1)), "cut a character"),
        (lambda tx, a: tx.entity("e", "t", artifact=a, quote=(3, 999)), "not within"),
        (lambda tx, a: tx.edge("x" * 32, "r", "y" * 32, artifact=a), "fact: is needed"),
        (lambda tx, a: tx.edge("x", "", "y", artifact=a, fact="f"), "relation: is empty"),
        (
            lambda tx, a: tx.edge("x", "r", "y", artifact=a, fact="f", valid_at=day(2), invalid_at=day(1)),
            "before valid_at",
        ),
        (lambda tx, a: tx.update(a, text="other"), "cannot change text"),
        (lambda tx, a: tx.stored(a), "not committed yet"),
    ],
)
def test_bad_input_says_what_and_what_would_be_right(memory, wrong, said):
    with memory.write() as tx:
        note = tx.artifact("Übermut tut selten gut")
        with pytest.raises((InputError, StoreError), match=said):
            wrong(tx, note)


def test_a_chunk_must_be_its_parents_bytes(memory):
    from unabridged.types import Chunk

    with memory.write() as tx:
        note = tx.artifact("one two")
        with pytest.raises(InputError, match="not its parent's bytes"):
            tx.chunk(note, Chunk(0, 0, 3, 0, 3, "two", 1))
        made = tx.chunk(note, Chunk(0, 0, 3, 0, 3, "Title: one", 1, source="one"))
    assert (made.text, made.lexical, made.search_text) == ("one", "Title: one", "Title: one")


def test_what_is_referred_to_must_be_there(memory):
    note = memory.add("a note")
    absent = new_id()
    for wrong in (
        lambda tx: tx.entity("e", "t", artifact=absent),
        lambda tx: tx.edge(absent, "r", absent, artifact=note, fact="f"),
        lambda tx: tx.restate(absent, note),
        lambda tx: tx.close(absent, note),
        lambda tx: tx.update(absent, source="s"),
        lambda tx: tx.delete([absent]),
    ):
        tx = memory.write()
        wrong(tx)
        with pytest.raises(NotFound, match="not in the dataset"):
            tx.commit()
    with memory.write() as tx:
        pass
    with pytest.raises(StoreError, match="is committed"):
        tx.commit()
    for get in (memory.artifacts, memory.entities, memory.edges, memory.sessions, memory.series, memory.images):
        with pytest.raises(NotFound):
            get.get(absent)
    with pytest.raises(InputError, match="not one of"):
        memory.links.list(type="friend")


def test_an_edge_cannot_contradict_itself(memory):
    _, berlin = lives(memory, BERLIN, day(0))
    tx = memory.write()
    note = tx.artifact("again")
    same = tx.edge(
        tx.entity(*ALICE, artifact=note), "lives in", tx.entity(*BERLIN, artifact=note), artifact=note, valid_at=day(1)
    )
    tx.contradict(berlin, same)
    with pytest.raises(InputError, match="cannot contradict it"):
        tx.commit()


def test_updates_reach_the_children_that_inherited(memory):
    from unabridged.types import Chunk

    with memory.write() as tx:
        note = tx.artifact("one two", metadata={"v": 1}, source="file:a")
        tx.chunk(note, Chunk(0, 0, 3, 0, 3, "one", 1))
        own = tx.chunk(note, Chunk(1, 4, 7, 4, 7, "two", 1), metadata={"mine": True})
        tx.update(note, source_hash="h")
    after = memory.update(note, metadata={"v": 2}, source="file:b", processed_at=day(3))
    assert (after.metadata, after.source, after.processed_at, after.source_hash) == ({"v": 2}, "file:b", day(3), "h")
    first, second = memory.artifacts.chunks(note)
    assert (first.metadata, first.source, first.processed_at) == ({"v": 2}, "file:b", None)
    assert (second.metadata, second.source) == (own.metadata, "file:b")
    assert len(memory.artifacts.list(metadata={"v": 2})) == 2
    assert len(memory.artifacts.list(metadata={"v": 1})) == 0
    assert [c.id for c in memory.artifacts.list(pending=True)] == [first.id, second.id]


def test_known_entities_learn_aliases_and_keep_what_they_have(memory):
    with memory.write() as tx:
        note = tx.artifact("IBM")
        tx.entity("International Business Machines", "organization", artifact=note, metadata={"a": 1})
        first = tx.entity("international business machines", "Organization", artifact=note, aliases=["IBM"])
    with memory.write() as tx:
        known = tx.entity(
            "International Business Machines",
            "organization",
            artifact=note,
            aliases=["Big Blue"],
            description="makes machines",
            metadata={"a": 2, "b": 3},
        )
    stored = tx.stored(known)
    assert stored == memory.entities.get(first.id)
    assert (stored.aliases, stored.description) == (("IBM", "Big Blue"), "makes machines")
    assert stored.metadata == {"a": 1, "b": 3}
    assert memory.entities.named("big  blue") == [stored]


moments = st.integers(0, 6).map(day)
maybe = st.none() | moments


@st.composite
def edges(draw):
    begin, created = draw(maybe), draw(moments)
    stated = draw(maybe)
    closings = draw(st.lists(st.tuples(moments, moments), max_size=2))
    links = [Link(type="contradiction", from_id="e", to_id="a", at=at, created_at=known) for at, known in closings]
    plain = Edge(
        id=new_id(),
        source_id="s",
        relation="r",
        target_id="t",
        fact="f",
        key="k",
        created_at=created,
        valid_at=begin,
        stated_invalid_at=stated,
        invalid_at=stated,
    )
    return ended(plain, links)


@given(st.lists(edges(), min_size=1, max_size=12), maybe, maybe, st.booleans(), moments)
@settings(max_examples=25, deadline=None)
def test_filters_say_what_the_rule_says(found, as_of, known_at, include_history, today):
    memory = _shared()
    memory.store.commit(lambda draft: draft.delete("edges", "true"))
    memory.store.commit(lambda draft: draft.append("edges", found))
    how = {"as_of": as_of, "known_at": known_at, "include_history": include_history, "today": today}
    view = memory.store.view()
    asked = {edge.id for edge in view.records("edges", holds_where(**how))}
    assert asked == {edge.id for edge in found if holds(edge, **how)}
    if not include_history:
        page = Edges(Fixed(view)).list(as_of=as_of or today, known_at=known_at)
        assert {e.id for e in page} == {e.id for e in found if holds(e, as_of=as_of or today, known_at=known_at)}


def _shared(kept=[]):  # noqa: B006
    if not kept:
        kept.append(Memory.open("memory://", upkeep=False))
    return kept[0]


@given(st.lists(st.tuples(moments, moments), min_size=1, max_size=4), maybe)
def test_taking_contradictions_away_in_any_order_ends_where_it_began(closings, stated):
    edge = Edge(id="e", source_id="s", relation="r", target_id="t", fact="f", created_at=day(0))
    edge = replace(edge, stated_invalid_at=stated, invalid_at=stated)
    links = [Link(type="contradiction", from_id="e", to_id="a", at=at, created_at=known) for at, known in closings]
    closed = ended(edge, links)
    assert closed.invalid_at == min([at for at, _ in closings] + ([stated] if stated else []))
    assert ended(closed, []) == edge
    assert ended(ended(closed, links[1:]), links) == closed


@given(edges(), edges())
def test_one_of_two_contradicting_facts_ends_when_the_other_begins(one, other):
    closing = contradicted(one, other)
    if closing is not None:
        assert {closing.closed.id, closing.by.id} == {one.id, other.id}
        assert closing.closed.invalid_at is None or closing.at < closing.closed.invalid_at
        assert restated([closing.closed], closing.at) is closing.closed or closing.closed.invalid_at is None
