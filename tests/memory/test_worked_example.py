"""SPEC A26, step by step, in every kind of place; and the cases around identity and support."""

import datetime as dt

import pytest

from unabridged.errors import NotFound

ALICE, ACME = ("Alice", "person"), ("Acme", "organization")
JOB = (ALICE, "works at", ACME)


def _links(memory, type_):
    return sorted((link.from_id, link.to_id) for link in memory.links.list(type=type_))


def test_a26_worked_example(anywhere, say):
    memory = anywhere
    one, (first,) = say(memory, "Alice works at Acme", JOB)
    two, (second,) = say(memory, "Alice works at Acme", JOB)
    alice, acme = memory.entities.find(*ALICE), memory.entities.find(*ACME)
    assert one.id != two.id
    assert second == first
    assert first.artifact_id == one.id
    assert memory.entities.count() == 2
    assert memory.edges.count() == 1
    mentioned = sorted((entity.id, artifact.id) for entity in (alice, acme) for artifact in (one, two))
    assert _links(memory, "entity_artifact") == mentioned
    assert _links(memory, "edge_artifact") == sorted([(first.id, one.id), (first.id, two.id)])

    gone = memory.delete(one)
    kept = memory.edges.get(first.id)
    assert (gone.artifacts, gone.edges, gone.entities) == ((one.id,), (), ())
    assert kept.artifact_id is None
    assert (kept.created_at, kept.valid_at, kept.invalid_at, kept.expired_at) == (
        first.created_at,
        first.valid_at,
        None,
        None,
    )
    assert _links(memory, "edge_artifact") == [(first.id, two.id)]
    assert _links(memory, "entity_artifact") == sorted([(alice.id, two.id), (acme.id, two.id)])
    memory.verify().raise_if_broken()

    gone = memory.delete(two)
    assert gone.edges == (first.id,)
    assert sorted(gone.entities) == sorted([alice.id, acme.id])
    assert memory.links.list() == []
    assert (memory.entities.count(), memory.edges.count(), memory.artifacts.counts().documents) == (0, 0, 0)
    with pytest.raises(NotFound):
        memory.edges.get(first.id)


def test_case_34_the_same_name_four_times_is_one_entity(memory, say):
    for _ in range(4):
        say(memory, "DGIA is a firm", (("DGIA", "organization"), "is", ("firm", "concept")))
    assert len(memory.entities.named("dgia")) == 1
    assert len(memory.evidence(memory.entities.find("DGIA", "organization"))) == 4


def test_case_36_a_fact_of_two_documents_keeps_its_times(memory, say):
    then = dt.datetime(2021, 3, 4, 5, 6, 7, 890123, tzinfo=dt.UTC)
    one, (edge,) = say(memory, "Alice works at Acme", JOB, valid_at=then)
    say(memory, "Alice works at Acme, still", JOB, valid_at=then + dt.timedelta(days=900))
    memory.delete(one)
    after = memory.edges.get(edge.id)
    assert (after.valid_at, after.created_at, after.invalid_at) == (then, edge.created_at, None)


def test_case_37_identity_is_normalised_name_and_type(memory, say):
    say(
        memory,
        "Washington was born far from Washington; Electrons and electrons repel",
        (("Washington", "person"), "was born far from", ("Washington", "place")),
        (("Electrons", "particle"), "repel", ("electrons", "Particle")),
    )
    assert len(memory.entities.named("washington")) == 2
    assert len(memory.entities.named("ELECTRONS ")) == 1
    assert memory.entities.find("washington", "PLACE").type == "place"


def test_case_39_many_documents_go_in_one_commit(memory, say):
    ids = [say(memory, f"text {n}", ((f"Person {n}", "person"), "knows", ACME))[0].id for n in range(85)]
    before = memory.store.view().head.seq
    gone = memory.delete(ids)
    assert memory.store.view().head.seq - before <= 3  # one commit, and an upkeep step that was due
    assert (len(gone.artifacts), len(gone.edges), len(gone.entities)) == (85, 85, 86)


def test_case_45_what_was_given_comes_back_in_every_read(anywhere):
    memory = anywhere
    then = dt.datetime(2023, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.timezone(dt.timedelta(hours=9)))
    metadata = {"user": "alice", "n": 1, "ratio": 0.1, "deep": {"list": [1, "two", None, True]}, "ünï": "😀"}
    made = memory.add("a text", session_id="s/1", valid_at=then, metadata=metadata)
    reads = [
        memory.artifacts.get(made.id),
        memory.artifacts.many([made.id])[0],
        memory.artifacts.list(session_id="s/1").items[0],
        memory.artifacts.list(metadata={"deep": {"list": ["two"]}}).items[0],
    ]
    for read in reads:
        assert read == made
        assert (read.valid_at, read.session_id, dict(read.metadata)) == (then, "s/1", metadata)
    assert memory.sessions.get("s/1").id == "s/1"
